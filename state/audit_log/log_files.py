"""The files of one audit log: who may read them, who may change them now, and how all of them are replaced at once.

Rights: nobody but the program's user and group may read the files, also after an operator rewrote them as root. The lock of a log is
released when its process ends; the lock file also stores the head: number and hash of the last record, and the size of the live file (the
one written to). The package filelock is not used: there a lock that nobody else holds costs 227 µs instead of 9, and a process may wait for
ever while others take the lock again and again.

Replacing: new files are prepared in a folder, which is renamed to mark it as valid and moved into place. Before that renaming only the old
files are valid, and after it only those in the folder. So a crash leaves one complete set of valid files, and the next process that takes
the log's lock finishes the move. No library does that: those for atomic writing replace one file, and a log has up to thirteen that belong
together (ten archives, the live file, its head and the ledger).
"""

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Final
from zlib import crc32

import orjson

from state.audit_log.chain import Head

MODE: Final = 0o640
"""The mode of new files; the process's umask may take rights away from it."""
FOLDER_MODE: Final = 0o750
_ROOT: Final = 0


def open_private(path: str | Path, flags: int) -> int:
    """Open a file, with `MODE` if it is created, and return its descriptor; what root creates belongs to the owner of the folder."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, MODE)
    if os.geteuid() == _ROOT and flags & os.O_CREAT and not os.fstat(descriptor).st_size:
        _give_to_owner(descriptor, Path(path).parent.stat())
    return descriptor


def copy_rights(path: Path, *, like: Path) -> None:
    """Give the file `path` the mode and the owner of the file `like`; do nothing if there is no such file.

    An owner that this user may not give is left out.
    """
    try:
        model = like.stat()
    except FileNotFoundError:
        return
    _give_to_owner(path, model)
    path.chmod(stat.S_IMODE(model.st_mode))


def write_durably(path: Path, data: bytes) -> None:
    """Write a whole file that others may not read, and flush it to disk."""
    with open(path, "wb", opener=open_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _give_to_owner(path: Path | int, owner: os.stat_result) -> None:
    now = os.stat(path)  # noqa: PTH116 - takes descriptors too
    if (now.st_uid, now.st_gid) != (owner.st_uid, owner.st_gid):
        with suppress(PermissionError):
            os.chown(path, owner.st_uid, owner.st_gid)


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
def hold_lock(path: Path, *, seconds: float | None = None, create: bool = True) -> Iterator[int]:
    """Hold an exclusive lock on the file `path` while the block runs, and yield the descriptor of the file.

    Raises TimeoutError if others hold the lock for `seconds` (None: LOCK_SECONDS). A missing file is created; without `create`, raises
    FileNotFoundError instead, also if the file is removed while others hold the lock.
    """
    descriptor = _open_locked(path, os.O_RDWR | (os.O_CREAT if create else 0), fcntl.LOCK_EX, LOCK_SECONDS if seconds is None else seconds)
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


def build_staging_path(log: Path) -> Path:
    """Return the folder in which the new files of `log` are prepared."""
    return log.with_name(f".{log.name}.rewriting")


@lru_cache(maxsize=1024)  # see build_lock_path
def build_committed_path(log: Path) -> Path:
    """Return the folder of new files that are valid but not yet moved into place."""
    return log.with_name(f".{log.name}.rewritten")


def resolve_log(log: Path) -> Path:
    """Return the path from which to read `log`: the log itself, or its valid replacement if that is not in place yet."""
    new = build_committed_path(log)
    return new / log.name if new.is_dir() else log


@contextmanager
def hold_in_place(log: Path, *, seconds: float | None = None, create: bool = True) -> Iterator[int]:
    """Hold the lock of `log` while the block runs, and yield the descriptor of the lock file; `create` is as in `hold_lock`.

    First an interrupted replacement of the log's files is finished. Raises TimeoutError if that is not possible within `seconds` (None:
    LOCK_SECONDS).
    """
    deadline = time.monotonic() + (LOCK_SECONDS if seconds is None else seconds)
    while True:
        with hold_lock(build_lock_path(log), seconds=seconds, create=create) as lock:
            if not os.access(build_committed_path(log), os.F_OK) or _try_finish(log, lock):
                yield lock
                return
        if time.monotonic() > deadline:
            raise TimeoutError("the log is being rewritten by a process that does not get on")
        time.sleep(LOCK_POLL_SECONDS)  # the holder of the archive lock is waiting for our lock


def commit_staged_files(log: Path, lock: int) -> None:
    """Make the prepared files valid and move them into place.

    The caller holds the log's lock, whose file has the descriptor `lock`, and its archive lock.
    """
    new = build_staging_path(log)
    sync_folder(new)
    new.rename(build_committed_path(log))
    sync_folder(log.parent)
    finish_move(log, lock)


def finish_move(log: Path, lock: int) -> None:
    """Move prepared files that were marked valid into place and remove those they replace; do nothing if there are none.

    The caller holds the log's lock, whose file has the descriptor `lock`, and its archive lock.
    """
    new = build_committed_path(log)
    if not new.is_dir():
        return
    names = {path.name for path in new.iterdir()}
    for name in sorted(names - {build_lock_path(log).name}):
        half = log.with_name(f"{name}.tmp")
        shutil.copyfile(new / name, half)
        copy_rights(half, like=log)
        copy_rights(half, like=log.with_name(name))
        _sync(half)
        half.rename(log.with_name(name))
    os.pwrite(lock, (new / build_lock_path(log).name).read_bytes(), 0)
    for path in list_data_files(log):
        if path.name not in names:
            path.unlink()
    sync_folder(log.parent)
    done = log.with_name(f".{log.name}.installed")
    new.rename(done)  # removal takes many steps, and a half-removed folder must not be taken for a complete one
    shutil.rmtree(done)


def clear_staged_files(log: Path) -> None:
    """Remove prepared files that never became valid, and leftovers of those already moved; the caller holds the archive lock."""
    shutil.rmtree(build_staging_path(log), ignore_errors=True)
    shutil.rmtree(log.with_name(f".{log.name}.installed"), ignore_errors=True)


def list_data_files(log: Path) -> list[Path]:
    """Return the files of `log` that hold records: the one written to, and all full files, compressed or not."""
    return [path for path in log.parent.iterdir() if path.name == log.name or path.name.startswith(f"{log.name}.")]


def list_all_files(log: Path) -> list[Path]:
    """Return every file of the log, including lock, ledger and leftovers of a rewriting."""
    return [*list_data_files(log), *(path for path in log.parent.iterdir() if path.name.startswith(f".{log.name}."))]


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of `folder` to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _try_finish(log: Path, lock: int) -> bool:
    try:
        with hold_lock(build_archive_lock_path(log), seconds=0):
            finish_move(log, lock)
    except TimeoutError:
        return False
    return True
