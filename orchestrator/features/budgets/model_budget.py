"""Sums from the journal how many tokens of the language model each person used in a month, and applies the monthly budgets.

A person whose budget is nearly used up gets a warning; above the budget, their requests are refused.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.budget import FULL, WARN_AT, Tokens, build_person_key, find_month_start, to_month
from orchestrator.gate.call.gate_deps import PolicySource
from state.clock import SystemClock, build_lower_id, parse_iso
from state.events.budgets import BudgetWarned
from state.events.conversation import ModelAnswered
from state.events.runs import NodeDone
from state.journal.async_store import AsyncStore
from state.journal.store import ClearEvent, Store

TYPES: Final = ("ModelAnswered", "NodeDone", "BudgetWarned")
PAGE: Final = 2000


class UsageTotals:
    """The numbers of tokens used, by person, month and model.

    Memory use grows with the number of people who used the model within the last two months.
    """

    def __init__(self) -> None:
        """Start with no usage."""
        self._used: dict[tuple[str, int], dict[str, Tokens]] = {}
        self._warned: set[tuple[str, int]] = set()

    def add_event(self, event: ClearEvent) -> None:
        """Add one event: the tokens of a `ModelAnswered` or of a run's `NodeDone`, or the warning that a `BudgetWarned` records."""
        if event.type == "BudgetWarned":
            warned = BudgetWarned.from_data(event.data)
            self._warned.add((warned.person, warned.month))
            return
        answer = (ModelAnswered if event.type == ModelAnswered.__name__ else NodeDone).from_data(event.data)
        if isinstance(answer, NodeDone) and not answer.model:
            return
        month = answer.month or to_month(parse_iso(event.ts), "UTC")  # old events do not name the month
        used = self._used.setdefault((build_person_key(event.actor, answer.user), month), {})
        read, written = used.get(answer.model, (0, 0))
        used[answer.model] = read + answer.prompt_tokens, written + answer.completion_tokens

    def sum_by_model(self, person: str, month: int) -> dict[str, Tokens]:
        """Return the tokens that the person used in that month: model → (read, written); {} if they used none."""
        return dict(self._used.get((person, month), {}))

    def list_people(self, month: int) -> list[str]:
        """Return the keys of the people who used the model in that month, sorted."""
        return sorted(person for person, at in self._used if at == month)

    def list_months(self) -> list[int]:
        """Return the months in which anybody used the model, as numbers such as 202611, sorted."""
        return sorted({at for _, at in self._used})

    def has_warning(self, person: str, month: int) -> bool:
        """Whether the person was warned in that month that most of the budget is used."""
        return (person, month) in self._warned

    def discard_before(self, before: int) -> None:
        """Forget the tokens and warnings of the months before `before`, which is a number such as 202611."""
        self._used = {place: used for place, used in self._used.items() if place[1] >= before}
        self._warned = {place for place in self._warned if place[1] >= before}


class UsageReader:
    """Keeps the totals of everybody's token use up to date by reading new events of the journal. One instance per process."""

    def __init__(
        self,
        store: AsyncStore,
        wall: Callable[[], datetime] = lambda: SystemClock().now(),
        *,
        overlap: timedelta = timedelta(seconds=10),
    ) -> None:
        """Start with nothing read.

        `wall` returns the current time; it must be the clock that also makes the event ids. `overlap` is how far back each refresh reads
        events again, because an event of a slow commit by another process may appear late. It may be zero only if a single process writes.
        """
        self._store = store
        self._wall = wall
        self._overlap = overlap
        self._read_to: datetime | None = None
        self._recent: dict[str, datetime] = {}
        """Events within the overlap that were already counted, by id; they are read again and must be skipped."""
        self.totals = UsageTotals()

    async def refresh(self, now: datetime) -> UsageTotals:
        """Read the new events and return the totals. Raises StoreError.

        Months that are over in every time zone at `now` are forgotten.
        """
        wall = self._wall()
        since = find_month_start(wall)
        self.totals.discard_before(to_month(find_month_start(now), "UTC"))
        if self._read_to is not None:
            since = max(since, self._read_to - self._overlap)
        after = build_lower_id(since)
        while True:
            events = await self._store.read(_read_page, after)
            self._count(events, wall)
            if len(events) < PAGE:
                break
            after = events[-1].id
        oldest = wall - 2 * self._overlap
        self._recent = {known: at for known, at in self._recent.items() if at >= oldest}
        self._read_to = wall
        return self.totals

    def _count(self, events: Iterable[ClearEvent], wall: datetime) -> None:
        for event in events:
            if event.id not in self._recent:
                self._recent[event.id] = max(wall, parse_iso(event.ts))
                self.totals.add_event(event)


