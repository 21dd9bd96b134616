"""Runs the orders of the counter: opens the file, counts, and says what went wrong."""

import pickle
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from orchestrator.analytics.findings import Findings, Job, count_job, open_mirror, read_tables
from orchestrator.analytics.statements import Statement

_STEPS: Final = 100_000
"""Steps of SQLite between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Order:
    """`work` is a job, or statements whose rows are wanted."""

    path: str
    work: Job | tuple[Statement, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Failure:
    reason: str
    is_late: bool = False


Tables = Sequence[Sequence[tuple[object, ...]]]


def run_order(order: Order) -> Findings | Tables | Failure:
    """The file is opened anew for each: it may have been replaced."""
    try:
        connection = open_mirror(order.path)
    except sqlite3.Error as error:
        return Failure(str(error))
    end = time.monotonic() + order.seconds
    connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    try:
        return count_job(connection, order.work) if isinstance(order.work, Job) else read_tables(connection, order.work)
    except sqlite3.OperationalError as error:
        return Failure(str(error), is_late=time.monotonic() > end)
    except sqlite3.Error as error:
        return Failure(str(error))
    finally:
        connection.close()


def run_pickled(body: bytes) -> bytes:
    """What the worker does: SQL in a thread would hold up the loop."""
    order = pickle.loads(body)  # noqa: S301 - of the process that started this one
    return pickle.dumps(run_order(order))
