"""Sums are compared by the owner's rates, never converted; one that cannot be compared is above every limit. Pure.

A given currency becomes a new record's; an existing record in another one refuses the call.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from bitrix.catalogue import names
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.params import build_shape_refusal
from orchestrator.gate.call.policy import RUBLES, Money
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.normalize.batch import find_reference_key, wrap_refusal
from orchestrator.language.money_parser import LARGEST, Sum, UnclearSum, find_amounts, has_currency, parse_sum
from orchestrator.language.text import Locale
from state.stored import JsonObject

SUM: Final = "OPPORTUNITY"
CURRENCY: Final = "CURRENCY_ID"
_UNREADABLE: Final = "?"
_ENDLESS: Final = Decimal("Infinity")
_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
_ROW: Final = "productrow"
_ROWS: Final = frozenset({"rows", "productrows"})
_MANUAL_SUM_KEY: Final = "ismanualopportunity"
_IN_CENTS: Final = frozenset({"opportunity", "taxvalue"})
_CENT: Final = Decimal("0.01")
_IMPORT_KEY: Final = "data"


@dataclass(frozen=True, kw_only=True)
class RawSum:
    """As it is written or stored; "" is the portal's base currency."""

    value: object
    currency: str = ""

    @property
    def text(self) -> str:
        """For example "30 000 USD"."""
        return f"{self.plain} {self.currency}".strip()

    @property
    def plain(self) -> str:
        """For example "1 000 000"; a question mark if it cannot be parsed."""
        known = fields.parse_number(self.value)
        return f"{known:,.2f}".removesuffix(".00").replace(",", " ") if known is not None else _UNREADABLE


def find_sum_above(call: Call, limit: Decimal, facts: Facts, *, money: Money = RUBLES, currency: str = "") -> RawSum | None:
    """The largest that is above `limit`."""
    return find_largest_sum(one for one in collect_sums(call, facts) if _is_above(one, limit, currency or money.currency, money))


def find_largest_sum(sums: Iterable[RawSum]) -> RawSum | None:
    """A sum that cannot be parsed counts as the largest."""
    return max(sums, key=_measure, default=None)


def _measure(raw_sum: RawSum) -> Decimal:
    number = fields.parse_number(raw_sum.value)
    return _ENDLESS if number is None else abs(number)


def _is_above(raw_sum: RawSum, limit: Decimal, currency: str, money: Money) -> bool:
    if raw_sum.value in _EMPTY:
        return False
    known = fields.parse_number(raw_sum.value)
    if known is None:
        return True
    pair = money.convert_pair(abs(known), raw_sum.currency, currency)
    return known != 0 if pair is None else pair[0] > limit * pair[1]


def collect_sums(call: Call, facts: Facts) -> Iterator[RawSum]:
    """Written sums, the record's present one, and its sum after the call."""
    record = critical_fields.find_current_record(call, facts)
    now, then = find_currencies(call, record)
    written_sums = list(critical_fields.list_written_amounts(call)) if call.entity != _ROW else []
    yield from (RawSum(value=value, currency=then) for _, value in written_sums)
    yield from (RawSum(value=total, currency=then) for total in calculate_row_totals(call, record))
    if call.entity != _ROW and _is_recalculated(call, record):
        yield RawSum(value=_UNREADABLE)
    for item in _list_imported_records(call):
        yield RawSum(value=fields.find_value(item, SUM, call.entity), currency=str(fields.find_value(item, CURRENCY, call.entity) or ""))
    if record is None:
        if call.unknown_target and not call.target_created:
            yield RawSum(value=_UNREADABLE)
        return
    standing = fields.find_value(record, SUM, call.entity)
    yield RawSum(value=standing, currency=now)
    if then != now:
        yield RawSum(value=standing, currency=then)


