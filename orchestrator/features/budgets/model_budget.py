"""Sums from the journal how many tokens of the language model each person used in a month, and applies the monthly budgets.

A person whose budget is nearly used up gets a warning; above the budget, their requests are refused.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import FULL, WARN_AT, Tokens, build_person_key, find_month_start, to_month
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.gate_deps import PolicySource
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
    """What one call of the model is taken to cost, and whose budget of which month pays for it."""

    place: tuple[str, int]
    model: str
    tokens: Tokens
    is_settled: bool = False
    """Whether the tokens are what the call did cost, and only wait to be read from the journal."""
    is_read: bool = False
    """Whether the answer was read from the journal before the call was settled."""

    @classmethod
    def from_event(cls, asked: ModelAsked, actor: str) -> "Estimate":
        """Return the estimate of a `ModelAsked` of this account."""
        place = build_person_key(actor, asked.user), asked.month
        return cls(place=place, model=asked.model, tokens=(asked.prompt_tokens, asked.completion_tokens))


def add_tokens(one: Mapping[str, Tokens], other: Mapping[str, Tokens]) -> dict[str, Tokens]:
    """Return the sums of both by model: model → (read, written)."""
    total = dict(one)
    for model, (read, written) in other.items():
        mine = total.get(model, (0, 0))
        total[model] = mine[0] + read, mine[1] + written
    return total


class UsageTotals:
    """The numbers of tokens used, by person, month and model.

    Memory use grows with the number of people who used the model within the last two months.
    """

    def __init__(self) -> None:
        """Start with no usage."""
        self._used: dict[tuple[str, int], dict[str, Tokens]] = {}
        self._warned: set[tuple[str, int]] = set()
        self._open: dict[str, Estimate] = {}
        """What calls without a stored answer are taken to cost, by reservation: they are under way, or a crash or a stop has ended them."""
        self.closed: set[str] = set()
        """The reservations whose answer or failure was added since somebody last emptied this set."""

    def add_event(self, event: ClearEvent) -> None:
        """Add one event.

        It is the estimate of a `ModelAsked`, the tokens of a `ModelAnswered` or of a run's `NodeDone` in place of the estimate, a failure
        (`ModelFailed`, `NodeFailed`) that takes the estimate back and may have cost tokens, or the warning that a `BudgetWarned` records.
        """
        if event.type == "BudgetWarned":
            warned = BudgetWarned.from_data(event.data)
            self._warned.add((warned.person, warned.month))
            return
        if event.type == "ModelAsked":
            asked = ModelAsked.from_data(event.data)
            if asked.reservation not in self.closed:
                self._open[asked.reservation] = Estimate.from_event(asked, event.actor)
            return
        if reservation := event.data.get("reservation"):
            self.closed.add(reservation)
            self._open.pop(reservation, None)
        answer = _COSTS[event.type].from_data(event.data)
        if not isinstance(answer, ModelAnswered) and not answer.model:
            return
        month = answer.month or to_month(parse_iso(event.ts), "UTC")  # old events do not name the month
        used = self._used.setdefault((build_person_key(event.actor, answer.user), month), {})
        read, written = used.get(answer.model, (0, 0))
        used[answer.model] = read + answer.prompt_tokens, written + answer.completion_tokens

    def sum_by_model(self, person: str, month: int) -> dict[str, Tokens]:
        """Return the tokens that the person used in that month: model → (read, written); {} if they used none.

        Calls without a stored answer are not in it, see `sum_estimates`.
        """
        return dict(self._used.get((person, month), {}))

    def sum_estimates(self, person: str, month: int, without: Collection[str] = ()) -> dict[str, Tokens]:
        """Return what the person's calls without a stored answer are taken to cost: model → (read, written).

        Calls whose reservations are in `without` are left out.
        """
        found: dict[str, Tokens] = {}
        for reservation, estimate in self._open.items():
            if estimate.place == (person, month) and reservation not in without:
                found = add_tokens(found, {estimate.model: estimate.tokens})
        return found

    def list_people(self, month: int) -> list[str]:
        """Return the keys of the people who used the model in that month, sorted."""
        return sorted({person for person, at in self._list_places() if at == month})

    def list_months(self) -> list[int]:
        """Return the months in which anybody used the model, as numbers such as 202611, sorted."""
        return sorted({at for _, at in self._list_places()})

    def _list_places(self) -> Iterator[tuple[str, int]]:
        yield from self._used
        yield from (estimate.place for estimate in self._open.values())

    def has_warning(self, person: str, month: int) -> bool:
        """Whether the person was warned in that month that most of the budget is used."""
        return (person, month) in self._warned

    def discard_before(self, before: int) -> None:
        """Forget the tokens and warnings of the months before `before`, which is a number such as 202611."""
        self._used = {place: used for place, used in self._used.items() if place[1] >= before}
        self._warned = {place for place in self._warned if place[1] >= before}
        self._open = {name: estimate for name, estimate in self._open.items() if estimate.place[1] >= before}


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
    for event in iterate_scan(store.scan_clear, TYPES, build_lower_id(since)):
        totals.add_event(event)
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
        self._reserved: dict[str, Estimate] = {}
        """The calls that this process has under way, and those whose answers are not in the totals yet, by reservation."""
        self._changed = asyncio.Event()
        """Set, and replaced, when a reservation ends."""

    async def reserve(self, actor: Actor, now: datetime, asked: ModelAsked) -> Reservation | Notice:
        """Set aside the tokens of `asked` for one call, or return the message that the budget is used up. Raises StoreError.

        A call alone may begin while any of the budget is left. Further calls of the person at the same time must fit into what the others
        have left; one that does not fit waits until one of them ends. The message, too, comes only when none is under way, so that an
        engine that gives up throws no paid answer away. Calls of other processes count as soon as their `ModelAsked` is stored.
        """
        estimate = Estimate.from_event(asked, actor.key)
        while True:
            if not self._has_limit(actor):
                return Reservation(asked.reservation)
            changed = self._changed
            used = await self._sum_usage(actor, now)
            budget = self._policies.now().budget  # read last: it may change while the call waits, and while the usage is read
            limits = budget.find_limits(actor)
            others = [one for one in self._reserved.values() if one.place == estimate.place and not one.is_settled]
            if (budget.calculate_percent(used, limits) or 0) < FULL:
                all_at_once = add_tokens(used, {estimate.model: estimate.tokens})
                for one in others:
                    all_at_once = add_tokens(all_at_once, {one.model: one.tokens})
                if not others or (budget.calculate_percent(all_at_once, limits) or 0) < FULL:
                    return self._add_reservation(asked.reservation, estimate)
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
        """End a reservation. What `answer` cost counts from here until it is read from the journal; None for a call without an answer."""
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
        return budget.calculate_percent(await self._sum_usage(actor, now), limits)

    async def _sum_usage(self, actor: Actor, now: datetime) -> dict[str, Tokens]:
        """Return the tokens that the person used this month on all their accounts: model → (read, written).

        With them count the estimates of calls without a stored answer, except those that this process has under way. Older versions stored
        events without the person's portal user id; the totals have their tokens under the key of the account, and they are added too.
        """
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
        """Forget the settled calls whose answers the totals have, and those of the months before `before`."""
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
    """A reservation in the books of `MonthlyModelBudget`."""

    def __init__(self, reservation_id: str, end: Callable[[str, ModelAnswer | None], None]) -> None:
        """Create a reservation; `end` is called with the id and the answer, None without one, when it ends."""
        super().__init__(reservation_id)
        self._end = end

    def settle(self, answer: ModelAnswer) -> None:
        """Replace the estimate by what the answer cost."""
        self._end(self.id, answer)

    def release(self) -> None:
        """Give the tokens back."""
        self._end(self.id, None)

    def abandon(self) -> None:
        """Leave the estimate to the journal, which has a `ModelAsked` without an answer."""
        self._end(self.id, None)
