"""The lock of a user's audit log and the head that stands in its file (ring 1). The lock falls with the process that holds it."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import orjson

from state.audit_log.chain import Head

LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.001
_HEAD_BYTES = 160
"""Written in one piece of one length, so that no kill leaves half a head."""
_CHECK_BYTES = len(',"check":"00000000"')


@lru_cache(maxsize=1024)  # pathlib takes as long as the writing itself, and this is asked for every record
def build_lock_path(log: Path) -> Path:
    """The file that stands for the lock on `log`, and holds its head."""
    return log.with_name(f".{log.name}.lock")


def build_archive_lock_path(log: Path) -> Path:
    """The file that stands for the right to pack, remove and rewrite what `log` held before."""
    return log.with_name(f".{log.name}.archive.lock")


@contextmanager
def hold_lock(path: Path, *, seconds: float | None = None) -> Iterator[int]:
    """Hold the lock file `path`, made when it is missing; TimeoutError where somebody does not let go of it in time.

    Not filelock: an uncontended turn of that costs 227 µs against 9, and its waiters starve.
    """
    descriptor = _open_locked(path, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX, LOCK_SECONDS if seconds is None else seconds)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def hold_shared_lock(path: Path) -> Iterator[None]:
    """Keep writers out for a moment, without writing anything; no lock where there is no lock file yet."""
    try:
        descriptor = _open_locked(path, os.O_RDONLY, fcntl.LOCK_SH, LOCK_SECONDS)
    except FileNotFoundError:
        yield
        return
    try:
        yield
    finally:
        os.close(descriptor)


def _open_locked(path: Path, flags: int, kind: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while True:
        descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
        try:
            _flock(descriptor, kind, deadline)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # erased while we waited: whoever comes now has a file of its own


def _flock(descriptor: int, kind: int, deadline: float) -> None:
    """Lock between processes and threads alike; TimeoutError where a stopped process sits on it."""
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise TimeoutError("the log is locked by a process that does not let go") from error
            time.sleep(LOCK_POLL_SECONDS)
        else:
            return


def read_head(descriptor: int) -> Head | None:
    """The head in an open lock file; None where none was written yet, or it cannot be read."""
    return parse_head(os.pread(descriptor, _HEAD_BYTES, 0))


def parse_head(text: bytes) -> Head | None:
    """The head that `text`, the content of a lock file, holds; None for anything else. One from before there were checksums has none."""
    try:
        found = orjson.loads(text)
        head = Head(int(found["n"]), str(found["hash"]), int(found["size"]))
    except (orjson.JSONDecodeError, TypeError, KeyError, ValueError):
        return None
    return head if text == render_head(head) or list(found) == list(head._fields) else None


def render_head(head: Head) -> bytes:
    """What a lock file holds for `head`."""
    plain = orjson.dumps(head._asdict())
    return b'%b,"check":"%08x"}' % (plain[:-1], crc32(plain)) + b" " * (_HEAD_BYTES - len(plain) - _CHECK_BYTES - 1) + b"\n"


def write_head(descriptor: int, head: Head) -> None:
    """Note the head in the open lock file; not flushed, for the record is not either."""
    os.pwrite(descriptor, render_head(head), 0)
