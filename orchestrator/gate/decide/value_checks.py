"""Refuses values that mean nothing in their field («завтра» as a day, "1e9" as a sum, a stage of another funnel) before a card is shown.

The refusal says to the person what would be right, and to the model which form to write. A value is refused only if the portal would
reject it, drop it in silence or store something else. Pure; the lists and dates that are needed stand in `Facts`.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Effect
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.reasons import format_english, refuse, wrap_in_batch
from orchestrator.gate.decide.text_checks import find_text_problems
from orchestrator.gate.decide.value_kinds import ValueKind, WrittenValue, find_list_key, find_title, list_written_values
from orchestrator.gate.normalize.batch import build_command_label
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_parser import LARGEST
from orchestrator.language.text import Locale

UNDO: Final = "undo"
_SHOWN: Final = 60
_MOST_NAMES: Final = 12
_MOST_VALUES: Final = 40
_FIRST_YEAR: Final = 1970
_FIRST_BIRTH: Final = 1900
_YEARS_AHEAD: Final = 10
"""How many years ahead a deadline or a closing date may lie; words for a day are read with the same limit."""
_OWN_YEARS_AHEAD: Final = 100
"""The same for custom fields, in which 31.12.2099 may stand for «without an end»."""
_FLAGS: Final = frozenset({"Y", "N", "1", "0", "true", "false", "True", "False"})
_OFFSET: Final = r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_ISO: Final = re.compile(
    rf"([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})(?:[T ]([0-9]{{2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:\.[0-9]{{1,6}})?)?)?{_OFFSET}", re.ASCII
)
_CLOCK: Final = r"(?: ([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?(?: ?[ap]m)?)?"
_RUSSIAN: Final = re.compile(rf"([0-9]{{1,2}})\.([0-9]{{1,2}})\.([0-9]{{4}}){_CLOCK}", re.ASCII)
_AMERICAN: Final = re.compile(rf"([0-9]{{1,2}})/([0-9]{{1,2}})/([0-9]{{4}}){_CLOCK}", re.ASCII | re.IGNORECASE)
_PLAIN_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]+)?", re.ASCII)
_COMMA_NUMBER: Final = re.compile(r"-?[0-9]{1,15}(?:[.,][0-9]+)?", re.ASCII)
_MONEY: Final = re.compile(r"-?[0-9]{1,15}(?:[.,][0-9]+)?(?:\|[A-Z]{3})?", re.ASCII)
_ID: Final = re.compile(r"[0-9]{1,12}", re.ASCII)
_EMAIL: Final = re.compile(r"[^\s@<>]+@[^\s@<>]+|[^@]*<[^\s@<>]+@[^\s@<>]+>")
_DIGIT: Final = re.compile(r"[0-9]", re.ASCII)
_CODE: Final = re.compile(r"[A-Z0-9_:.-]+", re.ASCII)
"""A code of the portal, such as C1:NEW, which says nothing to a person."""
_SHORTEST_PHONE: Final = 2
_ROW_NUMBERS: Final = ("price", "quantity", "discountsum", "discountrate", "taxrate")
_ROW_TITLES: Final = {name: load_lexicon("card_fields").read_titles("row_numbers", name) for name in _ROW_NUMBERS}
_SPANS: Final = (("starttime", "endtime"), ("startdateplan", "enddateplan"), ("from", "to"))


def find_value_problem(call: Call, *, facts: Facts, actor: Actor, effect: Effect) -> Refuse | None:
    """Return a refusal for the first written value of the call that means nothing in its field, or None.

    An undo is not checked: it writes back what the portal itself had.
    """
    if effect.proposed_by == UNDO:
        return None
    for leaf in call.leaves:
        found = next(_find_problems(leaf, facts, actor), None)
        if found is not None:
            return _wrap_command(leaf, found, facts) if call.commands else found
    return None


def _wrap_command(leaf: Call, found: Refuse, facts: Facts) -> Refuse:
    notice = wrap_in_batch(
        "gate-batch-refused",
        found.reason,
        key=leaf.key,
        method=leaf.method,
        about=build_command_label(leaf, facts, why=found.reason.code),
    )
    return Refuse(reason=notice, detail=f"command {leaf.key} ({leaf.method}) of the batch: {found.detail}")


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A written field with everything its check needs; `title` is the field's name for people."""

    call: Call
    value: WrittenValue
    facts: Facts
    title: str
    locale: Locale

    def refuse(self, code: str, item: object, **args: object) -> Refuse:
        """Return the refusal of one single value, `item`, for the reason `code`."""
        shown = escape_text(str(item), locale=self.locale, limit=_SHOWN)
        return refuse(code, field=self.title, param=self.value.name, value=shown, **args)


