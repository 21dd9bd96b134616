"""The portal's price of a product row is the one after its discount, and the portal lowers nothing by itself.

For a discount alone code writes the price that it leaves. A price beside a discount may be meant before or after it: it must say which.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from orchestrator.gate.call import fields, replaced_lists
from orchestrator.gate.call.critical_fields import find_current_record
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.list_comparison import compare_lists
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import PRODUCT_ROW
from orchestrator.gate.normalize import batch
from orchestrator.gate.normalize.merge_multifields import walk_commands
from orchestrator.gate.normalize.sums import RawSum
from state.stored import JsonObject

_AMOUNT: Final = "1"
_PER_CENT: Final = "2"
_WHOLE: Final = Decimal(100)
_CENT: Final = Decimal("0.01")
_DISCOUNT: Final = frozenset({"discountrate", "discountsum"})
_CHANGING: Final = _DISCOUNT | {"price"}
_TERMS: Final = _CHANGING | {"discounttypeid", "taxrate"}
_LONGEST: Final = 60
_NOT: Final = "none"


def price_discount(call: Call, facts: Facts) -> Call:
    """`call` with the price that its discount leaves of the present one; unchanged where it writes a price or no discount."""
    leaves = tuple(_price_row(leaf, then) for leaf, then in walk_commands(call, facts))
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def find_discount_problem(call: Call, facts: Facts) -> Refuse | None:
    """A row with a discount must say its price after it, and a written price that it is that one: by a rate and a sum that fit it."""
    for leaf, then in walk_commands(call, facts):
        problem = next((found for row, old in _list_rows(leaf, then) if (found := _check_row(row, old)) is not None), None)
        if problem is not None:
            return batch.wrap_refusal(leaf, problem, facts) if call.commands else problem
    return None


def _price_row(call: Call, facts: Facts) -> Call:
    record = find_current_record(call, facts) if _changes_row(call) else None
    written = _read_terms(call.written_fields)
    if record is None or "price" in written or not written.keys() & _DISCOUNT:
        return call
    present = _read_terms(record)
    price = _find_price(written, present)
    if price is None or price == fields.parse_number(present.get("price")):
        return call
    return replace(call, params={**call.params, call.spec.fields_at: {**call.params[call.spec.fields_at], "price": float(price)}})


def _changes_row(call: Call) -> bool:
    return call.spec.verb == "update" and call.targets[:1] != () and call.targets[0][0] == PRODUCT_ROW


def _list_rows(call: Call, facts: Facts) -> Iterator[tuple[JsonObject, JsonObject]]:
    """Each written row with what it was, which is empty for a new one."""
    record = find_current_record(call, facts)
    if _changes_row(call):
        kept = {name: value for name, value in (record or {}).items() if fields.to_field_key(name) not in _CHANGING}
        yield {**kept, **call.written_fields}, record or {}
        return
    change = None if call.reads_only else replaced_lists.find_list_change(call, record)
    if change is None or change.kind != "products":
        return
    if change.is_partial:
        yield {"price": None, **replaced_lists.find_written_element(call)}, {}
        return
    difference = compare_lists(change.old or [], change.new, change.kind)
    for old, row in [*(({}, row) for row in difference.added), *difference.changed]:
        yield {"price": None, **row}, old


def _check_row(row: JsonObject, old: JsonObject) -> Refuse | None:
    new, present = _read_terms(row), _read_terms(old)
    if not any(_read_discount(new)) or all(_read(new, name) == _read(present, name) for name in _CHANGING if name in new):
        return None
    price, expected = fields.parse_number(new.get("price")), _find_price(new, present)
    if price is None:
        is_kept = "price" not in new and expected is not None
        return None if is_kept else refuse("gate-row-price", product=_find_name(row), discount=_show_discount(new))
    if price in (0, expected) or _is_complete(new, price):
        return None
    left = _take_discount(price, new)
    before = None if left is None or left < 0 else left
    return refuse(
        "gate-row-discount",
        product=_find_name(row),
        price=RawSum(value=price).plain,
        discount=_show_discount(new),
        left=_NOT if before is None else RawSum(value=before).plain,
        before=_describe(before, new),
        after=_describe(price, new),
    )


def _is_complete(row: JsonObject, price: Decimal) -> bool:
    """Rate and sum are there, and each is what the other makes of the price, to its last digit."""
    rate, amount = _read_discount(row)
    bare = _take_tax(price, row)
    if not rate or not amount or rate >= _WHOLE:
        return False
    return _round(bare * rate / (_WHOLE - rate)) == _round(amount) or _round(amount / (bare + amount) * _WHOLE) == _round(rate)


def _describe(price: Decimal | None, row: JsonObject) -> str:
    """The complete row that is paid with `price`."""
    rate, amount = _read_discount(row)
    bare = Decimal() if price is None else _take_tax(price, row)
    if price is None or (_is_amount(row) and not bare + amount) or (not _is_amount(row) and rate >= _WHOLE):
        return _NOT
    if _is_amount(row):
        rate = amount / (bare + amount) * _WHOLE
    else:
        amount = bare * rate / (_WHOLE - rate)
    kind = _AMOUNT if _is_amount(row) else _PER_CENT
    return f"price {_round(price):f}, discountTypeId {kind}, discountRate {_round(rate):f}, discountSum {_round(amount):f}"


def _show_discount(row: JsonObject) -> str:
    rate, amount = _read_discount(row)
    return RawSum(value=amount).plain if _is_amount(row) else f"{RawSum(value=rate).plain} %"


def _find_name(row: JsonObject) -> str:
    return escape_text(str(replaced_lists.find_row_value(row, "productname") or ""), limit=_LONGEST) or _NOT


def _find_price(new: JsonObject, old: JsonObject) -> Decimal | None:
    """What the new discount leaves of the present row's price without its own."""
    present = fields.parse_number(old.get("price"))
    full = _add_discount(present, old) if present is not None else None
    kind = {"taxrate": old.get("taxrate"), "discounttypeid": old.get("discounttypeid") or new.get("discounttypeid")}
    price = _take_discount(full, {**{name: value for name, value in kind.items() if value}, **new}) if full is not None else None
    return None if price is None or price < 0 else _round(price)