def find_currencies(call: Call, record: JsonObject | None) -> tuple[str, str]:
    """(now, after the call); "" is the portal's base currency."""
    now = str(fields.find_value(record, CURRENCY, call.entity) or "") if record is not None else ""
    new_currency = fields.find_value(call.written_fields, CURRENCY, call.entity)
    return now, str(new_currency) if new_currency not in _EMPTY else now


def calculate_row_totals(call: Call, record: JsonObject | None) -> Iterator[object]:
    """Computed by the portal from written product rows; "?" if it cannot be computed."""
    new_values = call.written_fields
    for name, value in new_values.items():
        if fields.to_field_key(name) in _ROWS:
            yield _calculate_total(value)
    if call.entity != _ROW or call.reads_only or any(fields.to_field_key(name) in _ROWS for name in new_values):
        return
    here = record if call.spec.verb == "add" else None  # for a change of one row the total of the other rows is unknown
    standing = fields.parse_number(fields.find_value(here or {}, SUM) or 0) if here is not None else None
    row = _calculate_total([new_values])
    yield _UNREADABLE if standing is None or row in (_UNREADABLE, None) else str(standing + Decimal(row))


def is_sum_recalculated(call: Call, record: JsonObject | None) -> bool:
    return next(calculate_row_totals(call, record), None) is not None or _is_recalculated(call, record)


def _calculate_total(rows: object) -> str:
    row_list = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(row_list, list | tuple):
        return _UNREADABLE
    total = Decimal(0)
    for row in row_list:
        if not isinstance(row, Mapping):
            return _UNREADABLE
        price = fields.parse_number(fields.find_value(row, "PRICE"))
        row_quantity = fields.find_value(row, "QUANTITY")
        quantity = Decimal(1) if row_quantity in _EMPTY else fields.parse_number(row_quantity)
        if price is None or quantity is None:
            return _UNREADABLE
        total += abs(price * quantity)
    return f"{total:f}"


def _is_recalculated(call: Call, record: JsonObject | None) -> bool:
    """Instead of the sum entered by hand it takes that of rows which were not read: unknown."""
    for name, value in call.written_fields.items():
        if fields.to_field_key(name, call.entity) == _MANUAL_SUM_KEY and str(value).upper() not in {"Y", "1", "TRUE"}:
            return call.spec.verb != "add" and not critical_fields.has_value(call, name, value, record)
    return False


def _list_imported_records(call: Call) -> Iterator[JsonObject]:
    if not call.method.lower().endswith("batchimport"):
        return
    imported = call.params.get(_IMPORT_KEY)
    for item in imported.values() if isinstance(imported, Mapping) else imported if isinstance(imported, list) else [imported]:
        yield item if isinstance(item, Mapping) else {SUM: _UNREADABLE}


_WITH_CODE: Final = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,6})?)\|([A-Z]{3})", re.ASCII)
"""30000|USD: in custom fields, and from references `@sum:…`."""
_SUM_FIELDS: Final = frozenset({"opportunity", "taxvalue", "discountsum"})
_TEXTS: Final = frozenset({"text", "prose", "multifield"})
_LONGEST: Final = 60


def extract_currencies(call: Call, *, locale: Locale) -> Call:
    """The text "30000 USD" becomes a number and a `named_currencies`. Raises Refusal for a sum with two meanings."""
    if call.kind != "bitrix":
        return call
    if call.reads_only:
        plain = _strip_conditions(call.params)
        return call if plain == call.params else replace(call, params=plain)
    new_values = call.written_fields
    fresh: dict[str, object] = {}
    spoken: list[tuple[str, str]] = []
    for name, value in new_values.items():
        number, currencies = _parse_rows(value, locale) if fields.to_field_key(name) in _ROWS else _parse_field(call, name, value, locale)
        if currencies:
            fresh[name] = number
            spoken.extend((name, currency) for currency in currencies)
    if not fresh:
        return call
    fresh |= _build_new_currency(call, new_values, spoken[0][1])
    place = call.spec.fields_at
    params = {**call.params, place: {**new_values, **fresh}} if place else {**call.params, **fresh}
    return replace(call, params=params, named_currencies=tuple(spoken))


