"""Moments as ops write them: a record's number, an ISO time, a time of today, or so long ago. Ring 2, pure; guesses nothing."""

import re
from datetime import UTC, date, datetime, time, timedelta

Moment = int | datetime
"""The number of a record in its stream, or a moment in UTC."""

MOMENT_HELP = "a record number such as 42, or a time in UTC: 2026-11-21T14:05:00Z, '2026-11-21 14:05', 14:05 (today) or '2h ago'"
_AGO = re.compile(r"([0-9]{1,6})\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)\s*ago", re.ASCII | re.IGNORECASE)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_CLOCK = re.compile(r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,12}", re.ASCII)


class InvalidMoment(ValueError):
    """The text says neither a record nor a time."""


def parse_moment(text: str, now: datetime) -> Moment:
    """The record number or the time behind `text`; NoMoment says what may be written."""
    if _NUMBER.fullmatch(text.strip()):
        return int(text)
    return parse_time(text, now)


def parse_time(text: str, now: datetime) -> datetime:
    """The time behind `text`, UTC where it names no zone; a day alone is its beginning. NoMoment says what may be written."""
    asked = text.strip()
    ago = _AGO.fullmatch(asked)
    try:
        if ago:
            return now - timedelta(**{_UNITS[ago[2][0].lower()]: int(ago[1])})
        if _CLOCK.fullmatch(asked):
            return datetime.combine(now.astimezone(UTC).date(), time.fromisoformat(asked.zfill(len(asked) + asked.index(":") % 2)), UTC)
        if len(asked) == len("2026-11-21"):
            return datetime.combine(date.fromisoformat(asked), time(), UTC)
        moment = datetime.fromisoformat(asked)
    except (ValueError, OverflowError):
        raise InvalidMoment(f"{text!r} is no moment: give {MOMENT_HELP}") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
