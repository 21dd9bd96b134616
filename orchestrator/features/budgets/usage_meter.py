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
    """Of one person, or the tokens of all."""

    changes: int
    """Begun within the last 24 hours."""
    changes_limit: int | None
    tokens: int
    cost: Decimal | None
    """None if the policy has no prices."""
    currency: str
    percent: int | None
    """Of the person's own budget; None without one."""


class UsageMeter:
    """One instance per process; methods raise StoreError."""

    def __init__(self, store: AsyncStore, wall: Callable[[], datetime]) -> None:
        """`wall` makes the event ids."""
        self._changes = JournalChangeCounter(store, wall)
        self._usage = UsageReader(store, wall)

    async def catch_up(self, now: datetime) -> None:
        await self._changes.read_new_events()
        await self._usage.refresh(now)

    async def measure(self, actor: Actor, policy: Policy, now: datetime, *, everybody: bool) -> LimitUse:
        """With `everybody` tokens and cost are of all people."""
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
