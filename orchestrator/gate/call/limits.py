"""Currencies are converted by the owner's rates alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Protocol

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.frozen import Frozen
from orchestrator.gate.call import effect_kinds
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import refuse
from state.journal.daily_count import PastStart


class Caps(Frozen):
    """Limits that even a person's approval does not lift; None means no limit."""

    records_per_batch: int | None = Field(default=50, ge=1)
    """Changes that one batch may contain."""
    writes_per_day: int | None = Field(default=None, ge=0)
    """Within 24 hours; each command of a batch counts, and each new database entry."""


class ChangeCounter(Protocol):
    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """Within the last 24 hours; may raise StoreError."""

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """From these a missing count starts; may raise StoreError."""


def count_call_changes(call: Call) -> int:
    """0 for a read, one for each writing command of a batch and each inserted document."""
    return sum(effect_kinds.count_listed(leaf.kind, leaf.method, leaf.params) for leaf in call.leaves if not leaf.reads_only)


def check_caps(call: Call, caps: Caps, facts: Facts) -> Refuse | None:
    many = count_call_changes(call)
    if not many:
        return None
    if call.commands and caps.records_per_batch is not None and many > caps.records_per_batch:
        return refuse("gate-cap-batch", count=many, limit=caps.records_per_batch)
    if caps.writes_per_day is not None and facts.written + many > caps.writes_per_day:
        return build_cap_refusal(many, facts.written, caps.writes_per_day)
    return None


def build_cap_refusal(many: int, begun: int, limit: int) -> Refuse:
    return refuse("gate-cap-day", count=many, made=begun, limit=limit)


@dataclass(frozen=True, kw_only=True)
class Money:
    """`currency` is that of sums without one; `rates` says what one unit of another is worth in it."""

    currency: str = "RUB"
    rates: Mapping[str, Decimal] = field(default_factory=dict)

    def convert_pair(self, amount: Decimal, currency: str, other: str) -> tuple[Decimal, Decimal] | None:
        """(`amount`, the factor for sums in `other`), both in one currency; None without a rate."""
        first, second = currency or self.currency, other or self.currency
        if first == second:
            return amount, Decimal(1)
        rates = self._find_rate(first), self._find_rate(second)
        return None if rates[0] is None or rates[1] is None else (amount * rates[0], rates[1])

    def _find_rate(self, currency: str) -> Decimal | None:
        return Decimal(1) if currency == self.currency else self.rates.get(currency)


RUBLES: Final = Money()
