"""What a proposed and an approved call are judged with beside the portal's records: the journal, the day, the plan."""

from dataclasses import replace

from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.handed_over import add_handed_over
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.kept_files import KEY
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.decide.part_owners import find_made_records, find_own_parts
from orchestrator.gate.decide.sum_history import find_first_sums
from orchestrator.gate.undo.undo_policy import find_reversed, find_undone
from state.events.calls import CallSucceeded
from state.journal.blobs import list_digests


async def complete_facts(facts: Facts, call: Call, actor: Actor, *, slot: str, place: str, deps: GateDeps, ledger: Ledger) -> Facts:
    """`slot` is that of the call, `place` that of the step in its plan. Raises BitrixError and StoreError."""
    done = await find_reversed(slot, ledger)
    return replace(
        await add_handed_over(facts, call, actor, place, deps, ledger),
        today=ledger.now.date(),
        written=await deps.count_changes(call, actor, ledger),
        first_sums=await find_first_sums(call, facts, deps, ledger),
        own_parts=await find_own_parts(call, facts.records, actor, deps, ledger),
        made=await find_made_records(call, facts.records, actor, deps, ledger),
        undone=find_undone(done),
        kept_files=frozenset(list_digests(CallSucceeded.__name__, {KEY: done.files})) if done is not None else frozenset(),
    )
