"""Replaces all files of one log at once (ring 1): a folder beside the log is made whole, then named as valid, then brought in place.

Until it has its valid name the old files count, from then on only the folder does: a kill leaves the one or the other, and
whoever takes the log's lock next finishes the work.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from state.audit_log import locks
from state.audit_log.locks import build_archive_lock_path, build_lock_path, hold_lock


def build_staging_path(log: Path) -> Path:
    """The folder in which the new files are made."""
    return log.with_name(f".{log.name}.rewriting")


@lru_cache(maxsize=1024)  # see log_locks.lock_path
def build_committed_path(log: Path) -> Path:
    """The folder of new files that are valid and not yet in place."""
    return log.with_name(f".{log.name}.rewritten")


def resolve_log(log: Path) -> Path:
    """Where to read `log`: itself, or its successor that is not yet in place."""
    new = build_committed_path(log)
    return new / log.name if new.is_dir() else log


@contextmanager
def hold_in_place(log: Path) -> Iterator[int]:
    """Hold the lock of `log`, with a replacement that was interrupted finished first."""
    deadline = time.monotonic() + locks.LOCK_SECONDS
    while True:
        with hold_lock(build_lock_path(log)) as lock:
            if not os.access(build_committed_path(log), os.F_OK) or _try_finish(log, lock):
                yield lock
                return
        if time.monotonic() > deadline:
            raise TimeoutError("the log is being rewritten by a process that does not get on")
        time.sleep(locks.LOCK_POLL_SECONDS)  # the one with the archive lock is waiting for ours


def commit(log: Path, lock: int) -> None:
    """Make the staged files the valid ones and bring them in place; the caller holds both locks."""
    new = build_staging_path(log)
    sync_folder(new)
    new.rename(build_committed_path(log))
    sync_folder(log.parent)
    finish(log, lock)


def finish(log: Path, lock: int) -> None:
    """Bring valid files in place and remove what they replace; may be done again. The caller holds both locks."""
    new = build_committed_path(log)
    if not new.is_dir():
        return
    names = {path.name for path in new.iterdir()}
    for name in sorted(names - {build_lock_path(log).name}):
        half = log.with_name(f"{name}.tmp")
        shutil.copyfile(new / name, half)
        _sync(half)
        half.rename(log.with_name(name))
    os.pwrite(lock, (new / build_lock_path(log).name).read_bytes(), 0)
    for path in list_data_files(log):
        if path.name not in names:
            path.unlink()
    sync_folder(log.parent)
    done = log.with_name(f".{log.name}.installed")
    new.rename(done)  # removing takes many steps, and half a folder must not be taken for a whole one
    shutil.rmtree(done)


def clear(log: Path) -> None:
    """Remove what was never valid or is no more; the caller holds the archive lock."""
    shutil.rmtree(build_staging_path(log), ignore_errors=True)
    shutil.rmtree(log.with_name(f".{log.name}.installed"), ignore_errors=True)


def list_data_files(log: Path) -> list[Path]:
    """The live file and everything that was made of former ones; no lock, no ledger."""
    return [path for path in log.parent.iterdir() if path.name == log.name or path.name.startswith(f"{log.name}.")]


def list_all_files(log: Path) -> list[Path]:
    """Every file of the log, with lock, ledger and what a rewriting left."""
    return [*list_data_files(log), *(path for path in log.parent.iterdir() if path.name.startswith(f".{log.name}."))]


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_durably(path: Path, data: bytes) -> None:
    """Write a whole file and flush it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _try_finish(log: Path, lock: int) -> bool:
    try:
        with hold_lock(build_archive_lock_path(log), seconds=0):
            finish(log, lock)
    except TimeoutError:
        return False
    return True
