"""Files and locks of the audit logs: only the program's user and group may read them."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock

MODE: Final = 0o640
FOLDER_MODE: Final = 0o750
LOCK_SECONDS: float = 5.0
LOCK_POLL_SECONDS: Final = 0.001
_ROOT: Final = 0


def open_private(path: str | Path, flags: int) -> int:
    """Open with `MODE` if it is new; what root creates belongs to the folder's owner."""
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
    if os.geteuid() == _ROOT and flags & os.O_CREAT and not os.fstat(descriptor).st_size:
        _give_to_owner(descriptor, Path(path).parent.stat())
    return descriptor


def copy_rights(path: Path, *, like: Path) -> None:
    model = like.stat()
    _give_to_owner(path, model)
    path.chmod(stat.S_IMODE(model.st_mode))


def write_durably(path: Path, data: bytes) -> None:
    with open(path, "wb", opener=open_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def build_lock_path(log: Path) -> Path:
    return log.with_name(f".{log.name}.lock")


@contextmanager
def hold_lock(log: Path) -> Iterator[None]:
    """Raises TimeoutError after `LOCK_SECONDS`."""
    path = build_lock_path(log)
    if not os.access(path, os.F_OK):
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    with FileLock(path, timeout=LOCK_SECONDS, poll_interval=LOCK_POLL_SECONDS):
        yield


def list_data_files(log: Path) -> list[Path]:
    return [path for path in log.parent.iterdir() if path.name == log.name or path.name.startswith(f"{log.name}.")]


def list_all_files(log: Path) -> list[Path]:
    return [*list_data_files(log), *(path for path in log.parent.iterdir() if path.name.startswith(f".{log.name}."))]


def _give_to_owner(path: Path | int, owner: os.stat_result) -> None:
    now = os.stat(path)  # noqa: PTH116 - takes descriptors too
    if (now.st_uid, now.st_gid) != (owner.st_uid, owner.st_gid):
        with suppress(PermissionError):
            os.chown(path, owner.st_uid, owner.st_gid)
