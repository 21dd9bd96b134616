"""The process that makes PNG files: started for the first picture, replaced when it dies or takes too long, ended with the program."""

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from bot.rendering.pictures.worker import read_frame, write_frame

_ROOT: Final = str(Path(__file__).resolve().parents[3])
_WORKER: Final = "bot.rendering.pictures.worker"
_PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "PYTHONDONTWRITEBYTECODE")
"""None holds a secret."""
_LONGEST: Final = 10.0
"""Seconds for a picture, the start of the process included."""


class PictureFailed(Exception):
    """There is no picture; its text can still be sent."""


class PictureWorker:
    """Its methods block: call them in a thread. One picture is made at a time."""

    def __init__(self, *, seconds: float = _LONGEST) -> None:
        self._seconds = seconds
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def render_png(self, svg: str) -> bytes:
        """Raises PictureFailed. A worker that died since the last picture is replaced; one that dies of this picture is not asked again."""
        with self._turn:
            process = self._start()
            timer = threading.Timer(self._seconds, process.kill)
            timer.daemon = True
            timer.start()
            try:
                png = _exchange(process, svg)
            finally:
                timer.cancel()
            if png is None:
                self._end()
                raise PictureFailed("the worker died")
        if not png:
            raise PictureFailed("the picture cannot be drawn")
        return png

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self._end()
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

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            process.wait()

    def close(self) -> None:
        """A picture that is being made fails; a later one would start a process again."""
        if (process := self._process) is not None:
            process.kill()
        with self._turn:
            self._end()


def _exchange(process: subprocess.Popen[bytes], svg: str) -> bytes | None:
    """None if the worker died."""
    assert process.stdin is not None  # noqa: S101 - both are pipes
    assert process.stdout is not None  # noqa: S101 - see above
    try:
        write_frame(process.stdin, svg.encode())  # type: ignore[arg-type] # a pipe has both methods
        return read_frame(process.stdout)  # type: ignore[arg-type] # as above
    except OSError:
        return None
