"""A worker that takes too long is ended; the next document gets a new one."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from orchestrator.services.rag.document import Problem
from orchestrator.services.rag.parse_worker import ParseOrder, ParseReply

_ROOT: Final = str(Path(__file__).resolve().parents[3])
_WORKER: Final = "orchestrator.services.rag.parse_worker"
_LONGEST_REPLY: Final = 64_000_000
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONDONTWRITEBYTECODE")
"""None holds a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """For one document."""

    seconds: float = 60.0
    cpu_seconds: float = 45.0
    memory: int = 1_500_000_000
    """Bytes of address space."""
    largest: int = 50_000_000
    """Bytes."""


class ParserProcess:
    """Started when needed. One thread uses it at a time."""

    def __init__(self, limits: ParseLimits | None = None) -> None:
        self._limits = limits or ParseLimits()
        self._process: subprocess.Popen[bytes] | None = None

    def parse(self, path: bytes, known_digest: str = "") -> ParseReply:
        """The worker's death is a problem of the document."""
        limits = self._limits
        order = ParseOrder(
            path=path.hex(), known_digest=known_digest, cpu_seconds=limits.cpu_seconds, memory=limits.memory, largest=limits.largest
        )
        process = self._start()
        late = threading.Event()
        timer = threading.Timer(limits.seconds, self._end_late, (process, late))
        timer.daemon = True
        timer.start()
        try:
            reply = self._exchange(process, order)
        finally:
            timer.cancel()
        if reply is not None:
            return reply
        self._stop_process()
        is_slow = late.is_set() or process.returncode == -signal.SIGXCPU
        return ParseReply(problem=Problem("too_slow" if is_slow else "crashed"))

    def _exchange(self, process: subprocess.Popen[bytes], order: ParseOrder) -> ParseReply | None:
        """None if the worker died or says something else."""
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101 - see above
        try:
            process.stdin.write(order.model_dump_json().encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline(_LONGEST_REPLY)
            return ParseReply.model_validate_json(line) if line.endswith(b"\n") else None
        except (OSError, ValueError, ValidationError):
            return None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._stop_process()
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", _WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, "PYTHONPATH": _ROOT},
            cwd=_ROOT,
            start_new_session=True,  # Ctrl-C at a terminal is for the service, which ends the worker itself
        )
        return self._process

    @staticmethod
    def _end_late(process: subprocess.Popen[bytes], late: threading.Event) -> None:
        late.set()
        process.kill()

    def _stop_process(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()

    def interrupt(self) -> None:
        """The thread that waits gets a reply with a problem."""
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        self._stop_process()
