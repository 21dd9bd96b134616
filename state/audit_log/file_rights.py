"""Mode and owner of the files of audit logs: nobody but the program's user and group may read them, also after an operator rewrote them.

An operator may run commands as root. Files that root makes in the folder would otherwise be closed to the program, which would then log
nothing more.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

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
