"""The portal's price of a product row is the one after its discount: a discount alone would leave what is paid, so code writes both."""

from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import find_current_record
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import PRODUCT_ROW
from state.stored import JsonObject

_PER_CENT: Final = "2"
_AMOUNT: Final = "1"
_WHOLE: Final = Decimal(100)
_CENT: Final = Decimal("0.01")
_KEYS: Final = ("price", "discounttypeid", "discountrate", "discountsum", "taxrate")


def price_discount(call: Call, facts: Facts) -> Call:
    """`call` with the price that its discount leaves of the present one; unchanged where it writes a price or no discount."""
    is_row_change = call.spec.verb == "update" and call.targets[:1] != () and call.targets[0][0] == PRODUCT_ROW
    record = find_current_record(call, facts) if is_row_change and not call.commands else None
    price = _find_price(call.written_fields, record) if record is not None else None
    if price is None:
        return call
    written = {**call.params[call.spec.fields_at], "price": float(price)}
    return replace(call, params={**call.params, call.spec.fields_at: written}, proposed_essence=get_essence(call))


def _find_price(written: JsonObject, record: JsonObject) -> Decimal | None:
    new = {key: value for name, value in written.items() if (key := fields.to_field_key(name)) in _KEYS}
    if "price" in new or not {"discountrate", "discountsum"} & new.keys():
        return None
    old = {key: value for name, value in record.items() if (key := fields.to_field_key(name)) in _KEYS}
    present = fields.parse_number(old.get("price"))
    full = _add_discount(present, old) if present is not None else None
    price = _take_discount(full, {**_forget_other(old, new), **new}) if full is not None else None
    return None if price is None or price == present or price < 0 else price.quantize(_CENT, ROUND_HALF_UP)


def _forget_other(old: JsonObject, new: JsonObject) -> JsonObject:
    """The kind of discount stays unless another is written."""
    return {"taxrate": old.get("taxrate"), "discounttypeid": old.get("discounttypeid") or (_PER_CENT if "discountrate" in new else _AMOUNT)}


def _add_discount(price: Decimal, row: JsonObject) -> Decimal | None:
    """The price without the row's discount; None if that cannot be known."""
    rate, amount = (fields.parse_number(row.get(name)) or Decimal() for name in ("discountrate", "discountsum"))
    if str(row.get("discounttypeid")) == _AMOUNT:
        return None if amount and fields.parse_number(row.get("taxrate")) else price + amount
    return price / (1 - rate / _WHOLE) if rate < _WHOLE else None


def _take_discount(price: Decimal, row: JsonObject) -> Decimal | None:
    rate, amount = (fields.parse_number(row.get(name)) or Decimal() for name in ("discountrate", "discountsum"))
    if str(row.get("discounttypeid")) == _AMOUNT:  # the amount is one without tax
        return None if amount and fields.parse_number(row.get("taxrate")) else price - amount
    return price * (1 - rate / _WHOLE)
