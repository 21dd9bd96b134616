"""Sums that were named with a currency: the number goes into its field, the currency is never lost on the way. Ring 2, pure.

A new record gets the currency; over one that is there the sum is refused where the two differ. Nothing is ever converted.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from bitrix import names
from orchestrator.directory.sums import Sum, UnclearSum, find_sums, parse_sum
from orchestrator.directory.text import Locale
from orchestrator.gate import amounts, criticals, fields, part_names
from orchestrator.gate.batch import find_reference_key
from orchestrator.gate.currency import Money
from orchestrator.gate.effects import Call, Facts, Refuse
from orchestrator.gate.params import build_shape_refusal
from orchestrator.gate.reasons import refuse, wrap_in_batch
from orchestrator.gate.targets import get_at_path

_WITH_CODE: Final = re.compile(r"(-?[0-9]{1,15}(?:\.[0-9]{1,6})?)\|([A-Z]{3})", re.ASCII)
"""As the portal writes money in fields of its own, and as `@sum:` answers."""
_SUM_FIELDS: Final = frozenset({"opportunity", "taxvalue", "discountsum"})
_PRICE: Final = "price"
_ROWS: Final = frozenset({"rows", "productrows"})
_TEXTS: Final = frozenset({"text", "prose", "multifield"})
_LONGEST: Final = 60


def extract_currencies(call: Call, *, locale: Locale) -> Call:
    """`call` with bare numbers for such sums, their currencies kept apart in `spoken`; raises Refusal for one with two readings."""
    if call.kind != "bitrix":
        return call
    if call.reads_only:
        plain = _strip_currencies(call.params)
        return call if plain == call.params else replace(call, params=plain)
    written = criticals.extract_written_fields(call)
    fresh: dict[str, Any] = {}
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


def check_currencies(call: Call, facts: Facts, *, money: Money, text: str) -> Refuse | None:
    """The refusal of the first sum whose currency is not that of its record; None where all agree.

    What a model writes as a bare number is looked for in the person's `text`: a currency that stands there beside it counts.
    """
    for leaf in call.leaves:
        for name, currency in (*leaf.named_currencies, *_find_unsaid_currencies(leaf, text)):
            found = _check_currency(leaf, call, name, currency, facts=facts, money=money, text=text)
            if found is not None:
                return _wrap_in_batch(leaf, found, facts) if call.commands else found
    return None


def _wrap_in_batch(leaf: Call, found: Refuse, facts: Facts) -> Refuse:
    """The refusal with the command it belongs to."""
    about = part_names.build_command_label(leaf, facts, why=found.reason.code)
    notice = wrap_in_batch("gate-batch-refused", found.reason, key=leaf.key, method=leaf.method, about=about)
    return Refuse(reason=notice, detail=f"command {leaf.key} ({leaf.method}) of the batch: {found.detail}")


def _find_unsaid_currencies(leaf: Call, text: str) -> list[tuple[str, str]]:
    """Sums written without the currency that the person named with them, or counted from the only one they named."""
    bare = (
        []
        if leaf.reads_only or leaf.kind != "bitrix"
        else [(name, fields.parse_number(value)) for name, value in criticals.list_written_sums(leaf)]
    )
    if leaf.named_currencies or not bare:
        return []
    own = {number for _, number in leaf.targets}
    named = [found for found, _, _ in find_sums(text) if found.currency or found.amount not in own]
    pairs: list[tuple[str, str]] = []
    for name, value in bare:
        beside = {found.currency or "" for found in named if found.amount == value} or {found.currency or "" for found in named}
        if len(beside) == 1:  # with two readings nobody can say
            pairs.extend((name, currency) for currency in beside if currency and value)
    return pairs


def _check_currency(leaf: Call, call: Call, name: str, named: str, *, facts: Facts, money: Money, text: str) -> Refuse | None:
    record = criticals.find_current_record(leaf, facts)
    has = amounts.find_currencies(leaf, record)[1].upper()
    if not has and record is None and leaf.unknown_target:
        has = _find_created_currency(leaf, call) if leaf.target_created else "?"
    has = has or money.currency
    if has == named:
        return None
    field = criticals.to_field_code(leaf, name)
    if has == "?":
        return refuse("gate-sum-currency-unknown", field=field, named=named)
    if leaf.spec.verb == "add" and not leaf.targets:
        return refuse("gate-sum-two-currencies", field=field, has=has, named=named)
    entity, number = leaf.targets[0] if leaf.targets else (leaf.entity, 0)
    about = {"entity": entity, "id": number, "field": field, "has": has, "named": named}
    written = criticals.extract_written_fields(leaf)[name]
    counted = not leaf.named_currencies and all(found.amount != fields.parse_number(written) for found, _, _ in find_sums(text))
    if counted or not _is_of_record(leaf, name):
        return refuse("gate-named-other-currency", **about)
    return refuse("gate-sum-other-currency", sum=amounts.RawSum(value=written).plain, **about)


def _is_of_record(leaf: Call, name: str) -> bool:
    """Whether this is the record's own sum, which may change together with its currency, and no price of a product."""
    return fields.to_field_key(name) not in _ROWS and fields.find_field_info(leaf.entities.get(leaf.entity), amounts.CURRENCY) is not None


