"""Refuses days and times that mean nothing. Pure."""

from calendar import monthrange
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.param_kinds import SPANS, Span, WrittenValue
from orchestrator.gate.call.value_forms import PortalTime, parse_day, parse_time
from orchestrator.gate.decide.value_kinds import build_param, find_title
from orchestrator.gate.decide.value_place import Place
from orchestrator.language.text import Locale

_FIRST_YEAR: Final = 1970
_FIRST_BIRTH: Final = 1900
_YEARS_AHEAD: Final = 10
"""For a deadline or closing date; words for a day have the same limit."""
_OWN_YEARS_AHEAD: Final = 100
"""31.12.2099 may stand for «without an end» in a custom field."""
_DAY: Final = timedelta(days=1)


def check_date(place: Place) -> Iterator[Refuse]:
    """Also for a day too far from the present to make sense in the field."""
    since, until = _find_range(place)
    for item in place.value.items:
        day = parse_day(item)
        if day is None or _has_two_readings(item):
            yield place.refuse("gate-value-date", item)
        elif until is not None and not since <= day <= until:
            yield place.refuse("gate-value-year", item, since=_show_day(since, place.locale), until=_show_day(until, place.locale))


def _has_two_readings(value: object) -> bool:
    """Slashes: the month stands first on some portals and second on others."""
    return isinstance(value, str) and "/" in value


def _show_day(day: date, locale: Locale) -> str:
    return day.isoformat() if locale == "en" else f"{day:%d.%m.%Y}"


def _find_range(place: Place) -> tuple[date, date | None]:
    today = place.facts.today
    if today is None:
        return date.min, None
    if place.value.kind == "birthday":
        return date(_FIRST_BIRTH, 1, 1), today
    own = place.value.kind == "own_date"
    return date(_FIRST_BIRTH if own else _FIRST_YEAR, 1, 1), _add_years(today, _OWN_YEARS_AHEAD if own else _YEARS_AHEAD)


def _add_years(day: date, years: int) -> date:
    return date(day.year + years, day.month, min(day.day, monthrange(day.year + years, day.month)[1]))


def check_order(call: Call, facts: Facts, actor: Actor, values: Sequence[WrittenValue]) -> Iterator[Refuse]:
    by_key = {fields.to_field_key(value.name, call.entity): value for value in values}
    for span in SPANS:
        if span.last not in by_key:
            continue
        last = by_key[span.last]
        begin = _find_begin(call, facts, span, by_key)
        if begin is None or not _is_before(parse_time(last.value), parse_time(begin)):
            continue
        place = Place(call=call, value=last, facts=facts, title=find_title(last.param, last.field, actor.locale), locale=actor.locale)
        first = build_param(call, _find_name(call, span.first))
        yield place.refuse("gate-value-order", last.value, begin=find_title(first, None, actor.locale))


def _find_begin(call: Call, facts: Facts, span: Span, by_key: Mapping[str, WrittenValue]) -> object:
    begin = fields.find_value(call.written_fields, span.first, call.entity)
    if begin is not None or not span.uses_record:
        return by_key[span.first].value if span.first in by_key else begin
    return fields.find_value(critical_fields.find_current_record(call, facts) or {}, span.first, call.entity)


def _find_name(call: Call, key: str) -> str:
    field_values = call.written_fields
    entity = call.entities.get(call.entity)
    known = entity.by_key.get(key, key) if entity is not None else key
    return next((name for name in field_values if fields.to_field_key(name, call.entity) == key), known)


def _is_before(end: PortalTime | None, begin: PortalTime | None) -> bool:
    """Certainly before. Days are compared as days; where only one names its UTC offset, they must lie a day apart."""
    if end is None or begin is None:
        return False
    if not (end.has_clock and begin.has_clock):
        return end.moment.date() < begin.moment.date()
    return end.moment + (_DAY if end.is_zoned != begin.is_zoned else timedelta()) < begin.moment
