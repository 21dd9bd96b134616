"""Time zones and the limit of open files. It only reads."""

import re
from collections.abc import Iterable
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bot.cli.doctor.findings import Area, Finding

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