def _find_problems(call: Call, facts: Facts, actor: Actor) -> Iterator[Refuse]:
    yield from find_text_problems(call, actor)
    values = list(list_written_values(call, facts))
    for value in values:
        title = find_title(call, value, actor.locale)
        place = _Place(call=call, value=value, facts=facts, title=title, locale=actor.locale)
        yield from _CHECKS[value.kind](place)
    yield from _check_order(call, facts, actor, values)


def _check_date(place: _Place) -> Iterator[Refuse]:
    since, until = _find_range(place)
    for item in place.value.items:
        day = parse_day(item)
        if day is None:
            yield place.refuse("gate-value-date", item)
        elif until is not None and not since <= day <= until:
            yield place.refuse("gate-value-year", item, since=_show_day(since, place.locale), until=_show_day(until, place.locale))


def _show_day(day: date, locale: Locale) -> str:
    return day.isoformat() if locale == "en" else f"{day:%d.%m.%Y}"


def _find_range(place: _Place) -> tuple[date, date | None]:
    """Return the first and the last day that make sense in the field; the last is None if the present day is not known."""
    today = place.facts.today
    if today is None:
        return date.min, None
    if place.value.kind == "birthday":
        return date(_FIRST_BIRTH, 1, 1), today
    own = place.value.kind == "own_date"
    return date(_FIRST_BIRTH if own else _FIRST_YEAR, 1, 1), _add_years(today, _OWN_YEARS_AHEAD if own else _YEARS_AHEAD)


def _add_years(day: date, years: int) -> date:
    return date(day.year + years, day.month, min(day.day, monthrange(day.year + years, day.month)[1]))


def parse_day(value: object) -> date | None:
    """Return the day that a value means to the portal, in ISO form or in the form of a Russian or English portal; None for other values."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    if found := _ISO.fullmatch(text):
        return _build_day(found[1], found[2], found[3], found.group(4, 5, 6))
    if found := _RUSSIAN.fullmatch(text):
        return _build_day(found[3], found[2], found[1], found.group(4, 5, 6))
    if found := _AMERICAN.fullmatch(text):  # an English portal writes the month first, a British one the day
        clock = found.group(4, 5, 6)
        return _build_day(found[3], found[1], found[2], clock) or _build_day(found[3], found[2], found[1], clock)
    return None


def _build_day(year: str, month: str, day: str, clock: tuple[str | None, ...]) -> date | None:
    hour, minute, second = (int(part or 0) for part in clock)
    try:
        return datetime(int(year), int(month), int(day), hour, minute, second, tzinfo=UTC).date()
    except ValueError:
        return None


def _check_order(call: Call, facts: Facts, actor: Actor, values: list[WrittenValue]) -> Iterator[Refuse]:
    """Yield a refusal for each time span (such as that of an event) whose end lies before its beginning, if the call writes both."""
    by_key = {fields.to_field_key(value.name, call.entity): value for value in values}
    for first, last in _SPANS:
        if first not in by_key or last not in by_key:
            continue
        begin, end = (_parse_time(by_key[key].value) for key in (first, last))
        if begin is not None and end is not None and (begin.tzinfo is None) == (end.tzinfo is None) and end < begin:
            place = _Place(
                call=call, value=by_key[last], facts=facts, title=find_title(call, by_key[last], actor.locale), locale=actor.locale
            )
            yield place.refuse("gate-value-order", by_key[last].value, begin=find_title(call, by_key[first], actor.locale))


def _parse_time(value: object) -> datetime | None:
    """Return a time in ISO form; None for other forms and for a day without a time, which an event of a whole day has."""
    if not isinstance(value, str) or ":" not in value or _ISO.fullmatch(value.strip()) is None:
        return None
    try:
        return datetime.fromisoformat(value.strip())
    except ValueError:
        return None


def _check_amount(place: _Place) -> Iterator[Refuse]:
    yield from _check_numbers(place, _PLAIN_NUMBER)
    is_row = place.call.entity == "productrow"  # a discount or a return may stand there as a negative price
    yield from _check_range(place, Decimal(0) if not is_row else -LARGEST, LARGEST)


def _check_percent(place: _Place) -> Iterator[Refuse]:
    yield from _check_numbers(place, _PLAIN_NUMBER)
    yield from _check_range(place, Decimal(0), Decimal(100))


def _check_number(place: _Place) -> Iterator[Refuse]:
    own = place.value.field is not None and place.value.field.custom
    yield from _check_numbers(place, _COMMA_NUMBER if own else _PLAIN_NUMBER)


def _check_money(place: _Place) -> Iterator[Refuse]:
    yield from _check_numbers(place, _MONEY)


def _check_numbers(place: _Place, form: re.Pattern[str]) -> Iterator[Refuse]:
    several = place.value.field is not None and place.value.field.multiple
    for item in place.value.items if several or not place.value.items else (place.value.value,):
        if not _is_number(item, form):
            yield place.refuse("gate-value-number", item)


def _is_number(item: object, form: re.Pattern[str]) -> bool:
    if isinstance(item, bool):
        return False
    if isinstance(item, int | float):
        return True
    return isinstance(item, str) and form.fullmatch(item.strip()) is not None


def _check_range(place: _Place, least: Decimal, most: Decimal) -> Iterator[Refuse]:
    number = fields.parse_number(place.value.value)
    if number is None and isinstance(place.value.value, int | float):
        number = Decimal(str(place.value.value))
    if number is not None and not least <= number <= most:
        yield place.refuse("gate-value-range", place.value.value, least=f"{least:f}", most=f"{most:,f}".replace(",", " "))


def _check_rows(place: _Place) -> Iterator[Refuse]:
    """Yield a refusal for each price, quantity or rate of a product row that is no number."""
    for row in place.value.items:
        for name, item in row.items() if isinstance(row, Mapping) else ():
            titles = _ROW_TITLES.get(fields.to_field_key(str(name)))
            if titles is not None and item not in (None, "") and not _is_number(item, _PLAIN_NUMBER):
                yield replace(place, title=titles[place.locale], value=replace(place.value, name=str(name))).refuse(
                    "gate-value-number", item
                )


def _check_user(place: _Place) -> Iterator[Refuse]:
    for item in place.value.items:
        if not _is_id(item):
            yield place.refuse("gate-value-user", item)


def _check_record(place: _Place) -> Iterator[Refuse]:
    for item in place.value.items:
        if not _is_id(item):
            yield place.refuse("gate-value-id", item)


def _is_id(item: object) -> bool:
    return not isinstance(item, bool) and isinstance(item, str | int) and _ID.fullmatch(str(item).strip()) is not None


def _check_flag(place: _Place) -> Iterator[Refuse]:
    for item in place.value.items:
        if str(item) not in _FLAGS:
            yield place.refuse("gate-value-flag", item)


def _check_list(place: _Place) -> Iterator[Refuse]:
    """Yield a refusal for each value that the portal's list of values for the field does not contain."""
    field = place.value.field
    if place.value.kind == "choice":
        known: Mapping[str, str] = field.choices if field is not None else {}
    else:
        known = place.facts.value_lists.get(find_list_key(place.call, place.value, place.facts), {})
    for item in place.value.items if known else ():
        if str(item).strip() not in known and item not in (0, "0"):
            code = "gate-value-stage" if place.value.kind == "stage" else "gate-value-choice"
            yield _refuse_unlisted(place, code, item, known)