def _add_discount(price: Decimal, row: JsonObject) -> Decimal | None:
    """The price without the row's discount; None if that cannot be known."""
    rate, amount = _read_discount(row)
    if _is_amount(row):
        return None if amount and _read(row, "taxrate") else price + amount
    return price / (1 - rate / _WHOLE) if rate < _WHOLE else None


def _take_discount(price: Decimal, row: JsonObject) -> Decimal | None:
    rate, amount = _read_discount(row)
    if _is_amount(row):  # the amount is one without tax
        return None if amount and _read(row, "taxrate") else price - amount
    return price * (1 - rate / _WHOLE)


def _take_tax(price: Decimal, row: JsonObject) -> Decimal:
    return price / (1 + _read(row, "taxrate") / _WHOLE)


def _is_amount(row: JsonObject) -> bool:
    """A kind that fits nothing that is given counts as none."""
    rate, amount = _read_discount(row)
    return bool(amount) and (not rate or str(row.get("discounttypeid")) == _AMOUNT)


def _read_terms(row: JsonObject) -> JsonObject:
    return {key: value for name, value in row.items() if (key := fields.to_field_key(name)) in _TERMS}


def _read_discount(row: JsonObject) -> tuple[Decimal, Decimal]:
    return _read(row, "discountrate"), _read(row, "discountsum")


def _read(row: JsonObject, name: str) -> Decimal:
    return fields.parse_number(row.get(name)) or Decimal()


def _round(number: Decimal) -> Decimal:
    return number.quantize(_CENT, ROUND_HALF_UP)
