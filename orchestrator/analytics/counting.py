"""Has numbers counted, by a worker."""

import asyncio
import pickle
from pathlib import Path
from typing import Final, Protocol, cast

from orchestrator.analytics.findings import Findings, Job
from orchestrator.analytics.orders import Failure, Order, Tables, run_order
from orchestrator.analytics.statements import Statement
from orchestrator.workers.frames import WorkerLimits
from orchestrator.workers.worker_process import WorkerFailed, WorkerProcess

_WORKER: Final = "orchestrator.analytics.orders:run_pickled"
_SECONDS: Final = 10.0
_GRACE: Final = 5.0
"""Beyond its time the worker is ended; the start of the process is in it."""


class CountingFailed(Exception):
    """There are no numbers now; `is_late`: it took too long."""

    def __init__(self, reason: str, *, is_late: bool = False) -> None:
        super().__init__(reason)
        self.is_late = is_late


class Counter(Protocol):
    async def count(self, path: Path, job: Job) -> Findings:
        """Raises CountingFailed."""

    async def read(self, path: Path, statements: tuple[Statement, ...]) -> Tables:
        """The rows of each statement, all of one moment. Raises CountingFailed."""


class InlineCounter:
    """Counts in the calling thread: for tests and tools."""

    async def count(self, path: Path, job: Job) -> Findings:
        return cast("Findings", _check(run_order(Order(str(path), job, _SECONDS))))

    async def read(self, path: Path, statements: tuple[Statement, ...]) -> Tables:
        return cast("Tables", _check(run_order(Order(str(path), statements, _SECONDS))))


class WorkerCounter:
    """One report at a time."""

    def __init__(self, *, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self.worker = WorkerProcess(_WORKER, WorkerLimits(seconds=seconds + _GRACE, may_write_files=True))

    async def count(self, path: Path, job: Job) -> Findings:
        return cast("Findings", await asyncio.to_thread(self._run, Order(str(path), job, self._seconds)))

    async def read(self, path: Path, statements: tuple[Statement, ...]) -> Tables:
        return cast("Tables", await asyncio.to_thread(self._run, Order(str(path), statements, self._seconds)))

    def close(self) -> None:
        """A report that is being counted fails. Blocks for the end of the process."""
        self.worker.close()

    def _run(self, order: Order) -> Findings | Tables:
        try:
            body = self.worker.ask(pickle.dumps(order))
        except WorkerFailed as error:
            raise CountingFailed(str(error), is_late=error.is_late) from None
        return _check(pickle.loads(body))  # noqa: S301 - of the worker that this process started


def _check(outcome: Findings | Tables | Failure) -> Findings | Tables:
    if isinstance(outcome, Failure):
        raise CountingFailed(outcome.reason, is_late=outcome.is_late)
    return outcome
