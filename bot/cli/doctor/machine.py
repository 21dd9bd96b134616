"""Time zones, the limit of open files, free space and rights of STATE_DIR, LOG_DIR and FILES_DIR. It leaves nothing behind."""

import errno
import os
import re
import stat
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.cli.doctor.findings import Area, Finding
from bot.settings.settings import Settings

DISK = Area("disk")
_MB: Final = 1_000_000
FULL: Final = 100 * _MB
SCARCE: Final = 1000 * _MB
_FEW_INODES: Final = 1000
_READ_ONLY: Final = getattr(os, "ST_RDONLY", 1)
_UNNAMED_FILE: Final = getattr(os, "O_TMPFILE", 0)
"""Opens a file that vanishes when it is closed; 0 where the system has none."""
_NO_TRIAL: Final = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL})
"""The file system has no unnamed files, which says nothing of writing."""
_CLEAR_TEXT: Final[Mapping[str, str]] = {
    "STATE_DIR": "names and sums of calls stand in it in clear text, and beside what people wrote lie the keys to read it",
    "LOG_DIR": "the audit logs hold in clear text what people wrote, what they were answered and what was called",
}
"""What a stranger would read there, by setting."""


def check_disks(settings: Settings) -> Iterable[Finding]:
    if settings.database_url is None:
        yield from check_folder("STATE_DIR", settings.state_dir)
    yield from check_folder("LOG_DIR", settings.log_dir)
    yield from _check_foreign_files(settings.log_dir)
    if settings.files_dir is not None:
        yield from _check_files_dir(settings, settings.files_dir)


def _check_files_dir(settings: Settings, folder: Path) -> Iterable[Finding]:
    """The program does not make it, so it must exist."""
    if not folder.is_dir():
        yield DISK.report_wrong("FILES_DIR", f"{folder} is no folder.", "Make it, or choose another FILES_DIR.")
        return
    own = {"STATE_DIR": settings.state_dir, "LOG_DIR": settings.log_dir}
    place = folder.resolve()
    for name, other in own.items():
        inner = other.resolve()
        if inner == place or place in inner.parents or inner in place.parents:
            says = f"It shares a folder with {name}, so effects could read or change what the program keeps there."
            yield DISK.report_wrong("FILES_DIR", says, "Choose a folder of its own for FILES_DIR.")
            return
    yield from _check_place("FILES_DIR", folder, folder)


def check_folder(name: str, folder: Path) -> Iterable[Finding]:
    """`name` is its setting. A missing folder is judged by its nearest parent; space counts only if it can be written to."""
    try:
        place = _find_existing(folder)
    except PermissionError as error:
        says = f"This user (uid {os.getuid()}) may not enter {Path(error.filename).parent}, so {folder} cannot be reached."
        yield DISK.report_wrong(name, says, f"chmod o+x {Path(error.filename).parent}, or choose another {name}.")
        return
    if not place.is_dir():
        yield DISK.report_wrong(name, f"{place} is no folder.", f"Choose another {name}.")
        return
    yield from _check_place(name, folder, place)


def _find_existing(folder: Path) -> Path:
    """The folder or its nearest parent. Raises PermissionError if a parent may not be entered."""
    place = folder
    while place != place.parent:
        try:
            place.stat()
        except (FileNotFoundError, NotADirectoryError):
            place = place.parent
        else:
            return place
    return place


def _check_place(name: str, folder: Path, place: Path) -> Iterable[Finding]:
    finding = _check_rights(name, folder, place)
    yield finding
    if finding.verdict != "wrong":
        yield _check_space(name, place)


def _check_rights(name: str, folder: Path, place: Path) -> Finding:
    disk = os.statvfs(place)
    if disk.f_flag & _READ_ONLY:
        return DISK.report_wrong(
            name, f"The disk of {folder} is mounted read-only.", "Look at dmesg for errors of the disk, then mount it for writing."
        )
    if not disk.f_blocks:
        says = f"{place} is on no disk but is a view into the system, where no files can be kept."
        return DISK.report_wrong(name, says, f"Choose another {name}, on a disk.")
    if not os.access(place, os.W_OK | os.X_OK):
        return _report_forbidden(name, place)
    if (error := _try_to_write(place)) is not None:
        return _report_unwritable(name, folder, place, error)
    if folder.exists() and folder.stat().st_mode & (stat.S_IRWXO):
        says = f"Everybody on this machine may look into {folder}."
        return DISK.report_warning(name, says, f"chmod o-rwx {folder}{f': {_CLEAR_TEXT[name]}' if name in _CLEAR_TEXT else ''}.")
    return DISK.report_ok(name, f"{folder} can be written to." if folder.exists() else f"{folder} will be made at the first start.")


