"""Single values in the forms that the portal accepts. Pure."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final, NamedTuple
from zoneinfo import available_timezones

from orchestrator.gate.call import fields

_OFFSET: Final = r"(Z|[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?)?"
_ISO: Final = re.compile(
    rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]([0-9]{{2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:\.[0-9]{{1,6}})?)?)?{_OFFSET}", re.ASCII
)
_CLOCK: Final = r"(?: ([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?: ?[ap]m)?)?"
_RUSSIAN: Final = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_CLOCK}", re.ASCII)
_AMERICAN: Final = re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}){_CLOCK}", re.ASCII | re.IGNORECASE)
PLAIN_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]+)?", re.ASCII)
COMMA_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:[.,][0-9]+)?", re.ASCII)
MONEY: Final = re.compile(r"-?[0-9]{1,15}(?:[.,][0-9]+)?(?:\|[A-Z]{3})?", re.ASCII)
_ID: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
EMAIL: Final = re.compile(r"[^\s@<>]+@[^\s@<>]+|[^@]*<[^\s@<>]+@[^\s@<>]+>")
_DIGIT: Final = re.compile(r"[0-9]", re.ASCII)
_SHORTEST_PHONE: Final = 2
COLOR: Final = re.compile(r"#?(?:[0-9A-F]{3}|[0-9A-F]{6})", re.ASCII | re.IGNORECASE)
CURRENCY: Final = re.compile(r"[A-Z]{3}", re.ASCII)
NOTHING: Final = re.compile(r"null|none|undefined|nan|\[object object\]|\{\{[^{}]*\}\}|\$\{[^{}]*\}|<[a-z_ ]{1,40}>", re.IGNORECASE)
"""What a program writes where it has no value."""
_YES: Final = frozenset({"Y", "1", "true", "True"})
_NO: Final = frozenset({"N", "0", "false", "False"})


class PortalTime(NamedTuple):
    """`is_zoned`: the value names its UTC offset."""

    moment: datetime
    has_clock: bool
    is_zoned: bool


def parse_time(value: object) -> PortalTime | None:
    """ISO, or as a Russian or English portal writes it, month first in doubt; UTC without an offset."""
    text = value.strip() if isinstance(value, str) else ""
    if match := _ISO.fullmatch(text):
        return _build_iso_time(text, match)
    if match := _RUSSIAN.fullmatch(text):
        return _build_time((match[3], match[2], match[1]), match.group(4, 5, 6), text)
    if match := _AMERICAN.fullmatch(text):  # an English portal writes the month first, a British one the day
        clock = match.group(4, 5, 6)
        return _build_time((match[3], match[1], match[2]), clock, text) or _build_time((match[3], match[2], match[1]), clock, text)
    return None


def _build_iso_time(text: str, match: re.Match[str]) -> PortalTime | None:
    plain = _build_time((match[1], match[2], match[3]), match.group(4, 5, 6), "")
    if plain is None or not plain.has_clock or match[7] is None:
        return plain
    return PortalTime(datetime.fromisoformat(text), has_clock=True, is_zoned=True)


def _build_time(day: tuple[str, str, str], clock: tuple[str | None, ...], text: str) -> PortalTime | None:
    hour, minute, second = (int(part or 0) for part in clock)
    half = text[-2:].lower()
    if half in {"am", "pm"} and 1 <= hour <= 12:  # noqa: PLR2004 - hours on a dial
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        year, month, number = (int(part) for part in day)
        moment = datetime(year, month, number, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return PortalTime(moment, has_clock=clock[0] is not None, is_zoned=False)


def parse_day(value: object) -> date | None:
    time = parse_time(value)
    return time.moment.date() if time is not None else None


def parse_amount(value: object) -> Decimal | None:
    number = fields.parse_number(value)
    return Decimal(str(value)) if number is None and isinstance(value, int | float) and not isinstance(value, bool) else number


def parse_flag(value: object) -> bool | None:
    """True for Y, 1 and true, False for N, 0 and false, None for anything else."""
    text = str(value)
    return True if text in _YES else False if text in _NO else None


def is_number(value: object, form: re.Pattern[str] = PLAIN_NUMBER) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, int | float) or (isinstance(value, str) and form.fullmatch(value.strip()) is not None)


def is_id(value: object) -> bool:
    """Also 0, by which a link is taken off."""
    return not isinstance(value, bool) and isinstance(value, str | int) and _ID.fullmatch(str(value).strip()) is not None


def has_form(value: object, form: re.Pattern[str]) -> bool:
    return isinstance(value, str) and form.fullmatch(value.strip()) is not None


def is_phone(value: str) -> bool:
    return len(_DIGIT.findall(value)) >= _SHORTEST_PHONE


def is_zone(value: object) -> bool:
    """True for any text if this machine knows no time zones."""
    known = available_timezones()
    return isinstance(value, str) and (not known or value.strip() in known)
