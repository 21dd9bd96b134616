"""Refuses what the portal would reject, drop in silence or store as something else, such as «завтра» as a day."""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from bitrix.catalogue import names
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.gate.call import critical_fields, fields, param_kinds, value_forms
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.param_kinds import EMPTY, SPANS, Param, Span, ValueKind, WrittenValue
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.value_forms import PortalTime, parse_day, parse_time
from orchestrator.gate.decide.value_kinds import (
    SHOWN,
    Place,
    build_param,
    find_list_key,
    find_title,
    format_plainly,
    is_single,
    list_written_values,
)
from orchestrator.gate.normalize.batch import wrap_refusal
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import LARGEST
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


UNDO: Final = "undo"
_LONGEST_SECONDS: Final = 10**9
_FORM_CODE: Final = re.compile(r"[A-Za-z0-9_|:]+", re.ASCII)
_ROW: Final = "productrow"
_WORDS: Final = load_lexicon("value_kinds")
_CONTACT_TYPES: Final = {
    kind: {code: _WORDS.read_titles("contact_types", kind, code) for code in _WORDS.read_names("contact_types", kind)}
    for kind in _WORDS.read_names("contact_types")
}
_REMINDERS: Final = frozenset(_WORDS.read_words("reminders"))
_KINDS: Final[Mapping[Locale, Mapping[str, str]]] = {
    "ru": load_lexicon("card_fields").read_table("kinds", "ru"),
    "en": load_lexicon("card_fields").read_table("kinds", "en"),
}
_MESSAGES: Final = frozenset({"comment", "postmessage", "subject"})
"""The portal itself refuses blank ones."""
_CHECKED_WHOLE: Final[frozenset[ValueKind]] = frozenset(
    {"amount", "number", "quantity", "percent", "money", "contacts", "rows", "reminder"}
)
"""Their own check refuses a list where one value is meant."""


def find_value_problem(call: Call, *, facts: Facts, actor: Actor, effect: Effect) -> Refuse | None:
    """None for an undo, which writes what was there."""
    if effect.proposed_by == UNDO:
        return None
    for leaf in call.leaves:
        problem = next(_find_problems(leaf, facts, actor), None)
        if problem is not None:
            return wrap_refusal(leaf, problem, facts) if call.commands else problem
    return None


def _find_problems(call: Call, facts: Facts, actor: Actor) -> Iterator[Refuse]:
    yield from _check_texts(call, actor)
    values = list_written_values(call, facts)
    for value in values:
        title = find_title(value.param, value.field, actor.locale)
        place = Place(call=call, value=value, facts=facts, title=title, locale=actor.locale, in_row=call.entity == _ROW)
        yield from _check_one(place)
    yield from check_order(call, facts, actor, values)


def _check_texts(call: Call, actor: Actor) -> Iterator[Refuse]:
    if call.reads_only:
        return
    entity = call.entities.get(call.entity)
    title_key = fields.to_field_key(entity.title_field, call.entity) if entity is not None else ""
    for name, value in call.written_fields.items():
        key = fields.to_field_key(name, call.entity)
        info = fields.find_field_info(entity, name)
        is_title = key == title_key and call.entity not in {"comment", "contact"}
        is_prose = key in _MESSAGES or (info is not None and info.kind == "prose" and name not in call.spec.stands_for)
        is_text = is_title or is_prose or (info is not None and info.kind == "text")
        blank = is_title and (not isinstance(value, str | int) or isinstance(value, bool) or not str(value).strip())
        if (
            blank
            or (is_text and value_forms.has_form(value, value_forms.NOTHING))
            or (is_prose and value and isinstance(value, bool | list | Mapping))
        ):
            title = find_title(build_param(call, name), None, actor.locale)
            quoted = escape_text(format_plainly(value), locale=actor.locale, limit=SHOWN)
            yield refuse("gate-value-text", field=title, param=name, value=quoted)


def _check_one(place: Place) -> Iterator[Refuse]:
    own_value, kind = place.value.value, place.value.kind
    several = isinstance(own_value, list | Mapping)
    if (own_value in EMPTY or _is_hollow(place)) and kind != "rows":
        yield place.refuse_unlisted("gate-value-empty", "", _find_known_values(place))
    elif several and kind not in _CHECKED_WHOLE and is_single(place.value):
        yield place.refuse("gate-value-single", own_value)
    elif not several and param_kinds.is_list(place.value.param) and place.value.items:
        yield place.refuse("gate-value-several", own_value)
    else:
        yield from _check_kind_of_value(place)


