"""Records that a person gave away, or made for others, by steps of the same plan: rights are judged as its card showed them.

Never writes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from bitrix.catalogue.catalogue import Entity
from orchestrator.domain.actor import Actor
from orchestrator.gate.approve.duplicates import decode_row, is_command_done
from orchestrator.gate.approve.plan_slots import list_plan_cards, parse_step
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import apply_owners, find_visible_users, may_touch
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.call.targets import find_definitions
from state.stored import JsonObject

Write = tuple[Call, JsonObject | None]
"""A call that gave a record an owner, and the record as it was before; None for a new one."""


async def add_handed_over(facts: Facts, call: Call, actor: Actor, slot: str, deps: GateDeps, ledger: Ledger) -> Facts:
    """`slot` is the step's place in its plan. Raises BitrixError and StoreError."""
    plan = parse_step(slot)[0] if ledger.state.run is None else ""
    if not plan or call.reads_only or find_visible_users(actor) is None:
        return facts
    attached = dict.fromkeys(target for leaf in call.leaves for target in (*leaf.targets, *leaf.ties) if target not in facts.wholes)
    wholes = [whole.target for whole in facts.wholes.values() if not whole.is_visible]
    kinds = find_definitions(*{kind for kind, _ in (*attached, *wholes)}, catalogue=deps.catalogue)
    records = {target: facts.records.get(target) for target in attached}
    lost = [target for target, record in records.items() if record is not None and not may_touch(actor, kinds.get(target[0]), record)]
    if not lost and not wholes:
        return facts
    writes = await _list_owner_writes(plan, actor, deps, ledger)
    if not writes:
        return facts
    if wholes:
        records |= await deps.records.load_records(wholes)
    handed_over = [
        target for target in (*lost, *wholes) if _is_handed_over(records.get(target), kinds.get(target[0]), writes.get(target, ()), actor)
    ]
    return replace(facts, handed_over=frozenset(handed_over))


async def _list_owner_writes(plan: str, actor: Actor, deps: GateDeps, ledger: Ledger) -> Mapping[Target, Sequence[Write]]:
    """In the order in which they were made; of steps that this person asked for and that a person approved."""
    cards = [card for _, card in list_plan_cards(plan, ledger.state.cards) if card.status == "executed" and card.approved_by]
    rows = [row for card in cards if card.requested_by == actor.key and (row := await ledger.find_effect(card.effect_id)) is not None]
    writes: dict[Target, list[Write]] = {}
    for row in sorted((row for row in rows if row.status == "succeeded"), key=lambda row: row.updated_at):
        call = decode_row(row, deps.catalogue)
        before = StoredOrder.from_data(row.call).before if call is not None else {}
        for leaf in call.leaves if call is not None else ():
            kind, _, number = str((row.outcome or {}).get("created") or "").rpartition(":")
            if kind == leaf.entity and number.isdecimal() and leaf is call:
                writes.setdefault((kind, int(number)), []).append((leaf, None))
            target = next(iter(leaf.targets), None)
            record = before.get(f"{target[0]}:{target[1]}") if target is not None and target[0] == leaf.entity else None
            if target is not None and record is not None and not leaf.reads_only and is_command_done(row, leaf.key):
                writes.setdefault(target, []).append((leaf, record))
    return writes


def _is_handed_over(record: JsonObject | None, entity: Entity | None, writes: Sequence[Write], actor: Actor) -> bool:
    """The person had or made it by the first of the writes, and it has the owners now that the last of them gave it."""
    owner_writes = [(call, before) for call, before in writes if record is not None and apply_owners(call, record) is not record]
    if record is None or entity is None or not owner_writes:
        return False
    had = owner_writes[0][1]
    if had is not None and not may_touch(actor, entity, had):
        return False
    after = apply_owners(owner_writes[-1][0], record)
    return all(_parse_owners(record, name, entity) == _parse_owners(after, name, entity) for name in _list_owner_fields(entity))


def _parse_owners(record: JsonObject, name: str, entity: Entity) -> frozenset[str]:
    return fields.parse_ids(fields.find_value(record, name, entity.name))


def _list_owner_fields(entity: Entity) -> Iterator[str]:
    yield from (entity.owner_field, *entity.also_owned_by)
