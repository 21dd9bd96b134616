"""Keeps the process of a worker: started for the first order, replaced when it dies or takes too long, ended with the program."""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from orchestrator.workers.frames import BAD, GOOD, WorkerLimits, read_frame, write_frame

_ROOT: Final = str(Path(__file__).resolve().parents[2])
_SERVING: Final = "orchestrator.workers.serving"
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONDONTWRITEBYTECODE")
"""None holds a secret."""


class WorkerFailed(Exception):
    """There is no answer; `is_late`: it took too long."""

    def __init__(self, reason: str, *, is_late: bool = False) -> None:
        super().__init__(reason)
        self.is_late = is_late


class WorkerProcess:
    """One order is worked on at a time. All methods but `cancel` block: call them in a thread."""

    def __init__(self, target: str, limits: WorkerLimits) -> None:
        """`target` is `module:function`; the function makes an answer of an order."""
        self._target = target
        self._limits = limits
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    @property
    def process_id(self) -> int | None:
        """None while none runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def ask(self, order: bytes) -> bytes:
        """Raises WorkerFailed. A process that died since the last order is replaced; one that dies of this order is not asked again."""
        with self._turn:
            process = self._start()
            late = threading.Event()
            timer = threading.Timer(self._limits.seconds, _end_late, (process, late))
            timer.daemon = True
            timer.start()
            try:
                answer = _exchange(process, order)
            finally:
                timer.cancel()
            if answer[:1] == GOOD:
                return answer[1:]
            if answer[:1] == BAD:
                raise WorkerFailed(answer[1:].decode(errors="replace"))
            self._end_process()
            is_late = late.is_set() or process.returncode == -signal.SIGXCPU
            raise WorkerFailed("the worker took too long" if is_late else "the worker died", is_late=is_late)

    def cancel(self) -> None:
        """The order that is worked on fails; the next one starts a new process."""
        if (process := self._process) is not None:
            process.kill()

    def end(self) -> None:
        """Cancels, and leaves no process; another order would start one."""
        self.cancel()
        with self._turn:
            self._end_process()

    def close(self) -> None:
        """Ends it for good."""
        self._is_closed = True
        self.end()

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._end_process()
            environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
            self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
                [sys.executable, "-m", _SERVING, self._target, json.dumps(asdict(self._limits))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**environment, "PYTHONPATH": _ROOT},
                cwd=_ROOT,
                start_new_session=True,  # Ctrl-C at a terminal is for the service, which ends the worker itself
            )
        if self._is_closed:  # asked last: whoever closes sees the process, or it is seen here that it is closed
            self._end_process()
            raise WorkerFailed("the program ends")
        return self._process

    def _end_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()


def _end_late(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _exchange(process: subprocess.Popen[bytes], order: bytes) -> bytes:
    """Empty if the worker died or says what is no answer, and for an order that is too long."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - see above
    try:
        write_frame(process.stdin, order)
        return read_frame(process.stdout) or b""
    except (OSError, ValueError):
        return b""
