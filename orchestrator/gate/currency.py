"""In which currency limits are meant, and how sums of others are compared with them: by rates that the owner gives. Ring 2, pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Money:
    """In which currency limits are meant that name none, and what one unit of another costs in it."""

    currency: str = "RUB"
    rates: Mapping[str, Decimal] = field(default_factory=dict)

    def convert_pair(self, amount: Decimal, currency: str, other: str) -> tuple[Decimal, Decimal] | None:
        """(`amount`, the factor by which sums in `other` are multiplied) in one currency; None where nobody can say."""
        one, two = currency or self.currency, other or self.currency
        if one == two:
            return amount, Decimal(1)
        rates = self._find_rate(one), self._find_rate(two)
        return None if rates[0] is None or rates[1] is None else (amount * rates[0], rates[1])

    def _find_rate(self, currency: str) -> Decimal | None:
        return Decimal(1) if currency == self.currency else self.rates.get(currency)


RUBLES: Final = Money()