def _is_hollow(place: Place) -> bool:
    """A batch carries an empty list as one of empty values."""
    own_value = place.value.value
    inner = list(own_value.values()) if isinstance(own_value, Mapping) else own_value if isinstance(own_value, list) else [own_value]
    return all(one in EMPTY for one in inner) and not param_kinds.may_be_empty(place.value.param, place.value.kind)


def _check_kind_of_value(place: Place) -> Iterator[Refuse]:
    kind = place.value.kind
    if kind in _FORMS:
        is_right, code = _FORMS[kind]
        yield from (place.refuse(code, item) for item in place.value.items if not is_right(item))
    elif kind in _NUMBERS:
        yield from _check_numbers(place)
    elif kind in _CHECKS:  # phones and links to records are checked when the call is normalized
        yield from _CHECKS[kind](place)


def _check_numbers(place: Place) -> Iterator[Refuse]:
    kind, field = place.value.kind, place.value.field
    form, least, most = _NUMBERS[kind]
    if kind == "number" and field is not None and field.custom:
        form = value_forms.COMMA_NUMBER
    if kind == "amount" and place.in_row:
        least = -LARGEST  # a return may stand in a row as a negative price
    is_each = kind == "duration" or (field is not None and field.multiple)
    for item in place.value.items if is_each or not place.value.items else (place.value.value,):
        number = value_forms.parse_amount(item)
        if not value_forms.is_number(item, form):
            yield place.refuse("gate-value-number", item)
        elif number is not None and not least <= number <= most:
            yield place.refuse("gate-value-range", item, least=f"{least:f}", most=f"{most:,f}".replace(",", " "))


def _check_rows(place: Place) -> Iterator[Refuse]:
    for row in place.value.items:
        if not isinstance(row, Mapping):
            yield place.refuse("gate-value-several", row)
            continue
        for name, item in row.items():
            param = Param(spec=place.call.spec, entity=_ROW, info=None, name=str(name))
            kind = param_kinds.find_kind(param)
            if kind is None or (item in EMPTY and kind != "amount"):
                continue
            words = param.words
            title = words.names[place.locale] if words is not None else str(name)
            inner = replace(place, title=title, value=WrittenValue(param=param, kind=kind, value=item), in_row=True)
            yield from _check_kind_of_value(inner) if item not in EMPTY else [inner.refuse("gate-value-number", item)]


def _check_user(place: Place) -> Iterator[Refuse]:
    """Only a custom field may be emptied by writing 0."""
    own = names.is_custom_field(place.value.name) or (place.value.field is not None and place.value.field.custom)
    for item in place.value.items:
        if not value_forms.is_id(item) or (not own and not str(item).strip().strip("0")):
            yield place.refuse("gate-value-user", item)


def _find_known_values(place: Place) -> Mapping[str, str]:
    field = place.value.field
    match place.value.kind:
        case "choice":
            return field.choices if field is not None else {}
        case "code":
            words = place.value.param.words
            return {words.codes[code]: titles[place.locale] for code, titles in words.choices.items()} if words is not None else {}
        case _:
            return place.facts.value_lists.get(find_list_key(place.call, place.value, place.facts), {})


def _check_list(place: Place) -> Iterator[Refuse]:
    known = _find_known_values(place)
    for item in place.value.items if known else ():
        if str(item).strip() not in known and item not in (0, "0"):
            code = "gate-value-stage" if place.value.kind == "stage" else "gate-value-choice"
            yield place.refuse_unlisted(code, item, known)


def _check_code(place: Place) -> Iterator[Refuse]:
    known, words = _find_known_values(place), place.value.param.words
    whole = words is not None and param_kinds.is_complete(words)
    codes = {code.lower() for code in known}
    for item in place.value.items:
        code = str(item).strip().lower()
        if code not in codes if whole and not isinstance(item, bool) else not code.isascii():
            yield place.refuse_unlisted("gate-value-choice", item, known)


def _check_kind(place: Place) -> Iterator[Refuse]:
    for item in place.value.items:
        if isinstance(item, bool) or not isinstance(item, str | int) or not _FORM_CODE.fullmatch(str(item).strip()):
            yield place.refuse_unlisted("gate-value-choice", item, _KINDS[place.locale])


