"""What conditions do with days and moments: texts in ISO's form."""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_NUMERIC: Final = re.compile(r"\s*[+-]?(\d{1,18})(\.\d{1,18})?\s*", re.ASCII)
_DAY: Final = re.compile(r"(\d{4}-\d\d-\d\d)(T.*)?", re.ASCII)
"""Of a moment, the day as it is written."""
_WRITTEN_DAY: Final = re.compile(r"\s*\d{1,2}([./])\d{1,2}\1(\d{4}|\d\d)\s*", re.ASCII)
_CLOCK: Final = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)", re.ASCII)
_FARTHEST_DAYS: Final = 36_600


class OperationFailed(Exception):
    """`code` and `values` make the sentence for people, the text is the English one."""

    def __init__(self, code: str, message: str, suggestion: str = "", **args: str | int) -> None:
        super().__init__(message)
        self.code, self.suggestion, self.values = code, suggestion, args
        self.place: tuple[int, int] = (0, 0)
        """(0, 0) until known."""


def name_type(value: object) -> str:
    """In the words of authors: text, number, list."""
    match value:
        case None:
            return "null"
        case bool():
            return "true/false"
        case int() | float():
            return "number"
        case str():
            return "text"
        case Mapping():
            return "object"
        case _:
            return "list"


def read_number(value: object) -> int | float | None:
    """ "18" or " -2.5 "; None for others."""
    if not isinstance(value, str):
        return None
    match = _NUMERIC.fullmatch(value)
    if match is None:
        return None
    return float(value) if match[2] else int(value)


def order_days(left: str, right: str) -> tuple[Any, Any]:
    """Two days or moments in ISO's form by time, other texts by letters. Raises OperationFailed for a day as people write it."""
    if _WRITTEN_DAY.fullmatch(left) or _WRITTEN_DAY.fullmatch(right):
        written = left if _WRITTEN_DAY.fullmatch(left) else right
        other = right if written is left else left
        if _WRITTEN_DAY.fullmatch(other) or _DAY.fullmatch(other):
            raise OperationFailed("expression-day-text", f"{written!r} is a text and no day: 2026-12-31 is one", left=written.strip())
    if (left_day := _DAY.fullmatch(left)) and (right_day := _DAY.fullmatch(right)):
        moments = [_read_moment(one) for one in (left, right)]
        return (moments[0], moments[1]) if None not in moments else (left_day[1], right_day[1])
    return left, right


def _read_moment(text: str) -> datetime | None:
    """None for a day without an hour, and for a moment without an offset."""
    try:
        moment = datetime.fromisoformat(text) if "T" in text else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


def is_day(value: object) -> bool:
    """A moment counts, too."""
    return isinstance(value, str) and _DAY.fullmatch(value) is not None


def read_day(name: str, value: object) -> date:
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    try:
        return date.fromisoformat(match[1] if match is not None else "")
    except ValueError:
        message = f"{name}() takes a day such as 2026-11-27, not this {name_type(value)}"
        raise OperationFailed("expression-function", message, name=name, left=name_type(value)) from None


def add_days(value: object, count: object) -> str:
    """A negative `count` goes back."""
    day, number = read_day("add_days", value), read_number(count) if isinstance(count, str) else count
    if type(number) is not int or abs(number) > _FARTHEST_DAYS:
        message = f"add_days() takes a whole number of at most {_FARTHEST_DAYS} days"
        raise OperationFailed("expression-function", message, name="add_days", left=name_type(count))
    try:
        return (day + timedelta(days=number)).isoformat()
    except OverflowError:
        raise OperationFailed("expression-function", "add_days() leaves the calendar", name="add_days", left=name_type(value)) from None


def at_time(value: object, clock: object, zone: object) -> str:
    """With the offset from UTC, as the portal reads it."""
    day = read_day("at_time", value)
    match = _CLOCK.fullmatch(clock) if isinstance(clock, str) else None
    try:
        if match is not None and isinstance(zone, str) and zone:
            return datetime.combine(day, time(int(match[1]), int(match[2])), ZoneInfo(zone)).isoformat()
    except (ZoneInfoNotFoundError, OSError, ValueError):  # no such zone, a folder of the database, or a path
        pass
    message = "at_time() takes a day, a time such as 18:00 and a time zone such as Europe/Moscow"
    raise OperationFailed("expression-function", message, name="at_time", left=name_type(clock if match is None else zone))


def format_date(value: object) -> str:
    """31.12.2026, or 31.12.2026 15:00 of a moment, where it was written."""
    day = read_day("format_date", value)
    hour = re.match(r"T(\d\d:\d\d)", str(value)[10:])
    return f"{day:%d.%m.%Y}" + (f" {hour[1]}" if hour is not None else "")
