"""Checks free space and access rights of the disks of STATE_DIR, LOG_DIR and FILES_DIR. It only reads, so it tries no write."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from bot.cli.doctor.findings import Area, Finding
from bot.settings import Settings

AREA = Area("disk")
_MB: Final = 1_000_000
FULL: Final = 100 * _MB
SCARCE: Final = 1000 * _MB
_FEW_INODES: Final = 1000
_READ_ONLY: Final = getattr(os, "ST_RDONLY", 1)


def check_disks(settings: Settings) -> Iterable[Finding]:
    """Yield findings about the disk of LOG_DIR and, if the database is embedded (SQLite), about the disk of STATE_DIR."""
    if settings.database_url is None:
        yield from check_folder("STATE_DIR", settings.state_dir)
    yield from check_folder("LOG_DIR", settings.log_dir)
    if settings.files_dir is not None:
        yield from _check_files_dir(settings, settings.files_dir)


def _check_files_dir(settings: Settings, folder: Path) -> Iterable[Finding]:
    """Yield findings about the folder of the files that effects read and write. It is not made by the program, so it must exist."""
    if not folder.is_dir():
        yield AREA.report_wrong("FILES_DIR", f"{folder} is no folder.", "Make it, or choose another FILES_DIR.")
        return
    own = {"STATE_DIR": settings.state_dir, "LOG_DIR": settings.log_dir}
    place = folder.resolve()
    for name, other in own.items():
        inner = other.resolve()
        if inner == place or place in inner.parents or inner in place.parents:
            says = f"It shares a folder with {name}, so effects could read or change what the program keeps there."
            yield AREA.report_wrong("FILES_DIR", says, "Choose a folder of its own for FILES_DIR.")
            return
    yield _check_rights("FILES_DIR", folder, folder)
    yield _check_space("FILES_DIR", folder)


def check_folder(name: str, folder: Path) -> Iterable[Finding]:
    """Yield findings about the rights and free space of one folder; `name` is the setting that names it.

    A folder that does not exist yet is judged by its nearest existing parent.
    """
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        yield AREA.report_wrong(name, f"{place} is no folder.", f"Choose another {name}.")
        return
    yield _check_rights(name, folder, place)
    yield _check_space(name, place)


def _check_rights(name: str, folder: Path, place: Path) -> Finding:
    if os.statvfs(place).f_flag & _READ_ONLY:
        return AREA.report_wrong(
            name, f"The disk of {folder} is mounted read-only.", "Look at dmesg for errors of the disk, then mount it for writing."
        )
    if not os.access(place, os.W_OK | os.X_OK):
        return AREA.report_wrong(
            name, f"This user may not write into {place}.", f"chown it to the user of the bot (now uid {os.getuid()}), or run as that user."
        )
    if folder.exists() and folder.stat().st_mode & (stat.S_IRWXO):
        says = f"Everybody on this machine may look into {folder}."
        return AREA.report_warning(name, says, f"chmod o-rwx {folder}: what people wrote is sealed, names and sums of calls are not.")
    return AREA.report_ok(name, f"{folder} can be written to." if folder.exists() else f"{folder} will be made at the first start.")


def _check_space(name: str, place: Path) -> Finding:
    told = os.statvfs(place)
    free, check = told.f_bavail * told.f_frsize, f"{name} space"
    says = f"{free / _MB:,.0f} MB are free."
    if free < FULL:
        mending = "Make room now: a change is refused when its intent cannot be stored. docs/runbook.md, «The disk is full»."
        return AREA.report_wrong(check, says, mending)
    if told.f_files and told.f_favail < _FEW_INODES:
        return AREA.report_wrong(check, f"Only {told.f_favail} more files can be made.", "Remove small files you do not need (df -i).")
    if free < SCARCE:
        return AREA.report_warning(check, says, "Make room before it is full. docs/runbook.md, «The disk is full».")
    return AREA.report_ok(check, says)
