"""A hidden folder in which a backup, restore or move is prepared, and the last step by which what was prepared gets its name.

Until that step the place to fill is untouched, whatever happens. The folder of a process that was killed is removed by the next one.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import IO

from state.audit_log.log_files import sync_folder
from state.journal.store import StoreError, StoreUnwritable

_PREFIX, _SUFFIX = ".sdelka-", ".backup.part"
BLOCK = 1 << 20
Progress = Callable[[str], None]


class NotEmpty(StoreError):
    """The place to fill is not empty; nothing was changed."""


@contextmanager
def open_staging(folder: Path) -> Iterator[Path]:
    """Make a private folder in `folder`, on the same disk, that is removed again in the end. Raises OSError if it cannot be made."""
    folder.mkdir(parents=True, exist_ok=True)
    with _open_locked(folder, fcntl.LOCK_EX):
        _remove_leftovers(folder)
        staging = Path(mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder))
        lock = os.open(staging, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        os.close(lock)


def publish(file: Path, path: Path) -> None:
    """Give the finished file its name, on the same disk, without ever overwriting another file. Raises NotEmpty if the name is taken."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
    try:
        os.link(file, path)
    except FileExistsError:
        raise NotEmpty(f"{path} is there already, and is not overwritten") from None
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise NotEmpty(f"{path} is there already, and is not overwritten") from None
        file.rename(path)
    sync_folder(path.parent)


def copy_stream(content: IO[bytes], path: Path) -> str:
    """Write the content into a new file, which only its owner may read, and return its SHA-256."""
    digest = sha256()
    path.parent.mkdir(exist_ok=True)
    with path.open("xb") as file:
        path.chmod(0o600)
        while block := content.read(BLOCK):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def check_space(folder: Path, size: int) -> None:
    """Raise StoreUnwritable if `size` bytes do not fit on the disk of `folder`."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise StoreUnwritable(f"{folder.parent}: {size:,} bytes are needed, and {free:,} are free; nothing was written")


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left (version 0.1 left a file); what somebody still works in is locked and stays."""
    for path in folder.glob(f".*{_SUFFIX}"):
        with suppress(OSError), _open_locked(path, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


@contextmanager
def _open_locked(path: Path, kind: int) -> Iterator[None]:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, kind)
        yield
    finally:
        os.close(descriptor)
