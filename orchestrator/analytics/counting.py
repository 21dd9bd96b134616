"""Has numbers counted: by the worker process, which is started for the first report, replaced when it dies, ended with the program."""

import asyncio
import os
import pickle
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol, cast

from orchestrator.analytics.findings import Findings, Job
from orchestrator.analytics.orders import Failure, Order, Tables, read_frame, run_order, write_frame
from orchestrator.analytics.statements import Statement

_ROOT: Final = str(Path(__file__).resolve().parents[2])
_WORKER: Final = "orchestrator.analytics.worker"
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONDONTWRITEBYTECODE")
"""None holds a secret."""
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
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    @property
    def process_id(self) -> int | None:
        """None while no worker runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    async def count(self, path: Path, job: Job) -> Findings:
        return cast("Findings", await asyncio.to_thread(self._run, Order(str(path), job, self._seconds)))

    async def read(self, path: Path, statements: tuple[Statement, ...]) -> Tables:
        return cast("Tables", await asyncio.to_thread(self._run, Order(str(path), statements, self._seconds)))

    def close(self) -> None:
        """A report that is being counted fails. Blocks for the end of the process."""
        self._is_closed = True
        if (process := self._process) is not None:
            process.kill()
        with self._turn:
            self._end()

    def _run(self, order: Order) -> Findings | Tables:
        with self._turn:
            process = self._start()
            timer = threading.Timer(order.seconds + _GRACE, process.kill)
            timer.daemon = True
            timer.start()
            try:
                body = _exchange(process, pickle.dumps(order))
            finally:
                timer.cancel()
            if body is None:
                self._end()
                raise CountingFailed("the worker died")
        return _check(pickle.loads(body))  # noqa: S301 - of the worker that this process started

    def _start(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise CountingFailed("the program ends")
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment, "PYTHONPATH": _ROOT},
            cwd=_ROOT,
            start_new_session=True,  # Ctrl-C at a terminal is for the service, which ends the worker itself
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()


def _check(outcome: Findings | Tables | Failure) -> Findings | Tables:
    if isinstance(outcome, Failure):
        raise CountingFailed(outcome.reason, is_late=outcome.is_late)
    return outcome


def _exchange(process: subprocess.Popen[bytes], order: bytes) -> bytes | None:
    """None if the worker died."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - see above
    try:
        write_frame(process.stdin, order)  # type: ignore[arg-type] # a pipe has both methods
        return read_frame(process.stdout)  # type: ignore[arg-type] # as above
    except OSError:
        return None
