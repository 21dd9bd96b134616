"""Whether a person may still ask the model this month, and when they are told that little is left. Ring 2; the model is not asked here."""

from datetime import datetime

from orchestrator.budgets.usage import UsageReader, UsageTotals
from orchestrator.gate.budget import FULL, WARN_AT, build_person_key, to_month
from orchestrator.gate.live_policy import PolicySource
from orchestrator.messages import Actor, Notice
from state.events_budgets import BudgetWarned


class MonthlyModelBudget:
    """Watches over the budgets of the policy; where nobody has one it reads nothing. One for a process."""

    def __init__(self, policies: PolicySource, usage: UsageReader) -> None:
        """Keep the parts."""
        self._policies = policies
        self._usage = usage
        self._warned: set[tuple[str, int]] = set()
        """By this process, though the journal may not tell of it yet."""

    async def find_refusal(self, actor: Actor, now: datetime) -> Notice | None:
        """Why the model is not asked for this person any more this month, None while it is. Raises StoreError."""
        percent = await self._calculate_percent(actor, now)
        return Notice(code="budget-over") if percent is not None and percent >= FULL else None

    async def issue_warning(self, actor: Actor, now: datetime) -> tuple[Notice, BudgetWarned] | None:
        """What the person is told once a month, and the event that remembers it. Raises StoreError."""
        percent = await self._calculate_percent(actor, now)
        if percent is None or not WARN_AT <= percent < FULL:
            return None
        place = build_person_key(actor.key, actor.bitrix_user_id), to_month(now, actor.time_zone)
        if place in self._warned or self._usage.totals.has_warning(*place):
            return None
        self._warned = {one for one in self._warned if one[1] >= place[1] - 1} | {place}
        return Notice(code="budget-warn", args={"percent": percent}), BudgetWarned(person=place[0], month=place[1], percent=percent)

    async def describe_usage(self, actor: Actor, now: datetime) -> Notice | None:
        """For /status: how much of the month is used; None for who has no limit. Raises StoreError."""
        percent = await self._calculate_percent(actor, now)
        return None if percent is None else Notice(code="budget-used", args={"percent": percent})

    async def _calculate_percent(self, actor: Actor, now: datetime) -> int | None:
        budget = self._policies.now().budget
        limits = budget.find_limits(actor)
        if budget.calculate_percent({}, limits) is None:
            return None
        return budget.calculate_percent(self._sum_usage(await self._usage.refresh(now), actor, now), limits)

    def _sum_usage(self, totals: UsageTotals, actor: Actor, now: datetime) -> dict[str, tuple[int, int]]:
        """What the person used, whatever the account; with what was counted under the bare key before answers named the employee."""
        month = to_month(now, actor.time_zone)
        used = totals.sum_by_model(build_person_key(actor.key, actor.bitrix_user_id), month)
        if actor.bitrix_user_id is not None:
            for model, (read, written) in totals.sum_by_model(actor.key, month).items():
                mine = used.get(model, (0, 0))
                used[model] = mine[0] + read, mine[1] + written
        return used
