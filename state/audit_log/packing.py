"""Compresses full logs in the background: one thread per process, which ends when there is nothing left to compress.

Files that a process leaves uncompressed when it ends are compressed by the next process.
"""

import atexit
import logging
import os
import threading
import time
from pathlib import Path

from state.audit_log import archives

log = logging.getLogger(__name__)

AT_EXIT_SECONDS = 2.0


class Packer:
    """A queue of logs to compress; any thread may add a log, and adding never waits for the compression."""

    def __init__(self) -> None:
        """Create an empty queue; the thread is started by the first log to compress."""
        self._idle = threading.Condition()
        self._todo: dict[Path, int] = {}
        self._thread: threading.Thread | None = None

    def pack(self, path: Path, keep: int) -> None:
        """Queue the segments (full files) of the log `path` for compression; all but the newest `keep` archives are then removed."""
        with self._idle:
            self._todo[path] = keep
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="log-packing", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait at most `seconds` until everything is compressed or has failed; return False if work is left."""
        end = time.monotonic() + seconds
        with self._idle:
            while self._thread is not None:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                self._idle.wait(left)
        return True

    def _run(self) -> None:
        while True:
            with self._idle:
                if not self._todo:
                    self._thread = None
                    self._idle.notify_all()
                    return
                path = next(iter(self._todo))
                keep = self._todo.pop(path)
            _pack_and_prune(path, keep)


def _pack_and_prune(path: Path, keep: int) -> None:
    try:
        archives.pack_and_prune(path, keep)
    except Exception:  # S004-52: whatever is wrong with the disk, the log stays and is packed later
        log.exception("%s waits to be packed", path.name, extra={"action": "interaction_log.settle"})


packer = Packer()
"""The queue that all loggers of this process use."""

atexit.register(lambda: packer.wait(AT_EXIT_SECONDS))
os.register_at_fork(after_in_child=packer.__init__)  # type: ignore[misc] # the child has none of its parent's threads
