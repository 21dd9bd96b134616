"""Whether a batch is exactly a part of an approved file, and which of its records may not be changed any more."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.bulk import BULK, BulkFile
from orchestrator.domain.effect import CommandReport, Effect
from orchestrator.gate.approve.run_approved import refuse_unchanged
from orchestrator.gate.bulk.freeze import CHANGED, is_changed
from orchestrator.gate.call.effect import Ask, Call, Facts, Refuse
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.kinds.bulk_methods import DIGEST, build_run_key
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.reasons import refuse
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.decide.decide import evaluate
from state.journal.store import EffectRow

_RUNS: Final = frozenset({"started", "succeeded", "unknown"})
"""The run that asks is what the effect starts, so the effect has happened whatever its own status says."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """`left` are the commands that may not run; without them it may. `approved_by` is the key of who approved the file."""

    card: str
    approved_by: str
    left: tuple[CommandReport, ...] = ()


@asynccontextmanager
async def hold_records(call: Call, effect: Effect, *, deps: GateDeps, ledger: Ledger) -> AsyncIterator[None]:
    """So that nothing is written over what was not read: of a part its places in the file, too, in this process alone.

    Raises StoreError.
    """
    places = [(f"{effect.part_of}/{leaf.key}", 0) for leaf in call.leaves if effect.part_of]
    turn = deps.bulk.hold_turn(ledger.owner) if effect.part_of else nullcontext()
    async with turn, deps.locks.hold(() if call.reads_only else (*call.targets, *places)):
        yield


async def check_part(
    call: Call, effect: Effect, facts: Facts, *, actor: Actor, mode: Mode, deps: GateDeps, ledger: Ledger
) -> Part | Refuse:
    """Fails closed: a part runs only as the file has it, for who asked with their rights of now, while its approver still has access.

    Only the one run of the approval has parts, and each call of the file is sent once, whatever slot asks for it.

    Raises StoreError.
    """
    present = deps.present(actor)
    row = await ledger.find_effect(effect.part_of) if ledger.key == build_run_key(effect.part_of) else None
    order = _read_order(row, actor)
    if order is None or row is None or present is None:
        return refuse("gate-bulk-part")
    approver = deps.present(Actor(key=row.call.get("approved_by") or "", name=""))
    if approver is None or resolve_mode(mode, approver) != mode:
        return refuse("gate-bulk-part")
    file = await deps.bulk.load(str(order.call.params.get(DIGEST) or ""))
    if file is None or not call.commands:
        return refuse("gate-bulk-part")
    items = {item.key: item for item in file.calls}
    if not all(leaf.key in items and items[leaf.key].essence == leaf.essence for leaf in call.leaves):
        return refuse("gate-bulk-part")
    if not {leaf.key for leaf in call.leaves}.isdisjoint(await deps.sent.load(ledger)):
        return refuse("gate-bulk-part")
    left = tuple(_find_left(call, file, effect, facts, actor=present, mode=mode, deps=deps))
    return Part(card=order.confirmation_id, approved_by=approver.key, left=left)


def _read_order(row: EffectRow | None, actor: Actor) -> StoredOrder | None:
    """Of a file's effect that was approved by somebody and ran, for the same person."""
    if row is None or row.status not in _RUNS:
        return None
    order = StoredOrder.from_data(row.call)
    if order.is_erased or order.call.kind != BULK or not order.confirmation_id or not row.call.get("approved_by"):
        return None
    return order if row.call.get("requested_by") == actor.key else None


def _find_left(
    call: Call, file: BulkFile, effect: Effect, facts: Facts, *, actor: Actor, mode: Mode, deps: GateDeps
) -> Iterator[CommandReport]:
    items = {item.key: item for item in file.calls}
    for leaf in call.leaves:
        record = facts.records.get(leaf.targets[0]) if leaf.targets else None
        if leaf.spec.verb == "update" and is_changed(leaf, items[leaf.key], record):
            yield CommandReport(key=leaf.key, method=leaf.method, status="not_run", error=CHANGED)
            continue
        alone = replace(leaf, key="")
        fine, verdict = evaluate(alone, mode=mode, policy=deps.policy, actor=actor, facts=facts, effect=effect)
        verdict = refuse_unchanged(verdict, fine, facts)
        if isinstance(verdict, Refuse):
            yield CommandReport(key=leaf.key, method=leaf.method, status="not_run", error=verdict.reason.code)
        elif isinstance(verdict, Ask) and ((verdict.four_eyes and not file.four_eyes) or (verdict.lead and not file.lead)):
            # It needs another approval now than the one that was given: its sum has grown, or the policy is stricter.
            yield CommandReport(key=leaf.key, method=leaf.method, status="not_run", error=CHANGED)
