"""What the steps of a plan that wait before a call will leave of its product rows, so that its card says the sum that will stand there."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.domain.card_view import Preview
from orchestrator.gate.approve.duplicates import decode_row
from orchestrator.gate.approve.plan_slots import find_origin_slots, parse_step
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.row_writes import Records, collect_row_writes, plan_rows, to_records, writes_rows
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.preview.row_totals import list_totals
from state.model.card import Card
from state.model.session_state import SessionState


async def add_planned_rows(
    call: Call, facts: Facts, slot: str, *, by: str, deps: GateDeps, ledger: Ledger, planned: Sequence[tuple[Call, Records]] = ()
) -> Facts:
    """`by` is who asked: nobody's plan is drawn with cards of others. `planned` are earlier calls that have no cards."""
    if not any(writes_rows(leaf) for leaf in call.leaves):
        return facts
    calls = [*planned]
    for card in _list_waiting_before(slot, by, ledger.state):
        row = await ledger.find_effect(card.effect_id)
        earlier = decode_row(row, deps.catalogue) if row is not None else None
        if row is not None and earlier is not None:
            calls.append((earlier, to_records(StoredOrder.from_data(row.call).before)))
    writes = collect_row_writes(calls)
    drawn = {target: plan_rows(leaf, facts.records, writes).get(target) for leaf in call.leaves for target in leaf.targets[:1]}
    # a row that an earlier step deletes is drawn as it is: this step will be refused
    changed = {target: record for target, record in drawn.items() if record is not None and record is not facts.records.get(target)}
    return replace(facts, planned=changed) if changed else facts


def _list_waiting_before(slot: str, by: str, state: SessionState) -> Iterator[Card]:
    """In the order of the plan's steps."""
    plan, number = parse_step(slot)
    origins = find_origin_slots(state.cards) if plan else {}
    places = {key: parse_step(origin) for key, origin in origins.items()}
    before = sorted((place[1], key) for key, place in places.items() if place[0] == plan and place[1] < number)
    return (card for _, key in before if (card := state.cards[key]).is_waiting and card.requested_by == by)


def shows_other_totals(card: Card, drawn: Preview) -> bool:
    """The card says other sums of products than `drawn`, since other steps of its plan have run or been left out."""
    shown = Preview.model_validate(card.preview or {})
    return list_totals([shown, *shown.items]) != list_totals([drawn, *drawn.items])
