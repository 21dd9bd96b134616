"""Begins a decided write, counted for its person: the transaction that stores the intent has the last word on the daily cap. Ring 2.

What was counted before the verdict may be old by then, for another conversation or another process can have begun one meanwhile.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from orchestrator.gate.call import limits
from orchestrator.gate.call.budget import build_person_key
from orchestrator.gate.call.effect import Refuse
from orchestrator.gate.call.ports import Ledger, Performer
from orchestrator.gate.execute.executor import Order
from orchestrator.gate.means import GateDeps
from orchestrator.messages import Actor, Outcome
from state.journal.daily_count import StartCount
from state.journal.store import CapReached

Act = Callable[[Order, Performer, Ledger], Awaitable[Outcome]]


async def run_within_cap(act: Act, order: Order, means: GateDeps, actor: Actor, ledger: Ledger) -> Outcome | Refuse:
    """What `act` makes of the order, or the refusal where it is one change too many after all; then nothing was sent. Raises as `act`."""
    many, limit = limits.count_call_changes(order.call), means.policy.caps.writes_per_day
    count = StartCount(person=build_person_key(order.requested_by, order.requested_by_user), many=many, limit=limit)
    counted = replace(order, count=count, list_known_changes=lambda: means.change_counter.list_changes(actor, ledger))
    try:
        return await act(counted, means.performers[order.call.kind], ledger)
    except CapReached:
        made = await means.change_counter.count_changes(actor, ledger)
        return limits.build_cap_refusal(many, max(made, (limit or 0) - many + 1), limit or 0)