def round_sums(call: Call) -> Call:
    """Computed sums (JSON numbers with a fraction) in whole cents, as the portal keeps them: a card shows what will stand there."""
    if call.reads_only or call.kind != "bitrix":
        return call
    new_values = call.written_fields
    fresh = {
        name: float(Decimal(str(value)).quantize(_CENT, ROUND_HALF_UP))
        for name, value in new_values.items()
        if isinstance(value, float) and abs(value) <= LARGEST and fields.to_field_key(name) in _IN_CENTS
    }
    if all(value == new_values[name] for name, value in fresh.items()):
        return call
    place = call.spec.fields_at
    return replace(call, params={**call.params, place: {**new_values, **fresh}} if place else {**call.params, **fresh})


def check_currencies(call: Call, facts: Facts, *, money: Money, text: str) -> Refuse | None:
    """A sum was given in another currency than its record has."""
    for leaf in call.leaves:
        for name, currency in (*leaf.named_currencies, *_find_unsaid_currencies(leaf, text)):
            refusal = _check_currency(leaf, call, name, currency, facts=facts, money=money, text=text)
            if refusal is not None:
                return wrap_refusal(leaf, refusal, facts) if call.commands else refusal
    return None


def _find_unsaid_currencies(leaf: Call, text: str) -> list[tuple[str, str]]:
    """(field, currency) of plain numbers for which the person's message names a currency.

    That of the same amount, or else the only one of the message.
    """
    if leaf.reads_only or leaf.kind != "bitrix" or leaf.named_currencies:
        return []
    bare = [(name, fields.parse_number(value)) for name, value in critical_fields.list_written_amounts(leaf)]
    if not bare or not has_currency(text):
        return []
    own = {number for _, number in leaf.targets}
    sums_in_text = [found for found, _, _ in find_amounts(text) if found.currency or found.amount not in own]
    pairs: list[tuple[str, str]] = []
    for name, value in bare:
        beside = {found.currency or "" for found in sums_in_text if found.amount == value} or {
            found.currency or "" for found in sums_in_text
        }
        if len(beside) == 1:  # with two readings the currency is unclear
            pairs.extend((name, currency) for currency in beside if currency and value)
    return pairs


def _check_currency(leaf: Call, call: Call, name: str, currency: str, *, facts: Facts, money: Money, text: str) -> Refuse | None:
    record = critical_fields.find_current_record(leaf, facts)
    has = find_currencies(leaf, record)[1].upper()
    if not has and record is None and leaf.unknown_target:
        has = _find_created_currency(leaf, call) if leaf.target_created else "?"
    has = has or money.currency
    if has == currency:
        return None
    field = critical_fields.to_field_code(leaf, name)
    if has == "?":
        return refuse("gate-sum-currency-unknown", field=field, named=currency)
    if leaf.spec.verb == "add" and not leaf.targets:
        return refuse("gate-sum-two-currencies", field=field, has=has, named=currency)
    entity, number = leaf.targets[0] if leaf.targets else (leaf.entity, 0)
    about = {"entity": entity, "id": number, "field": field, "has": has, "named": currency}
    new_value = leaf.written_fields[name]
    counted = not leaf.named_currencies and all(found.amount != fields.parse_number(new_value) for found, _, _ in find_amounts(text))
    if counted or not _is_of_record(leaf, name):
        return refuse("gate-named-other-currency", **about)
    return refuse("gate-sum-other-currency", sum=RawSum(value=new_value).plain, **about)


def _is_of_record(leaf: Call, name: str) -> bool:
    """Only the record's own sum can be changed together with its currency."""
    return fields.to_field_key(name) not in _ROWS and fields.find_field_info(leaf.entities.get(leaf.entity), CURRENCY) is not None


