"""Who may read the files of the audit logs, and who may change those of one log now.

Nobody but the program's user and group may read them, also after an operator wrote them as root.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock

MODE: Final = 0o640
"""The mode of new files; the process's umask may take rights away from it."""
FOLDER_MODE: Final = 0o750
LOCK_SECONDS: float = 5.0
LOCK_POLL_SECONDS: Final = 0.001
_ROOT: Final = 0


def open_private(path: str | Path, flags: int) -> int:
    """Open a file, with `MODE` if it is created, and return its descriptor; what root creates belongs to the owner of the folder."""
    descriptor = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW, MODE)
    if os.geteuid() == _ROOT and flags & os.O_CREAT and not os.fstat(descriptor).st_size:
        _give_to_owner(descriptor, Path(path).parent.stat())
    return descriptor


def copy_rights(path: Path, *, like: Path) -> None:
    """Give the file `path` the mode and the owner of the file `like`; an owner that this user may not give is left out."""
    model = like.stat()
    _give_to_owner(path, model)
    path.chmod(stat.S_IMODE(model.st_mode))


def write_durably(path: Path, data: bytes) -> None:
    """Write a whole file that others may not read, and flush it to disk."""
    with open(path, "wb", opener=open_private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Flush the directory entries of `folder` to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def build_lock_path(log: Path) -> Path:
    """Return the path of the lock file of `log`. Older versions stored the end of the log's hash chain in it."""
    return log.with_name(f".{log.name}.lock")


@contextmanager
def hold_lock(log: Path) -> Iterator[None]:
    """Hold the right to change the files of `log`; a process that dies loses it. Raises TimeoutError after `LOCK_SECONDS`."""
    path = build_lock_path(log)
    if not os.access(path, os.F_OK):
        os.close(open_private(path, os.O_RDWR | os.O_CREAT))
    with FileLock(path, timeout=LOCK_SECONDS, poll_interval=LOCK_POLL_SECONDS):
        yield


def list_data_files(log: Path) -> list[Path]:
    """Return the files of `log` that hold records: the one written to, and all full files, compressed or not."""
    return [path for path in log.parent.iterdir() if path.name == log.name or path.name.startswith(f"{log.name}.")]


def list_all_files(log: Path) -> list[Path]:
    """Return every file of the log, including its lock and what older versions wrote beside it."""
    return [*list_data_files(log), *(path for path in log.parent.iterdir() if path.name.startswith(f".{log.name}."))]


def _give_to_owner(path: Path | int, owner: os.stat_result) -> None:
    now = os.stat(path)  # noqa: PTH116 - takes descriptors too
    if (now.st_uid, now.st_gid) != (owner.st_uid, owner.st_gid):
        with suppress(PermissionError):
            os.chown(path, owner.st_uid, owner.st_gid)
