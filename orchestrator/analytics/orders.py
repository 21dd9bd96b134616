"""Runs the orders of the counter: opens the file, counts, and says what went wrong."""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from orchestrator.analytics.findings import Findings, Job, count_job, open_mirror, read_tables
from orchestrator.analytics.statements import Statement

LENGTH: Final = 4
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


def read_frame(stream: BinaryIO) -> bytes | None:
    """None at the end of the stream."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    size = int.from_bytes(head, "big")
    body = stream.read(size)
    return body if len(body) == size else None


def write_frame(stream: BinaryIO, body: bytes) -> None:
    stream.write(len(body).to_bytes(LENGTH, "big") + body)
    stream.flush()


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