def _check_currency(place: Place) -> Iterator[Refuse]:
    yield from _check_list(place)
    known = _find_known_values(place)
    for item in () if known else place.value.items:
        if not value_forms.has_form(item, value_forms.CURRENCY):
            yield place.refuse("gate-value-currency", item)


def _check_contacts(place: Place) -> Iterator[Refuse]:
    for element in place.value.items:
        parts = {fields.to_field_key(str(key)): item for key, item in element.items()} if isinstance(element, Mapping) else {}
        kind = str(parts.get("typeid") or place.value.name).upper()
        value = str(parts.get("value") or "") if parts else str(element)
        yield from _check_address(place, kind, value.strip())
        sort, known = str(parts.get("valuetype") or ""), _CONTACT_TYPES.get(kind, {})
        if sort and known and sort.upper() not in known:
            yield place.refuse_unlisted("gate-value-choice", sort, {code: titles[place.locale] for code, titles in known.items()})


def _check_address(place: Place, kind: str, value: str) -> Iterator[Refuse]:
    if kind == "EMAIL" and value and not value_forms.has_form(value, value_forms.EMAIL):
        yield place.refuse("gate-value-email", value)
    elif kind == "PHONE" and value and not value_forms.is_phone(value):
        yield place.refuse("gate-value-phone", value)


def _check_text_address(place: Place) -> Iterator[Refuse]:
    for item in place.value.items:
        yield from _check_address(place, place.value.kind.upper(), str(item).strip())


def _check_reminder(place: Place) -> Iterator[Refuse]:
    for item in place.value.items if isinstance(place.value.value, list) else (place.value.value,):
        parts = item if isinstance(item, Mapping) else {}
        count = parts.get("count", 0)
        if parts.get("type") not in _REMINDERS or not value_forms.is_number(count) or str(count).startswith("-"):
            yield place.refuse("gate-value-reminder", item)


def _is_dialog(value: object) -> bool:
    text = str(value).strip()
    return not isinstance(value, bool) and text.isascii() and " " not in text and any(sign.isdigit() for sign in text)


def _has_digits(value: object) -> bool:
    return any(sign.isascii() and sign.isdigit() for sign in str(value))


_ANY: Final = Decimal("Infinity")
_NUMBERS: Final[Mapping[ValueKind, tuple[re.Pattern[str], Decimal, Decimal]]] = {
    "amount": (value_forms.PLAIN_NUMBER, Decimal(0), LARGEST),
    "quantity": (value_forms.PLAIN_NUMBER, Decimal(0), LARGEST),
    "percent": (value_forms.PLAIN_NUMBER, Decimal(0), Decimal(100)),
    "duration": (value_forms.PLAIN_NUMBER, Decimal(0), Decimal(_LONGEST_SECONDS)),
    "number": (value_forms.PLAIN_NUMBER, -_ANY, _ANY),
    "money": (value_forms.MONEY, -_ANY, _ANY),
}
_FORMS: Final[Mapping[ValueKind, tuple[Callable[[object], bool], str]]] = {
    "record": (value_forms.is_id, "gate-value-id"),
    "flag": (lambda value: value_forms.parse_flag(value) is not None, "gate-value-flag"),
    "new_currency": (lambda value: value_forms.has_form(value, value_forms.CURRENCY), "gate-value-currency"),
    "color": (lambda value: value_forms.has_form(value, value_forms.COLOR), "gate-value-color"),
    "digits": (_has_digits, "gate-value-digits"),
    "dialog": (_is_dialog, "gate-value-user"),
    "access": (lambda value: str(value).strip().isascii(), "gate-value-user"),
    "zone": (value_forms.is_zone, "gate-value-zone"),
}
_CHECKS: Final[Mapping[ValueKind, Callable[[Place], Iterator[Refuse]]]] = {
    **dict.fromkeys(("date", "datetime", "birthday", "own_date"), check_date),
    **dict.fromkeys(("stage", "category", "status", "choice"), _check_list),
    **dict.fromkeys(("email", "phone"), _check_text_address),
    "user": _check_user,
    "kind": _check_kind,
    "code": _check_code,
    "currency": _check_currency,
    "contacts": _check_contacts,
    "rows": _check_rows,
    "reminder": _check_reminder,
}
