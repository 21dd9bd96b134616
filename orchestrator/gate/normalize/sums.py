"""The sums of a call: their amounts and currencies, and whether one is above a limit. Pure.

Amounts are compared only by the owner's exchange rates, and are never converted in a call. A sum that cannot be parsed or compared counts
as above every limit. If a sum is given with a currency, a new record gets this currency; for an existing record with another currency the
call is refused.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from bitrix.catalogue import names
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.limits import RUBLES, Money
from orchestrator.gate.call.params import build_shape_refusal
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
    """A sum in the form in which it is written or stored; the currency "" means the portal's base currency."""

    value: object
    currency: str = ""

    @property
    def text(self) -> str:
        """The sum as text, for example "30 000 USD"."""
        return f"{self.plain} {self.currency}".strip()

    @property
    def plain(self) -> str:
        """The amount as text, for example "1 000 000" for 1000000.00; a question mark if it cannot be parsed."""
        known = fields.parse_number(self.value)
        return f"{known:,.2f}".removesuffix(".00").replace(",", " ") if known is not None else _UNREADABLE


def find_sum_above(call: Call, limit: Decimal, facts: Facts, *, money: Money = RUBLES, currency: str = "") -> RawSum | None:
    """Return the largest sum of the call that is above `limit`, or None."""
    return find_largest_sum(one for one in collect_sums(call, facts) if _is_above(one, limit, currency or money.currency, money))


def find_largest_sum(sums: Iterable[RawSum]) -> RawSum | None:
    """Return the largest of the sums, or None if there are none. A sum that cannot be parsed counts as the largest."""
    return max(sums, key=_measure, default=None)


def _measure(one: RawSum) -> Decimal:
    number = fields.parse_number(one.value)
    return _ENDLESS if number is None else abs(number)


def _is_above(one: RawSum, limit: Decimal, currency: str, money: Money) -> bool:
    if one.value in _EMPTY:
        return False
    known = fields.parse_number(one.value)
    if known is None:
        return True
    pair = money.convert_pair(abs(known), one.currency, currency)
    return known != 0 if pair is None else pair[0] > limit * pair[1]


def collect_sums(call: Call, facts: Facts) -> Iterator[RawSum]:
    """Yield every sum that limits apply to: those the call writes, the present sum of its record, and the record's sum after the call."""
    record = critical_fields.find_current_record(call, facts)
    now, then = find_currencies(call, record)
    written = list(critical_fields.list_written_amounts(call)) if call.entity != _ROW else []
    yield from (RawSum(value=value, currency=then) for _, value in written)
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
    """Return (present currency of the record's sum, its currency after the call); "" stands for the portal's base currency."""
    now = str(fields.find_value(record, CURRENCY, call.entity) or "") if record is not None else ""
    written = fields.find_value(call.written_fields, CURRENCY, call.entity)
    return now, str(written) if written not in _EMPTY else now


def calculate_row_totals(call: Call, record: JsonObject | None) -> Iterator[object]:
    """Yield the sum that the portal will compute from the product rows that the call writes, as text; "?" if it cannot be computed."""
    written = call.written_fields
    for name, value in written.items():
        if fields.to_field_key(name) in _ROWS:
            yield _calculate_total(value)
    if call.entity != _ROW or call.reads_only or any(fields.to_field_key(name) in _ROWS for name in written):
        return
    here = record if call.spec.verb == "add" else None  # for a change of one row the total of the other rows is unknown
    standing = fields.parse_number(fields.find_value(here or {}, SUM) or 0) if here is not None else None
    row = _calculate_total([written])
    yield _UNREADABLE if standing is None or row in (_UNREADABLE, None) else str(standing + Decimal(row))


def is_sum_recalculated(call: Call, record: JsonObject | None) -> bool:
    """Return whether the call makes the portal recompute the record's sum."""
    return next(calculate_row_totals(call, record), None) is not None or _is_recalculated(call, record)


def _calculate_total(rows: object) -> str:
    """Return the total of price times quantity over the product rows, as text; "?" if any row cannot be parsed."""
    listed = list(rows.values()) if isinstance(rows, Mapping) else rows
    if not isinstance(listed, list | tuple):
        return _UNREADABLE
    total = Decimal(0)
    for row in listed:
        if not isinstance(row, Mapping):
            return _UNREADABLE
        price = fields.parse_number(fields.find_value(row, "PRICE"))
        given = fields.find_value(row, "QUANTITY")
        quantity = Decimal(1) if given in _EMPTY else fields.parse_number(given)
        if price is None or quantity is None:
            return _UNREADABLE
        total += abs(price * quantity)
    return f"{total:f}"


