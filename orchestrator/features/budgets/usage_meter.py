"""Measures for reports how much of their limits people have used: changes of the last day, and tokens of the model in this month.

Each measurement reads only what is new since the one before.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Tokens, build_person_key, to_month
from orchestrator.features.budgets.change_counter import JournalChangeCounter
from orchestrator.features.budgets.model_budget import UsageReader, UsageTotals, add_tokens
from orchestrator.gate.call.policy import Policy
from state.journal.async_store import AsyncStore


@dataclass(frozen=True, kw_only=True)
class LimitUse:
    """How much a person has used of the limits, or, of the model, what all people together have used."""

    changes: int
    """Changes to the portal that were begun for the person within the last 24 hours."""
    changes_limit: int | None
    tokens: int
    """Tokens of the model in this month."""
    cost: Decimal | None
    """What they cost; None if the policy has no prices."""
    currency: str
    percent: int | None
    """How much of the person's own budget for the model is used; None without a budget."""


class UsageMeter:
    """Measures the use of limits. One instance per process; its methods raise StoreError."""

    def __init__(self, store: AsyncStore, wall: Callable[[], datetime]) -> None:
        """Read nothing yet; `wall` is the clock that also makes the event ids."""
        self._changes = JournalChangeCounter(store, wall)
        self._usage = UsageReader(store, wall)

    async def catch_up(self, now: datetime) -> None:
        """Read what is new in the journal, so that the next measurement is quick."""
        await self._changes.read_new_events()
        await self._usage.refresh(now)

    async def measure(self, actor: Actor, policy: Policy, now: datetime, *, everybody: bool) -> LimitUse:
        """Return the use of the person; with `everybody` the tokens and their cost are those of all people."""
        changes = sum(change.many for change in await self._changes.list_changes_at(actor, now))
        totals, month = await self._usage.refresh(now), to_month(now, actor.time_zone)
        own = _sum_person(totals, actor, month)
        used = _sum_everybody(totals, month) if everybody else own
        budget = policy.budget
        return LimitUse(
            changes=changes,
            changes_limit=policy.caps.writes_per_day,
            tokens=sum(sum(tokens) for tokens in used.values()),
            cost=budget.calculate_cost(used) if budget.prices else None,
            currency=budget.currency,
            percent=budget.calculate_percent(own, budget.find_limits(actor)),
        )


def _sum_person(totals: UsageTotals, actor: Actor, month: int) -> Mapping[str, Tokens]:
    used: dict[str, Tokens] = {}
    for key in dict.fromkeys((build_person_key(actor.key, actor.bitrix_user_id), actor.key)):
        used = add_tokens(add_tokens(used, totals.sum_by_model(key, month)), totals.sum_estimates(key, month))
    return used


def _sum_everybody(totals: UsageTotals, month: int) -> Mapping[str, Tokens]:
    used: dict[str, Tokens] = {}
    for key in totals.list_people(month):
        used = add_tokens(add_tokens(used, totals.sum_by_model(key, month)), totals.sum_estimates(key, month))
    return used
