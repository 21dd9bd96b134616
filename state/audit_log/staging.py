"""Replaces all files of one log at once: new files are prepared in a folder, which is renamed to mark it as valid and moved into place.

Before that renaming only the old files are valid, and after it only those in the folder. So a crash leaves one complete set of valid files,
and the next process that takes the log's lock finishes the move.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from state.audit_log import locks
from state.audit_log.file_rights import copy_rights
from state.audit_log.locks import build_archive_lock_path, build_lock_path, hold_lock


def build_staging_path(log: Path) -> Path:
    """Return the folder in which the new files of `log` are prepared."""
    return log.with_name(f".{log.name}.rewriting")


@lru_cache(maxsize=1024)  # see locks.build_lock_path
def build_committed_path(log: Path) -> Path:
    """Return the folder of new files that are valid but not yet moved into place."""
    return log.with_name(f".{log.name}.rewritten")


def resolve_log(log: Path) -> Path:
    """Return the path from which to read `log`: the log itself, or its valid replacement if that is not in place yet."""
    new = build_committed_path(log)
    return new / log.name if new.is_dir() else log


@contextmanager
def hold_in_place(log: Path, *, seconds: float | None = None) -> Iterator[int]:
    """Hold the lock of `log` while the block runs, and yield the descriptor of the lock file.

    First an interrupted replacement of the log's files is finished. Raises TimeoutError if that is not possible within `seconds` (None:
    LOCK_SECONDS).
    """
    deadline = time.monotonic() + (locks.LOCK_SECONDS if seconds is None else seconds)
    while True:
        with hold_lock(build_lock_path(log), seconds=seconds) as lock:
            if not os.access(build_committed_path(log), os.F_OK) or _try_finish(log, lock):
                yield lock
                return
        if time.monotonic() > deadline:
            raise TimeoutError("the log is being rewritten by a process that does not get on")
        time.sleep(locks.LOCK_POLL_SECONDS)  # the holder of the archive lock is waiting for our lock


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
