"""A hidden folder in which a backup, restore or move is prepared.

That of a killed process is removed by the next one.
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
    """Nothing was changed."""


@contextmanager
def open_staging(folder: Path) -> Iterator[Path]:
    """Make a private folder on the same disk, removed in the end. Raises OSError."""
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
    """Never overwrite another. Raises NotEmpty."""
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
    """Return the SHA-256; only the owner may read the file."""
    digest = sha256()
    path.parent.mkdir(exist_ok=True)
    with path.open("xb") as file:
        path.chmod(0o600)
        while block := content.read(BLOCK):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def check_space(folder: Path, size: int) -> None:
    """Raise StoreUnwritable if `size` bytes do not fit on the disk."""
    free = shutil.disk_usage(folder).free
    if free < size:
        raise StoreUnwritable(f"{folder.parent}: {size:,} bytes are needed, and {free:,} are free; nothing was written")


def _remove_leftovers(folder: Path) -> None:
    """Leave alone what somebody works in: it is locked."""
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
