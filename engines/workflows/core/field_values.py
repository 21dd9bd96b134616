"""Compares and computes the values of fields, as the portal and runs write them (S003-X9, S003-X10). Pure.

Which type a field has is not known here: the portal gives numbers as texts, and a field of text may hold digits. So a text counts as a
number only in the one form in which numbers are written; in doubt two values differ, and nothing is computed.
"""

import re
from dataclasses import dataclass
from decimal import Decimal, DecimalException, localcontext
from typing import Any, Final

from engines.workflows.core.results import AtomicOperation
from orchestrator.engines.runs import RunFailed
from orchestrator.expressions.placeholders import format_value
from state.canonical import dumps

_DIGITS: Final = 40
"""How many digits a computed number has at most, and how many zeros before or behind them."""
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII)
_SUM: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]{2}(?:[0-9]{2})?", re.ASCII)
"""A sum or a price as the portal gives it, such as 100.00 and 100.0000."""
_MONEY: Final = re.compile(r"(.+)\|([A-Z]{3})", re.ASCII)
"""A field of money of the company's own: its number and its currency, such as 100|RUB."""
_BEGINS_AS_NUMBER: Final = re.compile(r"\s*[-+.,]*[0-9]")
_FLAGS: Final = {"Y": True, "1": True, "N": False, "0": False}


@dataclass(frozen=True, slots=True)
class _Amount:
    """A number, and its currency if it has one."""

    number: Decimal
    currency: str = ""


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values of a field are the same to the portal; False in cases of doubt.

    All forms of nothing are the same. A JSON number is the same as a text of it, however many zeros its fraction ends with: 100, "100" and
    "100.00". Of two texts only a sum as the portal gives it, with two or four digits behind the point, is the same as another form of its
    number: "100.00" and "100". All other texts are compared as they are, for "007" and "7", "+7" and "7", "1.0" and "1", "1e3" and "1000"
    may be two numbers of articles, phones or addresses. A flag is the same as Y or N, 1 or 0. Lists are the same if their elements are, in
    their order, for the first contact of a deal is the one that counts.
    """
    if _is_empty(one) or _is_empty(other):
        return _is_empty(one) and _is_empty(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same_plain, one, other))
    return _is_same_plain(one, other)


def _is_same_plain(one: Any, other: Any) -> bool:
    """Return whether two values are the same; of lists and objects, whether they are written the same."""
    if isinstance(one, list | dict | None) or isinstance(other, list | dict | None):
        return dumps(one) == dumps(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return _to_flag(one) is not None and _to_flag(one) == _to_flag(other)
    first, second = _read_amount(one), _read_amount(other)
    if first is None or second is None or (isinstance(one, str) and isinstance(other, str) and not _is_sum(one, other)):
        return str(one) == str(other)
    return first == second


def _is_sum(one: str, other: str) -> bool:
    """Return whether one of two texts is written as the portal writes sums, or both name a currency."""
    return bool(_SUM.fullmatch(one) or _SUM.fullmatch(other) or (_MONEY.fullmatch(one) and _MONEY.fullmatch(other)))


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _to_flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _FLAGS.get(str(value))


def _read_amount(value: Any) -> _Amount | None:
    """Return the number that a value is, with its currency; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    money = _MONEY.fullmatch(text)
    written, currency = (money[1], money[2]) if money else (text, "")
    if isinstance(value, str) and not _NUMBER.fullmatch(written):
        return None
    number = Decimal(written)
    return _Amount(number, currency) if number.is_finite() else None


def compute_value(operation: AtomicOperation, before: Any) -> Any:
    """Return the value after an operation such as `+=` on the value before it; texts can only be added to.

    A sum with a currency keeps it. Raises RunFailed if there is nothing to compute with, if two currencies differ, and for a text whose
    digits would be written behind those of a number: nobody means 1000.00500 by adding "500 RUB" to 1000.00.
    """
    operator, change = operation.modify_operator, operation.modify_value
    left, right = _read_amount(_strip(before)), _read_amount(_strip(change))
    if left is not None and right is not None:
        return _compute_amount(operation, left, right)
    is_text = isinstance(before, str | None) and isinstance(change, str)
    if operator == "+=" and is_text and not (left is not None and _is_glued(str(before), change)):
        return f"{format_value(before)}{change}"
    raise refuse_computing(operation)


def _compute_amount(operation: AtomicOperation, left: _Amount, right: _Amount) -> str:
    operator = str(operation.modify_operator)
    if right.currency and (operator not in {"+=", "-="} or right.currency != left.currency):
        raise refuse_computing(operation)
    try:
        with localcontext() as precision:
            precision.prec, precision.Emax, precision.Emin = _DIGITS, _DIGITS, -_DIGITS
            count = {"+=": Decimal.__add__, "-=": Decimal.__sub__, "*=": Decimal.__mul__, "/=": Decimal.__truediv__}[operator]
            number = format(count(left.number, right.number).normalize(), "f")
    except DecimalException:
        raise refuse_computing(operation) from None
    return f"{number}|{left.currency}" if left.currency else number


def _is_glued(before: str, change: str) -> bool:
    """Return whether adding a text to this number would make another number of it, or none of a sum."""
    return bool(_BEGINS_AS_NUMBER.match(change) or _SUM.fullmatch(before.strip()) or _MONEY.fullmatch(before.strip()))


def _strip(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


def refuse_computing(operation: AtomicOperation) -> RunFailed:
    """Return the failure that says that an operation cannot be computed."""
    key = operation.attribute_key or ""
    return RunFailed("workflow-operations-uncomputed", f"{key} {operation.modify_operator} cannot be computed", name=key)