def _is_recalculated(call: Call, record: JsonObject | None) -> bool:
    """Return whether the portal will replace a sum entered by hand by the total of rows that were not read: the sum is unknown."""
    for name, value in call.written_fields.items():
        if fields.to_field_key(name, call.entity) == _MANUAL_SUM_KEY and str(value).upper() not in {"Y", "1", "TRUE"}:
            return call.spec.verb != "add" and not critical_fields.has_value(call, name, value, record)
    return False


def _list_imported_records(call: Call) -> Iterator[JsonObject]:
    if not call.method.lower().endswith("batchimport"):
        return
    listed = call.params.get(_IMPORT_KEY)
    for item in listed.values() if isinstance(listed, Mapping) else listed if isinstance(listed, list) else [listed]:
        yield item if isinstance(item, Mapping) else {SUM: _UNREADABLE}


_WITH_CODE: Final = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,6})?)\|([A-Z]{3})", re.ASCII)
"""Money as the portal writes it in custom fields, and as references `@sum:…` are resolved: 30000|USD."""
_SUM_FIELDS: Final = frozenset({"opportunity", "taxvalue", "discountsum"})
_TEXTS: Final = frozenset({"text", "prose", "multifield"})
_LONGEST: Final = 60


def extract_currencies(call: Call, *, locale: Locale) -> Call:
    """Return `call` with sums such as "30000 USD" as numbers and `named_currencies`. Raises Refusal for one with two meanings."""
    if call.kind != "bitrix":
        return call
    if call.reads_only:
        plain = _strip_conditions(call.params)
        return call if plain == call.params else replace(call, params=plain)
    written = call.written_fields
    fresh: dict[str, object] = {}
    spoken: list[tuple[str, str]] = []
    for name, value in written.items():
        number, currencies = _parse_rows(value, locale) if fields.to_field_key(name) in _ROWS else _parse_field(call, name, value, locale)
        if currencies:
            fresh[name] = number
            spoken.extend((name, currency) for currency in currencies)
    if not fresh:
        return call
    fresh |= _build_new_currency(call, written, spoken[0][1])
    place = call.spec.fields_at
    params = {**call.params, place: {**written, **fresh}} if place else {**call.params, **fresh}
    return replace(call, params=params, named_currencies=tuple(spoken))


def round_sums(call: Call) -> Call:
    """Return `call` with the computed sums of its record in whole cents, as the portal keeps them: a card shows what will stand there.

    A computed sum is a JSON number with a fraction, such as a third of another one; a text is left as somebody wrote it. Prices of product
    rows stay as they are: the portal keeps more of their digits.
    """
    if call.reads_only or call.kind != "bitrix":
        return call
    written = call.written_fields
    fresh = {
        name: float(Decimal(str(value)).quantize(_CENT, ROUND_HALF_UP))
        for name, value in written.items()
        if isinstance(value, float) and abs(value) <= LARGEST and fields.to_field_key(name) in _IN_CENTS
    }
    if all(value == written[name] for name, value in fresh.items()):
        return call
    place = call.spec.fields_at
    return replace(call, params={**call.params, place: {**written, **fresh}} if place else {**call.params, **fresh})


def check_currencies(call: Call, facts: Facts, *, money: Money, text: str) -> Refuse | None:
    """Return a refusal for the first sum that was given in another currency than its record has; None if all agree."""
    for leaf in call.leaves:
        for name, currency in (*leaf.named_currencies, *_find_unsaid_currencies(leaf, text)):
            found = _check_currency(leaf, call, name, currency, facts=facts, money=money, text=text)
            if found is not None:
                return wrap_refusal(leaf, found, facts) if call.commands else found
    return None


def _find_unsaid_currencies(leaf: Call, text: str) -> list[tuple[str, str]]:
    """Return (field, currency) for sums that the call writes as plain numbers although the person's message `text` names a currency.

    This is the currency that the message gives with the same amount. If the amount does not occur in the message, it is the only currency
    of the message, because the amount may have been computed from the sums there. If several currencies are possible, the field is left
    out.
    """
    if leaf.reads_only or leaf.kind != "bitrix" or leaf.named_currencies:
        return []
    bare = [(name, fields.parse_number(value)) for name, value in critical_fields.list_written_amounts(leaf)]
    if not bare or not has_currency(text):
        return []
    own = {number for _, number in leaf.targets}
    named = [found for found, _, _ in find_amounts(text) if found.currency or found.amount not in own]
    pairs: list[tuple[str, str]] = []
    for name, value in bare:
        beside = {found.currency or "" for found in named if found.amount == value} or {found.currency or "" for found in named}
        if len(beside) == 1:  # with two readings the currency is unclear
            pairs.extend((name, currency) for currency in beside if currency and value)
    return pairs


