"""Limits on changes per batch and per day, counters of changes, and the comparison of sums in different currencies.

Currencies are converted only by the exchange rates that the owner of the portal sets in the policy. Pure, except that a `ChangeCounter` may
read the database.
"""

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
    """The number of changes that one batch may contain."""
    writes_per_day: int | None = Field(default=None, ge=0)
    """The number of changes one person may make within 24 hours; each command of a batch counts, and each new entry of a database."""


class ChangeCounter(Protocol):
    """Counts the changes (writes to the portal) that were begun for a person."""

    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """Return the number of changes begun for this person within the last 24 hours; may raise StoreError."""

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """Return the calls begun for this person within 24 hours, from which a missing count starts; may raise StoreError."""


def count_call_changes(call: Call) -> int:
    """Return how many changes the call makes: 0 for a read, one for each writing command of a batch and each inserted document."""
    return sum(effect_kinds.count_listed(leaf.kind, leaf.method, leaf.params) for leaf in call.leaves if not leaf.reads_only)


def check_caps(call: Call, caps: Caps, facts: Facts) -> Refuse | None:
    """Return the refusal if the call exceeds a limit, else None. A call that only reads never exceeds a limit."""
    many = count_call_changes(call)
    if not many:
        return None
    if call.commands and caps.records_per_batch is not None and many > caps.records_per_batch:
        return refuse("gate-cap-batch", count=many, limit=caps.records_per_batch)
    if caps.writes_per_day is not None and facts.written + many > caps.writes_per_day:
        return build_cap_refusal(many, facts.written, caps.writes_per_day)
    return None


def build_cap_refusal(many: int, made: int, limit: int) -> Refuse:
    """Return the refusal of a call that would exceed the daily limit."""
    return refuse("gate-cap-day", count=many, made=made, limit=limit)


@dataclass(frozen=True, kw_only=True)
class Money:
    """The rules for comparing sums in different currencies.

    `currency` is the currency of sums and limits that are given without one. `rates` says, for each other currency, how much one unit of it
    is worth in `currency`.
    """

    currency: str = "RUB"
    rates: Mapping[str, Decimal] = field(default_factory=dict)

    def convert_pair(self, amount: Decimal, currency: str, other: str) -> tuple[Decimal, Decimal] | None:
        """Return two numbers with which `amount` (in `currency`) can be compared to sums in `other`; None where a rate is missing.

        The first number is `amount`, converted to a common currency. The second is the factor that converts sums in `other` to the same
        currency.
        """
        one, two = currency or self.currency, other or self.currency
        if one == two:
            return amount, Decimal(1)
        rates = self._find_rate(one), self._find_rate(two)
        return None if rates[0] is None or rates[1] is None else (amount * rates[0], rates[1])

    def _find_rate(self, currency: str) -> Decimal | None:
        return Decimal(1) if currency == self.currency else self.rates.get(currency)


RUBLES: Final = Money()