def _find_created_currency(leaf: Call, call: Call) -> str:
    """The currency of the record that an earlier command of the batch makes."""
    keys = {find_reference_key(get_at_path(leaf.params, path)) for path in leaf.spec.target}
    return next((amounts.find_currencies(one, None)[1].upper() for one in call.commands if one.key in keys), "")


def _build_new_currency(call: Call, written: Mapping[str, Any], named: str) -> dict[str, str]:
    """What says the currency of a new record that would get the portal's own."""
    if call.spec.verb != "add" or fields.find_field_info(call.entities.get(call.entity), amounts.CURRENCY) is None:
        return {}
    if fields.find_value(written, amounts.CURRENCY, call.entity) not in (None, ""):
        return {}
    in_items = call.method.startswith("crm.item.")
    return {names.to_universal(amounts.CURRENCY, call.entity) if in_items else amounts.CURRENCY: named}


def _parse_field(call: Call, name: str, value: Any, locale: Locale) -> tuple[Any, tuple[str, ...]]:
    """The value as it is to be sent, and the currency that was named with it; the portal's own money fields keep it themselves."""
    if not isinstance(value, str) or names.is_custom_field(name):
        return value, ()
    known = fields.find_field_info(call.entities.get(call.entity), call.spec.stands_for.get(name, name))
    if known is not None and known.kind in _TEXTS:
        return value, ()
    found = _parse_field_sum(name, value, locale, is_money=known is not None and known.kind == "money")
    return (_to_number(found.amount), (found.currency,)) if found is not None and found.currency else (value, ())


def _parse_rows(value: Any, locale: Locale) -> tuple[Any, tuple[str, ...]]:
    """Rows of products with bare prices."""
    if isinstance(value, Mapping):
        pairs = {key: _parse_row(row, locale) for key, row in value.items()}
        return {key: row for key, (row, _) in pairs.items()}, tuple(code for _, codes in pairs.values() for code in codes)
    if not isinstance(value, list | tuple):
        return value, ()
    found = [_parse_row(row, locale) for row in value]
    return [row for row, _ in found], tuple(code for _, codes in found for code in codes)


def _parse_row(row: Any, locale: Locale) -> tuple[Any, tuple[str, ...]]:
    if not isinstance(row, Mapping):
        return row, ()
    read = {name: _parse_field_sum(name, value, locale) for name, value in row.items() if isinstance(value, str)}
    named = {name: found for name, found in read.items() if found is not None and found.currency}
    fresh = {name: _to_number(found.amount) for name, found in named.items()}
    return {**row, **fresh}, tuple(str(found.currency) for found in named.values())


def _parse_field_sum(name: str, value: str, locale: Locale, *, is_money: bool = False) -> Sum | None:
    """The sum behind the text of a field, None where it names no currency."""
    coded = _WITH_CODE.fullmatch(value.strip())
    if coded is not None:
        return Sum(Decimal(coded[1]), coded[2])
    if not (is_money or _is_sum_field(name)) or len(value) > _LONGEST or fields.parse_number(value) is not None:
        return None
    try:
        return parse_sum(value, locale=locale)
    except UnclearSum as unclear:
        if any(one.currency for one in unclear.options):
            raise build_shape_refusal(name, "a plain number with a point before its decimals") from None
        return None


def _is_sum_field(name: str) -> bool:
    key = fields.to_field_key(name)
    return key in _SUM_FIELDS or key.startswith(_PRICE)


def _to_number(amount: Decimal) -> int | float:
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def _strip_currencies(value: Any) -> Any:
    """What is looked for compares with numbers."""
    if isinstance(value, str):
        coded = _WITH_CODE.fullmatch(value)
        return _to_number(Decimal(coded[1])) if coded is not None else value
    if isinstance(value, Mapping):
        return {key: _strip_currencies(item) if _is_compared(str(key), item) else item for key, item in value.items()}
    return [_strip_currencies(item) for item in value] if isinstance(value, list | tuple) else value


def _is_compared(key: str, value: Any) -> bool:
    return not isinstance(value, str) or _is_sum_field(key.lstrip("<>=!@%"))