def _refuse_unlisted(place: _Place, code: str, item: object, known: Mapping[str, str]) -> Refuse:
    """Return the refusal of the value `item`, which is not in the list `known` (value → name) of the values that the field may have.

    It tells the person the names in this list, and the model the values with their names.
    """
    names = [escape_text(name, locale=place.locale, limit=_SHOWN) for name in known.values()]
    rest = len(names) - _MOST_NAMES
    told = ", ".join(names[:_MOST_NAMES]) + (f" … +{rest}" if rest > 0 else "")
    pairs = ", ".join(f"{value} «{name}»" if value != name else value for value, name in list(known.items())[:_MOST_VALUES])
    found = place.refuse(code, item, known="").reason
    shown = "none" if _CODE.fullmatch(str(item)) else found.args["value"]
    reason = found.model_copy(update={"args": {**found.args, "value": shown, "known": told}})
    return Refuse(reason=reason, detail=format_english(found.model_copy(update={"args": {**found.args, "known": pairs}})))


def _check_contacts(place: _Place) -> Iterator[Refuse]:
    """Yield a refusal for each written e-mail that is no e-mail address, and for each written phone with too few digits."""
    for element in place.value.items:
        parts = {fields.to_field_key(str(key)): item for key, item in element.items()} if isinstance(element, Mapping) else {}
        kind = str(parts.get("typeid") or place.value.name).upper()
        value = str(parts.get("value") or "").strip()
        if kind == "EMAIL" and value and not _EMAIL.fullmatch(value):
            yield place.refuse("gate-value-email", value)
        elif kind == "PHONE" and value and len(_DIGIT.findall(value)) < _SHORTEST_PHONE:
            yield place.refuse("gate-value-phone", value)


_CHECKS: Final[Mapping[ValueKind, Callable[[_Place], Iterator[Refuse]]]] = {
    "date": _check_date,
    "birthday": _check_date,
    "own_date": _check_date,
    "amount": _check_amount,
    "number": _check_number,
    "percent": _check_percent,
    "money": _check_money,
    "user": _check_user,
    "record": _check_record,
    "flag": _check_flag,
    "stage": _check_list,
    "category": _check_list,
    "status": _check_list,
    "choice": _check_list,
    "currency": _check_list,
    "contacts": _check_contacts,
    "rows": _check_rows,
}
