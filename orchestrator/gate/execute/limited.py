"""Runs a decided call within the person's daily limit, or as a part of an approved file, which has limits of its own."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from orchestrator.domain.actor import Actor
from orchestrator.domain.budget import build_person_key
from orchestrator.domain.effect import Outcome
from orchestrator.gate.call.effect import Refuse
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.policy import build_cap_refusal, count_call_changes
from orchestrator.gate.call.ports import Ledger, Performer
from orchestrator.gate.execute.executor import Order
from orchestrator.gate.preview.format_values import Reader
from state.journal.daily_count import StartCount
from state.journal.store import CapReached

Act = Callable[[Order, Performer, Ledger], Awaitable[Outcome]]


async def run_uncounted(act: Act, order: Order, deps: GateDeps, actor: Actor, ledger: Ledger) -> Outcome:
    """A part of an approved file, whose own limits count for it as a whole."""
    return await act(replace(order, reader=_build_reader(deps, actor, ledger)), deps.performers[order.call.kind], ledger)


async def run_within_cap(act: Act, order: Order, deps: GateDeps, actor: Actor, ledger: Ledger) -> Outcome | Refuse:
    """Refuses, with nothing sent, what would exceed the daily limit."""
    many, limit = count_call_changes(order.call), deps.policy.caps.writes_per_day
    count = StartCount(person=build_person_key(order.requested_by, order.requested_by_user), many=many, limit=limit)
    reader = _build_reader(deps, actor, ledger)
    counted = replace(order, count=count, list_known_changes=lambda: deps.change_counter.list_changes(actor, ledger), reader=reader)
    try:
        return await act(counted, deps.performers[order.call.kind], ledger)
    except CapReached:
        counted_changes = await deps.change_counter.count_changes(actor, ledger)
        return build_cap_refusal(many, max(counted_changes, (limit or 0) - many + 1), limit or 0)


def _build_reader(deps: GateDeps, actor: Actor, ledger: Ledger) -> Reader:
    return Reader(names=deps.names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0, now=ledger.now)