def _find_created_currency(leaf: Call, call: Call) -> str:
    keys = {find_reference_key(place) for place in leaf.places.values()}
    return next((find_currencies(command, None)[1].upper() for command in call.commands if command.key in keys), "")


def _build_new_currency(call: Call, new_values: JsonObject, currency: str) -> dict[str, str]:
    """A new record without a currency would get the portal's base one."""
    if call.spec.verb != "add" or fields.find_field_info(call.entities.get(call.entity), CURRENCY) is None:
        return {}
    if fields.find_value(new_values, CURRENCY, call.entity) not in (None, ""):
        return {}
    in_items = call.method.startswith("crm.item.")
    return {names.to_universal(CURRENCY, call.entity) if in_items else CURRENCY: currency}


def _parse_field(call: Call, name: str, value: object, locale: Locale) -> tuple[object, tuple[str, ...]]:
    if not isinstance(value, str) or names.is_custom_field(name):
        return value, ()
    known = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    if known is not None and known.kind in _TEXTS:
        return value, ()
    parsed = _parse_field_sum(name, value, locale, is_money=known is not None and known.kind == "money")
    return (_to_number(parsed.amount), (parsed.currency,)) if parsed is not None and parsed.currency else (value, ())


def _parse_rows(value: object, locale: Locale) -> tuple[object, tuple[str, ...]]:
    if isinstance(value, Mapping):
        pairs = {key: _parse_row(row, locale) for key, row in value.items()}
        return {key: row for key, (row, _) in pairs.items()}, tuple(code for _, codes in pairs.values() for code in codes)
    if not isinstance(value, list | tuple):
        return value, ()
    parsed_rows = [_parse_row(row, locale) for row in value]
    return [row for row, _ in parsed_rows], tuple(code for _, codes in parsed_rows for code in codes)


def _parse_row(row: object, locale: Locale) -> tuple[object, tuple[str, ...]]:
    if not isinstance(row, Mapping):
        return row, ()
    read = {name: _parse_field_sum(name, value, locale) for name, value in row.items() if isinstance(value, str)}
    with_currency = {name: found for name, found in read.items() if found is not None and found.currency}
    fresh = {name: _to_number(found.amount) for name, found in with_currency.items()}
    return {**row, **fresh}, tuple(str(found.currency) for found in with_currency.values())


def _parse_field_sum(name: str, value: str, locale: Locale, *, is_money: bool = False) -> Sum | None:
    """None if the text is a plain number or names no clear sum. Raises Refusal if it names a currency and is ambiguous."""
    coded = _WITH_CODE.fullmatch(value.strip())
    if coded is not None:
        return Sum(Decimal(coded[1]), coded[2])
    if not (is_money or _is_sum_field(name)) or len(value) > _LONGEST or fields.parse_number(value) is not None:
        return None
    try:
        return parse_sum(value, locale=locale)
    except UnclearSum as unclear:
        if any(option.currency for option in unclear.options):
            raise build_shape_refusal(name, "a plain number with a point before its decimals") from None
        return None


def _is_sum_field(name: str) -> bool:
    key = fields.to_field_key(name)
    return key in _SUM_FIELDS or key.startswith("price")


def _to_number(amount: Decimal) -> int | float:
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _strip_currencies(value: object) -> object:
    """The portal compares numbers, so "30000|USD" becomes 30000."""
    if isinstance(value, str):
        coded = _WITH_CODE.fullmatch(value)
        return _to_number(Decimal(coded[1])) if coded is not None else value
    if isinstance(value, Mapping):
        return _strip_conditions(value)
    return [_strip_currencies(item) for item in value] if isinstance(value, list | tuple) else value


def _strip_conditions(conditions: JsonObject) -> dict[str, object]:
    return {key: _strip_currencies(item) if _is_compared(str(key), item) else item for key, item in conditions.items()}


def _is_compared(key: str, value: object) -> bool:
    return not isinstance(value, str) or _is_sum_field(key.lstrip("<>=!@%"))