def _read_page(store: Store, after: str) -> list[ClearEvent]:
    return store.scan_clear(TYPES, after, PAGE)


def sum_since(store: Store, since: datetime) -> UsageTotals:
    """Return the totals of all events from `since` on, for reports; every call reads them from the store. Raises StoreError."""
    totals = UsageTotals()
    after = build_lower_id(since)
    while events := store.scan_clear(TYPES, after, PAGE):
        for event in events:
            totals.add_event(event)
        after = events[-1].id
    return totals


def to_token_counts(used: dict[str, Tokens]) -> dict[str, dict[str, int]]:
    """Return the tokens by model as JSON data: {model: {"input": read, "output": written}}."""
    return {model: {"input": read, "output": written} for model, (read, written) in sorted(used.items())}


class MonthlyModelBudget:
    """Applies the monthly model budgets that the policy (the company's rules) sets for people. One instance per process.

    For a person without a budget it reads nothing from the journal.
    """

    def __init__(self, policies: PolicySource, usage: UsageReader) -> None:
        """Keep the policy source and the usage reader."""
        self._policies = policies
        self._usage = usage
        self._warned: set[tuple[str, int]] = set()
        """Warnings given by this process, which may not be in the journal yet."""

    async def find_refusal(self, actor: Actor, now: datetime) -> Notice | None:
        """Return the message that the budget is used up, if the person has used all of it this month; otherwise None. Raises StoreError."""
        percent = await self._calculate_percent(actor, now)
        return Notice(code="budget-over") if percent is not None and percent >= FULL else None

    async def issue_warning(self, actor: Actor, now: datetime) -> tuple[Notice, BudgetWarned] | None:
        """Return the warning that most of the month's budget is used, and the event that records this warning.

        Return None if the budget is not nearly used, is used up, or if the person was warned this month already. Raises StoreError.
        """
        percent = await self._calculate_percent(actor, now)
        if percent is None or not WARN_AT <= percent < FULL:
            return None
        place = build_person_key(actor.key, actor.bitrix_user_id), to_month(now, actor.time_zone)
        if place in self._warned or self._usage.totals.has_warning(*place):
            return None
        self._warned = {one for one in self._warned if one[1] >= place[1] - 1} | {place}
        return Notice(code="budget-warn", args={"percent": percent}), BudgetWarned(person=place[0], month=place[1], percent=percent)

    async def describe_usage(self, actor: Actor, now: datetime) -> Notice | None:
        """Return the message for /status that tells which percentage of the month's budget is used; None for a person without a limit.

        Raises StoreError.
        """
        percent = await self._calculate_percent(actor, now)
        return None if percent is None else Notice(code="budget-used", args={"percent": percent})

    async def _calculate_percent(self, actor: Actor, now: datetime) -> int | None:
        budget = self._policies.now().budget
        limits = budget.find_limits(actor)
        if budget.calculate_percent({}, limits) is None:
            return None
        return budget.calculate_percent(self._sum_usage(await self._usage.refresh(now), actor, now), limits)

    def _sum_usage(self, totals: UsageTotals, actor: Actor, now: datetime) -> dict[str, tuple[int, int]]:
        """Return the tokens that the person used this month on all their accounts: model → (read, written).

        `totals` are the totals of everybody. Older versions stored events without the person's portal user id; `totals` has their tokens
        under the key of the account, and they are added to the result.
        """
        month = to_month(now, actor.time_zone)
        used = totals.sum_by_model(build_person_key(actor.key, actor.bitrix_user_id), month)
        if actor.bitrix_user_id is not None:
            for model, (read, written) in totals.sum_by_model(actor.key, month).items():
                mine = used.get(model, (0, 0))
                used[model] = mine[0] + read, mine[1] + written
        return used
