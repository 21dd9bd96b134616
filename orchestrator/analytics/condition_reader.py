"""Reads a filter: the conditions of a list, with the fields' names of the portal or the words of the grammar."""

import math
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Final, cast
from zoneinfo import ZoneInfo

from orchestrator.analytics.names import DIMENSION_SYNONYMS, show_name, suggest_name
from orchestrator.analytics.question import Condition, Operator
from orchestrator.analytics.reading import Reading
from orchestrator.analytics.stretches import Clock, UnclearStretch, read_stretch
from orchestrator.analytics.vocabulary import Field, Subject

_KEY: Final = re.compile(r"(!=|!@|><|>=|<=|[!=<>@%~*?]{0,3})([A-Za-z][A-Za-z0-9_]{0,80})", re.ASCII)
_OPERATORS: Final[Mapping[str, Operator]] = {
    "": "in", "=": "in", "@": "in", "!": "not_in", "!=": "not_in", "!@": "not_in", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_MOST_VALUES: Final = 500
_MOST: Final = 2**62
_YES: Final = {1: 1, "Y": 1, "1": 1, "true": 1, 0: 0, "N": 0, "0": 0, "false": 0}  # True is 1


class _Unfit(Exception):
    """The message is the fault."""


def read_conditions(conditions: object, subject: Subject, reading: Reading) -> tuple[Condition, ...]:
    if conditions is None:
        return ()
    if not isinstance(conditions, Mapping):
        reading.blame('"filter" is an object of conditions such as {">OPPORTUNITY":1000000,"SOURCE_ID":"WEB"}')
        return ()
    parsed: list[Condition] = []
    for key, value in conditions.items():
        try:
            parsed += _read_condition(str(key), value, subject, reading)
        except _Unfit as fault:
            reading.blame(str(fault))
    return tuple(parsed)


def _read_condition(key: str, value: object, subject: Subject, reading: Reading) -> list[Condition]:
    matched = _KEY.fullmatch(key.strip())
    sign, name = (matched[1], matched[2]) if matched else ("", key)
    own_fields = reading.facts.own_fields.get(subject.record, ())
    if name.upper() not in subject.fields and reading.blame_portal(name):
        return []
    if name in own_fields and subject.name != "moves":
        field, own_field = Field("", "code"), name
    else:
        field, own_field = _find_field(name, subject, own_fields), ""
    if sign == "><":
        low, high = _split_pair(value, key)
        return [*_read_condition(f">={name}", low, subject, reading), *_read_condition(f"<={name}", high, subject, reading)]
    operator = _OPERATORS.get(sign)
    if operator is None:
        raise _Unfit(f'a filter of numbers has no sign "{show_name(sign)}"; signs: = ! > >= < <= @ ><')
    if field.kind in {"moment", "day"} and not _is_empty(value):
        return _read_days(name, field, operator, value, reading)
    values = value if isinstance(value, list | tuple) else [value]
    if not values or len(values) > _MOST_VALUES:
        raise _Unfit(f"the filter {show_name(name)} needs from 1 to {_MOST_VALUES} values")
    if operator not in {"in", "not_in"} and (len(values) != 1 or own_field or field.kind in {"code", "flag"}):
        raise _Unfit(f'the filter {show_name(name)} cannot be compared by "{sign}" with that')
    return [Condition(name, field, operator, tuple(_read_value(name, field, entry, operator) for entry in values), own_field)]


def _find_field(name: str, subject: Subject, own_fields: tuple[str, ...]) -> Field:
    if name.upper() in subject.fields:
        return subject.fields[name.upper()]
    low = name.lower()
    code = low if low in subject.dimensions or low in subject.times else DIMENSION_SYNONYMS.get(low, low)
    if code in subject.times:
        return subject.times[code]
    if code in subject.dimensions:
        dimension = subject.dimensions[code]
        return Field(dimension.sql, "number" if dimension.names in {"person", "department", "funnel", "company"} else "code")
    if code in {"sum", "amount"} and "OPPORTUNITY" in subject.fields:
        return subject.fields["OPPORTUNITY"]
    known = [*subject.fields, *own_fields, *subject.dimensions]
    raise _Unfit(
        f'filter: {subject.name} have no field "{show_name(name)}"{suggest_name(name, known)}, '
        f"fields: {', '.join([*subject.fields, *own_fields[:5]])}"
    )


def _is_empty(value: object) -> bool:
    return value is None or value is False or value in ("", "null")


def _split_pair(value: object, key: str) -> tuple[object, object]:
    if isinstance(value, list | tuple) and len(value) == 2:  # noqa: PLR2004 - a pair
        return value[0], value[1]
    raise _Unfit(f"the filter {show_name(key)} needs two values")


def _read_value(name: str, field: Field, value: object, operator: Operator) -> str | int | None:
    if field.kind == "flag":
        if isinstance(value, str | int) and value in _YES:
            return _YES[value]
        raise _Unfit(f'the filter {show_name(name)} is "Y" or "N"')
    if _is_empty(value):
        if operator not in {"in", "not_in"}:
            raise _Unfit(f"the filter {show_name(name)} cannot be compared with nothing")
        return None
    if isinstance(value, str) and value.startswith("@"):
        raise _Unfit(f'the filter {show_name(name)} holds "{show_name(value)}", which is no value here')
    if field.kind == "code":
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    else:
        number = _parse_number(value)
        if number is not None:
            return round(number * 100) if field.kind == "money" else _to_whole(number, name)
    raise _Unfit(f"the filter {show_name(name)} is {'a code' if field.kind == 'code' else 'a number'}, not {show_name(value)}")


def _parse_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and abs(number) < _MOST / 100 else None


def _to_whole(number: float, name: str) -> int:
    if number != int(number):
        raise _Unfit(f"the filter {show_name(name)} is a whole number")
    return int(number)


def _read_days(name: str, field: Field, operator: Operator, value: object, reading: Reading) -> list[Condition]:
    """A day or period becomes its bounds: ">" is after its end, "<" before its beginning."""
    start, end = _find_ends(name, value, reading)
    if operator == "not_in":
        raise _Unfit(f'the filter {show_name(name)} cannot leave out a period; use one bound such as "<{name}"')
    bounds: list[tuple[Operator, datetime | None]]
    if start is not None and start == end and operator != "in":
        return [Condition(name, field, operator, (_write_moment(field, start),))]
    bounds = {
        "in": [(">=", start), ("<", end)],
        ">=": [(">=", start)],
        ">": [(">=", end)],
        "<": [("<", start)],
        "<=": [("<", end)],
    }[operator]  # type: ignore[assignment]
    return [Condition(name, field, sign, (_write_moment(field, moment),)) for sign, moment in bounds if moment is not None]


def _write_moment(field: Field, moment: datetime) -> str | int:
    return moment.date().isoformat() if field.kind == "day" else int(moment.timestamp())


def _find_ends(name: str, value: object, reading: Reading) -> tuple[datetime | None, datetime | None]:
    clock = reading.clock
    if isinstance(value, str) and not value.startswith("@"):
        try:
            moment = datetime.fromisoformat(value)
            if len(value) > len("2026-10-01"):
                aware = moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(clock.zone))
                return aware, aware
            day = date.fromisoformat(value)
            return read_ends({"from": day.isoformat(), "to": day.isoformat()}, clock)
        except (ValueError, OverflowError):
            pass
    try:
        return read_ends(value, clock)
    except UnclearStretch as unclear:
        raise _Unfit(f"the filter {show_name(name)}: {unclear}") from None


def read_ends(words: object, clock: Clock) -> tuple[datetime | None, datetime | None]:
    stretch = read_stretch(cast("str", words), clock, "back")
    return stretch.start, stretch.end
