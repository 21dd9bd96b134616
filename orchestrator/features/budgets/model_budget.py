"""Sums each person's model tokens by month from the journal, and applies the monthly budgets."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import FULL, WARN_AT, Tokens, build_person_key, find_month_start, to_month
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.features.budgets.change_counter import JournalChangeCounter
from orchestrator.gate.call.gate_deps import PolicySource
from orchestrator.gate.call.policy import Policy
from orchestrator.sessions.model_calls import Reservation
from state.clock import SystemClock, build_lower_id, parse_iso
from state.events.budgets import BudgetWarned
from state.events.conversation import ModelAnswered, ModelAsked, ModelFailed
from state.events.runs import NodeDone, NodeFailed
from state.journal.async_store import AsyncStore
from state.journal.pages import iterate_scan
from state.journal.store import ClearEvent, Store

_COSTS: Final[Mapping[str, type[ModelAnswered | ModelFailed | NodeDone | NodeFailed]]] = {
    one.__name__: one for one in (ModelAnswered, ModelFailed, NodeDone, NodeFailed)
}
TYPES: Final = ("ModelAsked", *_COSTS, "BudgetWarned")
PAGE: Final = 2000


@dataclass(slots=True, kw_only=True)
class Estimate:
    place: tuple[str, int]
    model: str
    tokens: Tokens
    is_settled: bool = False
    """The tokens are the true ones, but not yet read from the journal."""
    is_read: bool = False

    @classmethod
    def from_event(cls, event: ModelAsked, actor: str) -> "Estimate":
        place = build_person_key(actor, event.user), event.month
        return cls(place=place, model=event.model, tokens=(event.prompt_tokens, event.completion_tokens))


def add_tokens(tokens: Mapping[str, Tokens], other: Mapping[str, Tokens]) -> dict[str, Tokens]:
    """By model: (read, written)."""
    total = dict(tokens)
    for model, (read, output) in other.items():
        mine = total.get(model, (0, 0))
        total[model] = mine[0] + read, mine[1] + output
    return total


class UsageTotals:
    """Memory grows with the people of the last two months."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, int], dict[str, Tokens]] = {}
        self._warned: set[tuple[str, int]] = set()
        self._open: dict[str, Estimate] = {}
        """Calls without a stored answer, by reservation."""
        self.closed: set[str] = set()
        """Answered or failed since somebody last emptied this set."""

    def add_event(self, event: ClearEvent) -> None:
        """An answer replaces the estimate; a failure takes it back."""
        if event.type == "BudgetWarned":
            warned = BudgetWarned.from_data(event.data)
            self._warned.add((warned.person, warned.month))
            return
        if event.type == "ModelAsked":
            model_asked = ModelAsked.from_data(event.data)
            if model_asked.reservation not in self.closed:
                self._open[model_asked.reservation] = Estimate.from_event(model_asked, event.actor)
            return
        if reservation := event.data.get("reservation"):
            self.closed.add(reservation)
            self._open.pop(reservation, None)
        answer = _COSTS[event.type].from_data(event.data)
        if not isinstance(answer, ModelAnswered) and not answer.model:
            return
        month = answer.month or to_month(parse_iso(event.ts), "UTC")  # old events do not name the month
        used = self._used.setdefault((build_person_key(event.actor, answer.user), month), {})
        read, output = used.get(answer.model, (0, 0))
        used[answer.model] = read + answer.prompt_tokens, output + answer.completion_tokens

    def sum_by_model(self, person: str, month: int) -> dict[str, Tokens]:
        """Without `sum_estimates`: model → (read, written)."""
        return dict(self._used.get((person, month), {}))

    def sum_estimates(self, person: str, month: int, without: Collection[str] = ()) -> dict[str, Tokens]:
        """Calls without a stored answer: model → (read, written)."""
        total: dict[str, Tokens] = {}
        for reservation, estimate in self._open.items():
            if estimate.place == (person, month) and reservation not in without:
                total = add_tokens(total, {estimate.model: estimate.tokens})
        return total

    def list_people(self, month: int) -> list[str]:
        return sorted({person for person, at in self._list_places() if at == month})

    def list_months(self) -> list[int]:
        return sorted({at for _, at in self._list_places()})

    def _list_places(self) -> Iterator[tuple[str, int]]:
        yield from self._used
        yield from (estimate.place for estimate in self._open.values())

    def has_warning(self, person: str, month: int) -> bool:
        return (person, month) in self._warned

    def discard_before(self, before: int) -> None:
        self._used = {place: used for place, used in self._used.items() if place[1] >= before}
        self._warned = {place for place in self._warned if place[1] >= before}
        self._open = {name: estimate for name, estimate in self._open.items() if estimate.place[1] >= before}


class UsageReader:
    """One instance per process."""

    def __init__(
        self,
        store: AsyncStore,
        wall: Callable[[], datetime] = lambda: SystemClock().now(),
        *,
        overlap: timedelta = timedelta(seconds=10),
    ) -> None:
        """`wall` makes the event ids. `overlap` may be zero only if a single process writes."""
        self._store = store
        self._wall = wall
        self._overlap = overlap
        self._read_to: datetime | None = None
        self._recent: dict[str, datetime] = {}
        """Events within the overlap that are counted already."""
        self.totals = UsageTotals()

    async def refresh(self, now: datetime) -> UsageTotals:
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
    """Reads the store at every call. Raises StoreError."""
    totals = UsageTotals()
    for event in iterate_scan(store.scan_clear, TYPES, build_lower_id(since)):
        totals.add_event(event)
    return totals


def to_token_counts(used: dict[str, Tokens]) -> dict[str, dict[str, int]]:
    """As JSON: {model: {"input": read, "output": written}}."""
    return {model: {"input": read, "output": written} for model, (read, written) in sorted(used.items())}