def _check_currency(leaf: Call, call: Call, name: str, named: str, *, facts: Facts, money: Money, text: str) -> Refuse | None:
    record = critical_fields.find_current_record(leaf, facts)
    has = find_currencies(leaf, record)[1].upper()
    if not has and record is None and leaf.unknown_target:
        has = _find_created_currency(leaf, call) if leaf.target_created else "?"
    has = has or money.currency
    if has == named:
        return None
    field = critical_fields.to_field_code(leaf, name)
    if has == "?":
        return refuse("gate-sum-currency-unknown", field=field, named=named)
    if leaf.spec.verb == "add" and not leaf.targets:
        return refuse("gate-sum-two-currencies", field=field, has=has, named=named)
    entity, number = leaf.targets[0] if leaf.targets else (leaf.entity, 0)
    about = {"entity": entity, "id": number, "field": field, "has": has, "named": named}
    written = leaf.written_fields[name]
    counted = not leaf.named_currencies and all(found.amount != fields.parse_number(written) for found, _, _ in find_amounts(text))
    if counted or not _is_of_record(leaf, name):
        return refuse("gate-named-other-currency", **about)
    return refuse("gate-sum-other-currency", sum=RawSum(value=written).plain, **about)


def _is_of_record(leaf: Call, name: str) -> bool:
    """Return whether the field holds the record's own sum: only that can be changed together with its currency."""
    return fields.to_field_key(name) not in _ROWS and fields.find_field_info(leaf.entities.get(leaf.entity), CURRENCY) is not None


def _find_created_currency(leaf: Call, call: Call) -> str:
    """Return the currency of the new record that the command changes, which an earlier one creates; "" if it is given none."""
    keys = {find_reference_key(place) for place in leaf.places.values()}
    return next((find_currencies(command, None)[1].upper() for command in call.commands if command.key in keys), "")


def _build_new_currency(call: Call, written: JsonObject, named: str) -> dict[str, str]:
    """Return {currency field: `named`} for a new record without a currency, which would get the portal's base one; otherwise {}."""
    if call.spec.verb != "add" or fields.find_field_info(call.entities.get(call.entity), CURRENCY) is None:
        return {}
    if fields.find_value(written, CURRENCY, call.entity) not in (None, ""):
        return {}
    in_items = call.method.startswith("crm.item.")
    return {names.to_universal(CURRENCY, call.entity) if in_items else CURRENCY: named}


def _parse_field(call: Call, name: str, value: object, locale: Locale) -> tuple[object, tuple[str, ...]]:
    """Return the value to send and the currencies given with it; custom money fields stay, as they include the currency."""
    if not isinstance(value, str) or names.is_custom_field(name):
        return value, ()
    known = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    if known is not None and known.kind in _TEXTS:
        return value, ()
    found = _parse_field_sum(name, value, locale, is_money=known is not None and known.kind == "money")
    return (_to_number(found.amount), (found.currency,)) if found is not None and found.currency else (value, ())


def _parse_rows(value: object, locale: Locale) -> tuple[object, tuple[str, ...]]:
    if isinstance(value, Mapping):
        pairs = {key: _parse_row(row, locale) for key, row in value.items()}
        return {key: row for key, (row, _) in pairs.items()}, tuple(code for _, codes in pairs.values() for code in codes)
    if not isinstance(value, list | tuple):
        return value, ()
    found = [_parse_row(row, locale) for row in value]
    return [row for row, _ in found], tuple(code for _, codes in found for code in codes)


def _parse_row(row: object, locale: Locale) -> tuple[object, tuple[str, ...]]:
    if not isinstance(row, Mapping):
        return row, ()
    read = {name: _parse_field_sum(name, value, locale) for name, value in row.items() if isinstance(value, str)}
    named = {name: found for name, found in read.items() if found is not None and found.currency}
    fresh = {name: _to_number(found.amount) for name, found in named.items()}
    return {**row, **fresh}, tuple(str(found.currency) for found in named.values())


def _parse_field_sum(name: str, value: str, locale: Locale, *, is_money: bool = False) -> Sum | None:
    """Return the sum in the text `value` of the field `name`; None if the text is a plain number or names no clear sum.

    Only fields for sums are parsed, and with `is_money` any field; a text such as "5000|USD" is parsed in every field. Raises Refusal if
    the text can be understood in several ways and names a currency.
    """
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
    """Return a filter value with sums such as "30000|USD" replaced by their plain numbers, because the portal compares numbers."""
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
