"""How much may be changed at once and within a day, and who keeps count. Ring 2, pure but for the port.

In which currency limits are meant, and how sums of others are compared with them: by rates that the owner gives. Ring 2, pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Protocol

from pydantic import Field

from orchestrator.domain.actor import Actor
from orchestrator.domain.frozen import Frozen
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import refuse
from state.events.leads import count_recent_changes
from state.journal.daily_count import PastStart


class Caps(Frozen):
    """Where even a person's word does not help any more; null = no limit."""

    records_per_batch: int | None = Field(default=50, ge=1)
    """So many changes one batch may hold."""
    writes_per_day: int | None = Field(default=None, ge=0)
    """So many changes one person may have made within 24 hours, each command of a batch counted."""


class ChangeCounter(Protocol):
    """Counts the changes of a person."""

    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """How many changes were begun for this person within the last 24 hours; may raise StoreError."""
        ...

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """The same one by one, for a database that keeps no count of this person yet; may raise StoreError."""
        ...


class SessionChangeCounter:
    """Counts what was begun in the conversation that asks: enough for one that has no other."""

    async def count_changes(self, actor: Actor, ledger: Ledger) -> int:
        """From the folded state, so nothing is read."""
        return count_session_changes(ledger.state, actor, ledger.now)

    async def list_changes(self, actor: Actor, ledger: Ledger) -> Sequence[PastStart]:
        """Nothing: the folded state knows hours, not calls."""
        del actor, ledger
        return ()


def count_session_changes(state: Mapping[str, Any], actor: Actor, now: datetime) -> int:
    """How many changes of the last 24 hours this conversation's state holds."""
    return count_recent_changes(state, actor.key, now)


def count_call_changes(call: Call) -> int:
    """How many records' changes the call is: one, or as many as its commands make."""
    return sum(not leaf.reads_only for leaf in call.leaves)


def check_caps(call: Call, caps: Caps, facts: Facts) -> Refuse | None:
    """Why the call is too much; None when it is not. Reads never are."""
    many = count_call_changes(call)
    if not many:
        return None
    if call.commands and caps.records_per_batch is not None and many > caps.records_per_batch:
        return refuse("gate-cap-batch", count=many, limit=caps.records_per_batch)
    if caps.writes_per_day is not None and facts.written + many > caps.writes_per_day:
        return build_cap_refusal(many, facts.written, caps.writes_per_day)
    return None


def build_cap_refusal(many: int, made: int, limit: int) -> Refuse:
    """The refusal of so many changes more."""
    return refuse("gate-cap-day", count=many, made=made, limit=limit)


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