def _try_to_write(place: Path) -> OSError | None:
    """Into an unnamed file; None if it went well or cannot be tried."""
    if not _UNNAMED_FILE:
        return None
    try:
        descriptor = os.open(place, _UNNAMED_FILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, b"sdelka")
        finally:
            os.close(descriptor)
    except OSError as error:
        return None if error.errno in _NO_TRIAL else error
    return None


def _report_forbidden(name: str, place: Path) -> Finding:
    return DISK.report_wrong(
        name, f"This user may not write into {place}.", f"chown it to the user of the bot (now uid {os.getuid()}), or run as that user."
    )


def _report_unwritable(name: str, folder: Path, place: Path, error: OSError) -> Finding:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return _report_forbidden(name, place)
        case errno.EROFS:
            return DISK.report_wrong(
                name, f"The disk of {folder} is mounted read-only.", "Look at dmesg for errors of the disk, then mount it for writing."
            )
        case errno.ENOSPC | errno.EDQUOT:
            what = "The disk is full" if error.errno == errno.ENOSPC else "The quota of this user is used up"
            return DISK.report_wrong(name, f"{what}: not one byte can be written into {place}.", "docs/runbook.md, «The disk is full».")
        case _:
            says = f"{place} cannot be written to: {error.strerror}."
            return DISK.report_wrong(name, says, f"Mend the disk, or choose another {name}.")


def _check_foreign_files(folder: Path) -> Iterable[Finding]:
    """As after a command was run as another user."""
    try:
        shut = sorted(path.name for path in folder.iterdir() if path.is_file() and not os.access(path, os.R_OK | os.W_OK))
    except OSError:
        return
    if shut:
        says = f"This user may not write into {len(shut)} files of {folder}, such as {shut[0]}: nothing more is logged in them."
        yield DISK.report_wrong("LOG_DIR files", says, f"chown -R the folder to the user of the bot (now uid {os.getuid()}).")


def _check_space(name: str, place: Path) -> Finding:
    volume = os.statvfs(place)
    free, check = volume.f_bavail * volume.f_frsize, f"{name} space"
    says = f"{free / _MB:,.0f} MB are free."
    if free < FULL:
        mending = "Make room now: a change is refused when its intent cannot be stored. docs/runbook.md, «The disk is full»."
        return DISK.report_wrong(check, says, mending)
    if volume.f_files and volume.f_favail < _FEW_INODES:
        return DISK.report_wrong(check, f"Only {volume.f_favail} more files can be made.", "Remove small files you do not need (df -i).")
    if free < SCARCE:
        return DISK.report_warning(check, says, "Make room before it is full. docs/runbook.md, «The disk is full».")
    return DISK.report_ok(check, says)


AREA = Area("machine")
FILES: Final = 2500
"""2,000 connections of the HTTP door, 50 to the portal, and databases, logs and Telegram."""
_FEW: Final = 256
_OLD_YEARS: Final = 2


def check_machine(now: datetime) -> Iterable[Finding]:
    """The list of time zones must not be too old at `now`."""
    yield _check_zones(now)
    yield _check_open_files()


def _check_zones(now: datetime) -> Finding:
    try:
        ZoneInfo("Europe/Moscow")
        ZoneInfo("Asia/Vladivostok")
    except (ZoneInfoNotFoundError, OSError):
        return AREA.report_wrong("time zones", "There are no time zones on this machine.", "Install the package tzdata.")
    try:
        released = version("tzdata")
    except PackageNotFoundError:
        return AREA.report_ok("time zones", "Those of the machine are used.")
    year = re.match(r"\d{4}", released)
    if year and now.year - int(year[0]) >= _OLD_YEARS:
        says = f"The list is of {year[0]}; zones that changed since then are shown as they were."
        return AREA.report_warning("time zones", says, "pip install --upgrade tzdata, or take a newer release of the bot.")
    return AREA.report_ok("time zones", f"The list is {released}.")


def _check_open_files() -> Finding:
    try:
        import resource  # noqa: PLC0415 - Unix has it, Windows has no such limit
    except ImportError:
        return AREA.report_ok("open files", "This system has no limit.")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= FILES:
        return AREA.report_ok("open files", "There is no limit." if soft == resource.RLIM_INFINITY else f"The limit is {soft}.")
    says = f"Only {soft} files and connections may be open in this shell; the HTTP door alone takes up to 2,000."
    mending = f"ulimit -n {FILES} before the start, or LimitNOFILE={FILES * 2} in the systemd unit; the hard limit is {hard}."
    return (AREA.report_wrong if soft < _FEW else AREA.report_warning)("open files", says, mending)
