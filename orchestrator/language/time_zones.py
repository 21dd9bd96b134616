"""Names that `ZoneInfo` accepts."""

import re
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

DEFAULT_ZONE: Final = "Europe/Moscow"
_HOUR: Final = 60
# Zones without summer time by offset in minutes, so that one offset means one zone; for other offsets the names Etc/GMT±n are used.
_BY_MINUTES: Final = {
    180: "Europe/Moscow",
    210: "Asia/Tehran",
    240: "Europe/Samara",
    300: "Asia/Yekaterinburg",
    330: "Asia/Kolkata",
    345: "Asia/Kathmandu",
    360: "Asia/Omsk",
    390: "Asia/Yangon",
    420: "Asia/Krasnoyarsk",
    480: "Asia/Irkutsk",
    540: "Asia/Yakutsk",
    570: "Australia/Darwin",
    600: "Asia/Vladivostok",
    660: "Asia/Magadan",
    720: "Asia/Kamchatka",
}
_RUSSIAN: Final = re.compile(r"([0-9]{2})\.([0-9]{2})\.([0-9]{4})(?: ([0-9]{2}:[0-9]{2}(?::[0-9]{2})?))?", re.ASCII)


def is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):  # a folder of the database, or a path, is not a zone either
        return False
    return bool(name)


def find_zone(offset: timedelta | None) -> str:
    """A zone with this offset all year; "Europe/Moscow" if there is none."""
    minutes = round(offset.total_seconds() / 60) if offset is not None else None
    if minutes is None:
        return DEFAULT_ZONE
    if minutes in _BY_MINUTES:
        return _BY_MINUTES[minutes]
    name = f"Etc/GMT{-minutes // _HOUR:+d}" if minutes % _HOUR == 0 else ""
    return name if is_zone(name) else DEFAULT_ZONE


def parse_moment(text: str, *, zone: str) -> datetime | None:
    """As the portal writes it, else None; without an offset it is in `zone`."""
    iso_text = text.strip()
    if match := _RUSSIAN.fullmatch(iso_text):
        iso_text = f"{match[3]}-{match[2]}-{match[1]}T{match[4] or '00:00:00'}"
    try:
        moment = datetime.fromisoformat(iso_text)
    except ValueError:
        return None
    return moment.replace(tzinfo=ZoneInfo(zone)) if moment.tzinfo is None else moment
