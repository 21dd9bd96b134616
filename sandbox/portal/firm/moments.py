"""Sandbox portal, time in the invented firm: seconds since 1970, put into office hours, as the texts that the store keeps."""

from __future__ import annotations

from datetime import date
from random import Random

DAY = 86_400
_ZONE = 3 * 3600
_OPENS, _CLOSES = 9, 19
_EPOCH = date(1970, 1, 1).toordinal()
_MINUTES = tuple(f"{minute // 60:02}:{minute % 60:02}:" for minute in range(1440))
_SECONDS = tuple(f"{second:02}Z" for second in range(60))
_days: dict[int, str] = {}


def write_moment(second: float) -> str:
    """Return a time in UTC as the store keeps it."""
    day, rest = divmod(int(second), DAY)
    return f"{_find_day(day)}T{_MINUTES[rest // 60]}{_SECONDS[rest % 60]}"


def write_date(second: float) -> str:
    """Return the day of a moment in the portal's zone."""
    return _find_day(int(second + _ZONE) // DAY)


def move_to_office(second: float, chance: Random) -> float:
    """Return the moment itself or a later one: most of what happens at night or at a weekend is done on the next morning of work."""
    day, rest = divmod(second + _ZONE, DAY)
    hour = rest / 3600
    if _OPENS <= hour < _CLOSES and ((day + 3) % 7 < 5 or chance.random() < 0.1):
        return second
    if chance.random() < 0.04:
        return second
    day += hour >= _CLOSES
    weekday = (day + 3) % 7  # 1 January 1970 was a Thursday
    if weekday >= 5 and chance.random() < 0.9:
        day += 7 - weekday
    return max(second, day * DAY + _OPENS * 3600 - _ZONE + chance.random() * (_CLOSES - _OPENS) * 3600)


def move_to_past_office(second: float, now: float, chance: Random) -> float:
    """Return a moment in office hours of the same day (of a weekend: mostly of a day of work before), at least a minute before `now`."""
    day, rest = divmod(second + _ZONE, DAY)
    weekday = (day + 3) % 7
    if weekday >= 5 and chance.random() < 0.9:
        day -= chance.randrange(int(weekday) - 4, int(weekday) + 1)
    if chance.random() < 0.96:
        rest = chance.triangular(_OPENS, _CLOSES, 11) * 3600
    return min(day * DAY + rest - _ZONE, now - 60 - chance.random() * 7200)


def _find_day(day: int) -> str:
    text = _days.get(day)
    if text is None:
        text = _days[day] = date.fromordinal(_EPOCH + day).isoformat()
    return text
