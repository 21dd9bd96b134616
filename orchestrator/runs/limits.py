"""Holds a run to its engine's limits, in front of the person's monthly budget."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import Budget, Tokens
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import RunLimits
from orchestrator.sessions.model_calls import ModelBudget, Reservation
from state.clock import parse_iso
from state.events.base import Event
from state.events.conversation import ModelAsked
from state.events.runs import WHOLE

RETRY: Final = "retry"
"""The `by` of a RunWoken event when a person retries the run."""
_ENDS: Final = frozenset({"NodeDone", "NodeFailed", "ModelAnswered", "ModelFailed"})
_PEOPLE: Final = frozenset({"input", "effect", "pause"})
"""Waits that end when a person decides."""


class RunUsage:
    """Tokens by model, and time, since the run's start or last retry.

    A call without a stored answer counts with its estimate: it may be paid.
    """

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, Tokens]] = {}
        """Model and tokens by reservation."""
        self._closed: set[str] = set()
        self._begun_at: datetime | None = None
        self._waiting: set[str] = set()
        """Nodes that wait for people."""
        self._waits_since: datetime | None = None
        self._waited = timedelta()

    def add_event(self, kind: str, data: Mapping[str, Any], ts: str) -> None:
        """Each event once and in order; calls counted already stay as they are."""
        if kind == "RunStarted" or (kind == "RunWoken" and data["node"] == WHOLE and data["by"] == RETRY):
            self._begin(parse_iso(ts))
        elif kind == "ModelAsked":
            self.reserve(ModelAsked.from_data(data))
        elif kind in _ENDS and data.get("reservation"):
            self._close(data["reservation"], data.get("model", ""), (data.get("prompt_tokens", 0), data.get("completion_tokens", 0)))
        if kind == "RunWaits" and data.get("on") in _PEOPLE:
            self._begin_wait(data["node"], parse_iso(ts))
        elif kind in {"RunWoken", "NodeDone", "NodeFailed"}:
            self._end_wait(data["node"], parse_iso(ts))

    def _begin(self, at: datetime) -> None:
        self._calls, self._closed = {}, set()
        self._begun_at, self._waiting, self._waits_since, self._waited = at, set(), None, timedelta()

    def _begin_wait(self, node: str, at: datetime) -> None:
        if not self._waiting:
            self._waits_since = at
        self._waiting.add(node)

    def _end_wait(self, node: str, at: datetime) -> None:
        if node not in self._waiting:
            return
        self._waiting.remove(node)
        if not self._waiting and self._waits_since is not None:
            self._waited += at - self._waits_since

    def reserve(self, call: ModelAsked) -> None:
        """Counts the estimate, unless the true cost is known."""
        if call.reservation not in self._closed:
            self._calls[call.reservation] = call.model, (call.prompt_tokens, call.completion_tokens)

    def settle(self, reservation: str, answer: ModelAnswer) -> None:
        """Counts what the answer did cost."""
        self._close(reservation, answer.model, (answer.prompt_tokens, answer.completion_tokens))

    def release(self, reservation: str) -> None:
        self._close(reservation, "", (0, 0))

    def _close(self, reservation: str, model: str, tokens: Tokens) -> None:
        self._closed.add(reservation)
        self._calls.pop(reservation, None)
        if model:
            self._calls[reservation] = model, tokens

    def sum_by_model(self) -> dict[str, Tokens]:
        """Model → (read, written)."""
        total: dict[str, Tokens] = {}
        for model, (read, written_tokens) in self._calls.values():
            mine = total.get(model, (0, 0))
            total[model] = mine[0] + read, mine[1] + written_tokens
        return total

    def measure_time(self, now: datetime) -> timedelta:
        """Without waits for people."""
        return now - self._begun_at - self._waited if self._begun_at is not None else timedelta()


class LimitedBudget:
    def __init__(self, budget: ModelBudget, usage: RunUsage, find_prices: Callable[[], Budget]) -> None:
        self._budget, self._usage, self._find_prices = budget, usage, find_prices
        self.limits = RunLimits()

    async def reserve(self, actor: Actor, now: datetime, call: ModelAsked) -> Reservation | Notice:
        """A Notice says why the call may not be made. Raises StoreError."""
        if (excess := self._find_excess(call, now)) is not None:
            return excess
        self._usage.reserve(call)  # before the wait for the person's budget, so that a call beside this one sees it
        reserved: Reservation | Notice | None = None
        try:
            reserved = await self._budget.reserve(actor, now, call)
        finally:
            if not isinstance(reserved, Reservation):
                self._usage.release(call.reservation)
        return _RunReservation(reserved, self._usage) if isinstance(reserved, Reservation) else reserved

    def _find_excess(self, call: ModelAsked, now: datetime) -> Notice | None:
        """None if it fits."""
        limits, used = self.limits, self._usage.sum_by_model()
        call_tokens = {call.model: (call.prompt_tokens, call.completion_tokens)}
        if limits.time is not None and self._usage.measure_time(now) >= limits.time:
            return Notice(code="run-limit-time", args={"most": int(limits.time.total_seconds())})
        if limits.tokens is not None:
            spent, needed = sum(map(sum, used.values())), sum(call_tokens[call.model])
            if spent + needed > limits.tokens:
                return _build_excess("run-limit-tokens", Decimal(limits.tokens), Decimal(spent), Decimal(needed))
        return None if limits.cost is None else self._find_excess_cost(limits.cost, used, call_tokens)

    def _find_excess_cost(self, most: Decimal, used: Mapping[str, Tokens], call_tokens: Mapping[str, Tokens]) -> Notice | None:
        prices = self._find_prices()
        for model in (*call_tokens, *used):
            if prices.find_price(model) is None:  # a limit that cannot be counted would never be reached
                return Notice(code="run-limit-unpriced", args={"model": model})
        spent, needed = prices.calculate_cost(used), prices.calculate_cost(call_tokens)
        return _build_excess("run-limit-cost", most, spent, needed, currency=prices.currency) if spent + needed > most else None

    async def issue_warning(self, actor: Actor, now: datetime) -> tuple[Notice, Event] | None:
        return await self._budget.issue_warning(actor, now)

    async def describe_usage(self, actor: Actor, now: datetime) -> Notice | None:
        return await self._budget.describe_usage(actor, now)


class _RunReservation(Reservation):
    def __init__(self, reserved: Reservation, usage: RunUsage) -> None:
        super().__init__(reserved.id)
        self._reserved, self._usage = reserved, usage

    def settle(self, answer: ModelAnswer) -> None:
        self._usage.settle(self.id, answer)
        self._reserved.settle(answer)

    def release(self) -> None:
        self._usage.release(self.id)
        self._reserved.release()

    def abandon(self) -> None:
        self._reserved.abandon()


def _build_excess(code: str, most: Decimal, spent: Decimal, needed: Decimal, **more: str) -> Notice:
    """`small`: the call would not fit into the whole limit either."""
    amounts = {name: format(round(value, 4).normalize(), "f") for name, value in (("most", most), ("spent", spent), ("needed", needed))}
    return Notice(code=code, args={**amounts, "small": "yes" if needed > most else "no", **more})
