"""The lock of a user's audit log. Its lock file also stores the head: number and hash of the last record, and the size of the live file.

The live file is the one written to. The lock is released when its process ends.
"""

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
from state.audit_log.file_rights import open_private

LOCK_SECONDS = 5.0
LOCK_POLL_SECONDS = 0.001
_HEAD_BYTES = 160
"""The length in bytes of the stored head, which is always written in one piece, so that a crash never leaves half of it."""
_CHECK_BYTES = len(',"check":"00000000"')


@lru_cache(maxsize=1024)  # pathlib takes as long as the write itself, and this is called for every record
def build_lock_path(log: Path) -> Path:
    """Return the path of the lock file of `log`, which also stores the log's head (its end)."""
    return log.with_name(f".{log.name}.lock")


def build_archive_lock_path(log: Path) -> Path:
    """Return the path of the archive lock of `log`: its holder may pack, remove and rewrite archives."""
    return log.with_name(f".{log.name}.archive.lock")


@contextmanager
def hold_lock(path: Path, *, seconds: float | None = None) -> Iterator[int]:
    """Hold an exclusive lock on the file `path` while the block runs, and yield the descriptor of the file, which is created if missing.

    Raises TimeoutError if others hold the lock for `seconds` (None: LOCK_SECONDS). The package filelock is not used: there a lock that
    nobody else holds costs 227 µs instead of 9, and a process may wait for ever while others take the lock again and again.
    """
    descriptor = _open_locked(path, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX, LOCK_SECONDS if seconds is None else seconds)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def hold_shared_lock(path: Path) -> Iterator[None]:
    """Hold a shared lock on the file `path` while the block runs, so that nobody writes meanwhile. A missing file is not locked."""
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
        descriptor = open_private(path, flags | os.O_NOFOLLOW)
        try:
            _flock(descriptor, kind, deadline)
            if os.fstat(descriptor).st_nlink:
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # erased while we waited: later callers have a new file


def _flock(descriptor: int, kind: int, deadline: float) -> None:
    """Lock the open file against other processes and threads; raise TimeoutError if somebody still holds the lock at `deadline`.

    `kind` says whether the lock is exclusive or shared (LOCK_EX, LOCK_SH).
    """
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
    """Read the head (the end of the log) from an open lock file; None if none was written yet or it is not valid."""
    return parse_head(os.pread(descriptor, _HEAD_BYTES, 0))


def parse_head(text: bytes) -> Head | None:
    """Parse the head (the end of the log) from `text`, the content of a lock file; None if it holds no valid head.

    Older versions of the program stored the head without a checksum; such a head is valid, too.
    """
    try:
        found = orjson.loads(text)
        head = Head(int(found["n"]), str(found["hash"]), int(found["size"]))
    except (orjson.JSONDecodeError, TypeError, KeyError, ValueError):
        return None
    return head if text == render_head(head) or list(found) == list(head._fields) else None


def render_head(head: Head) -> bytes:
    """Return the content of a lock file for `head` (the end of the log)."""
    plain = orjson.dumps(head._asdict())
    return b'%b,"check":"%08x"}' % (plain[:-1], crc32(plain)) + b" " * (_HEAD_BYTES - len(plain) - _CHECK_BYTES - 1) + b"\n"


def write_head(descriptor: int, head: Head) -> None:
    """Write `head` (the end of the log) into the open lock file.

    It is not flushed to disk, because the log's last record, which it names, is not flushed, either.
    """
    os.pwrite(descriptor, render_head(head), 0)