class MonthlyModelBudget:
    """One instance per process. Reads nothing for a person without a budget."""

    def __init__(self, policies: PolicySource, usage: UsageReader) -> None:
        self._policies = policies
        self._usage = usage
        self._warned: set[tuple[str, int]] = set()
        """They may not be in the journal yet."""
        self._reserved: dict[str, Estimate] = {}
        """By reservation: calls under way, and answers that the totals do not have yet."""
        self._changed = asyncio.Event()
        """Set, and replaced, when a reservation ends."""

    async def reserve(self, actor: Actor, now: datetime, model_asked: ModelAsked) -> Reservation | Notice:
        """Set tokens aside, or tell that the budget is used up. Raises StoreError.

        A call alone may begin while any budget is left; others must fit beside it or wait, so that no paid answer is thrown away.
        """
        estimate = Estimate.from_event(model_asked, actor.key)
        while True:
            if not self._has_limit(actor):
                return Reservation(model_asked.reservation)
            changed = self._changed
            used = await self._sum_usage(actor, now)
            budget = self._policies.now().budget  # read last: it may change while the call waits, and while the usage is read
            limits = budget.find_limits(actor)
            others = [other for other in self._reserved.values() if other.place == estimate.place and not other.is_settled]
            if (budget.calculate_percent(used, limits) or 0) < FULL:
                all_at_once = add_tokens(used, {estimate.model: estimate.tokens})
                for other in others:
                    all_at_once = add_tokens(all_at_once, {other.model: other.tokens})
                if not others or (budget.calculate_percent(all_at_once, limits) or 0) < FULL:
                    return self._add_reservation(model_asked.reservation, estimate)
            elif not others:
                return Notice(code="budget-over")
            await changed.wait()

    def _has_limit(self, actor: Actor) -> bool:
        budget = self._policies.now().budget
        return budget.calculate_percent({}, budget.find_limits(actor)) is not None

    def _add_reservation(self, reservation: str, estimate: Estimate) -> "BudgetReservation":
        budget_reservation = BudgetReservation(reservation, self._end_reservation)
        self._reserved[budget_reservation.id] = estimate
        return budget_reservation

    def _end_reservation(self, reservation: str, answer: ModelAnswer | None) -> None:
        """What `answer` cost counts from here until the journal has it."""
        estimate = self._reserved.get(reservation)
        if estimate is None:
            return
        if answer is None or estimate.is_read:
            del self._reserved[reservation]
        else:
            estimate.model, estimate.tokens, estimate.is_settled = answer.model, (answer.prompt_tokens, answer.completion_tokens), True
        self._changed.set()
        self._changed = asyncio.Event()

    async def issue_warning(self, actor: Actor, now: datetime) -> tuple[Notice, BudgetWarned] | None:
        """None if no warning is due, or the person had it this month. Raises StoreError."""
        percent = await self._calculate_percent(actor, now)
        if percent is None or not WARN_AT <= percent < FULL:
            return None
        place = build_person_key(actor.key, actor.bitrix_user_id), to_month(now, actor.time_zone)
        if place in self._warned or self._usage.totals.has_warning(*place):
            return None
        self._warned = {one for one in self._warned if one[1] >= place[1] - 1} | {place}
        return Notice(code="budget-warn", args={"percent": percent}), BudgetWarned(person=place[0], month=place[1], percent=percent)

    async def describe_usage(self, actor: Actor, now: datetime) -> Notice | None:
        """None without a limit. Raises StoreError."""
        percent = await self._calculate_percent(actor, now)
        return None if percent is None else Notice(code="budget-used", args={"percent": percent})

    async def _calculate_percent(self, actor: Actor, now: datetime) -> int | None:
        budget = self._policies.now().budget
        limits = budget.find_limits(actor)
        if budget.calculate_percent({}, limits) is None:
            return None
        return budget.calculate_percent(await self._sum_usage(actor, now), limits)

    async def _sum_usage(self, actor: Actor, now: datetime) -> dict[str, Tokens]:
        """Events of older versions are under the key of the account."""
        totals = await self._usage.refresh(now)
        self._forget_stored(totals, to_month(find_month_start(now), "UTC"))
        month = to_month(now, actor.time_zone)
        people = dict.fromkeys((build_person_key(actor.key, actor.bitrix_user_id), actor.key))
        used: dict[str, Tokens] = {}
        for person in people:
            used = add_tokens(used, totals.sum_by_model(person, month))
            used = add_tokens(used, totals.sum_estimates(person, month, self._reserved))
            for estimate in self._reserved.values():
                if estimate.is_settled and estimate.place == (person, month):
                    used = add_tokens(used, {estimate.model: estimate.tokens})
        return used

    def _forget_stored(self, totals: UsageTotals, before: int) -> None:
        for reservation in totals.closed & self._reserved.keys():
            if self._reserved[reservation].is_settled:
                del self._reserved[reservation]
            else:
                self._reserved[reservation].is_read = True
        totals.closed.clear()
        for reservation, estimate in list(self._reserved.items()):
            if estimate.is_settled and estimate.place[1] < before:  # its answer could not be stored
                del self._reserved[reservation]


class BudgetReservation(Reservation):
    def __init__(self, reservation_id: str, end: Callable[[str, ModelAnswer | None], None]) -> None:
        """`end` gets the id and the answer, None without one."""
        super().__init__(reservation_id)
        self._end = end

    def settle(self, answer: ModelAnswer) -> None:
        self._end(self.id, answer)

    def release(self) -> None:
        self._end(self.id, None)

    def abandon(self) -> None:
        """The journal has a `ModelAsked` without an answer."""
        self._end(self.id, None)


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
