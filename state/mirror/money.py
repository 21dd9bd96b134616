"""Sums as whole hundredths, computed from decimal text: floating point would lose the last of them."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Final

_MOST: Final = 2**63 - 1
_HUNDRED: Final = Decimal(100)


def parse_hundredths(value: object) -> int | None:
    """None for what is empty, no number, or too great for a column."""
    if value is None or value == "" or isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
        return _to_column(number * _HUNDRED) if number.is_finite() else None
    except InvalidOperation:
        return None


def _to_column(number: Decimal) -> int | None:
    whole = int(number.to_integral_value(ROUND_HALF_UP))
    return whole if abs(whole) <= _MOST else None


class Converter:
    """Converts hundredths of a currency to those of the base currency, at rates of decimal text."""

    def __init__(self, rates: Mapping[str, str]) -> None:
        self._rates = {currency: Decimal(rate) for currency, rate in rates.items()}

    def convert(self, amount: int | None, currency: str | None) -> int | None:
        rate = self._rates.get(currency or "")
        if amount is None or rate is None:
            return None
        return _to_column(amount * rate)
