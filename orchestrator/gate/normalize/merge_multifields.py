"""Rewrites what a call does to phones and addresses to exactly what its card shows. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from bitrix.client.batch import find_references
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import multifields
from orchestrator.gate.call.effect import BeforeImage, Call, Facts, Target
from orchestrator.gate.call.multifields import Element, Step
from orchestrator.gate.call.params import Refusal
from orchestrator.gate.call.reasons import ask, refuse
from orchestrator.gate.call.replaced_lists import advance_record
from orchestrator.gate.call.row_writes import RowWrite, find_row_writes, plan_rows, writes_rows
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.normalize import batch
from state.stored import JsonObject

_OWNERS = frozenset({"lead", "contact", "company", "item"})
_VERBS = frozenset({"add", "update"})


def merge_multifields(call: Call, facts: Facts) -> Call:
    """Commands of a batch that would change nothing are left out.

    Raises Refusal if a value is ambiguous, or if nothing at all would change.
    """
    if call.kind != "bitrix" or not any(_writes_multifields(leaf) for leaf in call.leaves):
        return call
    present: dict[Target, tuple[Element, ...]] = {}
    leaves = tuple(fine for leaf in call.leaves if (fine := _merge_command(leaf, facts, present)) is not None)
    if leaves == call.leaves:
        return call
    if all(leaf.reads_only for leaf in leaves):
        raise Refusal(refuse("gate-already-so", method=call.method))
    missing = _find_referenced_keys(leaves) - {leaf.key for leaf in leaves}
    if missing:
        raise Refusal(refuse("gate-batch-broken", key=min(missing), why="it changes nothing, and another command takes its answer"))
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def drop_removed_elements(call: Call, facts: Facts, before: BeforeImage) -> tuple[Call, tuple[Notice, ...]]:
    """Without changes of elements that the records lost, and a notice of each.

    Unchanged if nothing would be left, or another command needs a dropped one.
    """
    leaves: list[Call] = []
    fell: list[Notice] = []
    for leaf in call.leaves:
        rest, gone = _drop_from_command(leaf, facts, before)
        leaves += [rest] if rest is not None else []
        fell += gone
    if not fell or all(leaf.reads_only for leaf in leaves) or _find_referenced_keys(leaves) - {leaf.key for leaf in leaves}:
        return call, ()
    whole = batch.build_batch(call.spec, tuple(leaves), halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=call.proposed_essence or get_essence(call)), tuple(fell)


def _drop_from_command(call: Call, facts: Facts, before: BeforeImage) -> tuple[Call | None, list[Notice]]:
    target = _find_changed_record(call)
    if target is None or not _writes_multifields(call):
        return call, []
    present_ids = {element.id for element in multifields.parse_elements(facts.records.get(target))}
    old_values = {element.id: element.value for element in multifields.parse_elements(before.get(f"{target[0]}:{target[1]}"))}
    new_fields, gone = dict(call.params[call.spec.fields_at]), list[str]()
    for name in [name for name in new_fields if multifields.is_multifield(name)]:
        new_fields[name], lost = multifields.remove_missing(new_fields[name], present_ids)
        gone += lost
        if not new_fields[name]:
            del new_fields[name]
    if not gone:
        return call, []
    fell = [ask("gate-phone-gone", value=old_values.get(number) or f"ID {number}", entity=target[0], id=target[1]) for number in gone]
    return (replace(call, params={**call.params, call.spec.fields_at: new_fields}) if new_fields else None), fell


def find_steps(call: Call, record: JsonObject | None) -> dict[str, tuple[Step, ...]]:
    """By field name; a field that cannot be parsed is left out."""
    steps_by_field: dict[str, tuple[Step, ...]] = {}
    if not _writes_multifields(call):
        return steps_by_field
    present = None if call.spec.verb == "add" else multifields.parse_elements(record)
    for name, value in call.params[call.spec.fields_at].items():
        if multifields.is_multifield(name):
            try:
                steps_by_field[name] = multifields.parse_steps(name, value, present, in_items=_in_items(call))
            except Refusal:
                continue
    return steps_by_field


def walk_commands(call: Call, facts: Facts) -> Iterator[tuple[Call, Facts]]:
    """Each command with the facts as they will be when it runs. Never raises."""
    now = replace(facts, records={**facts.records, **facts.planned}, planned={}) if facts.planned else facts
    writes: list[RowWrite] = []
    for leaf in call.leaves:
        planned = plan_rows(leaf, now.records, writes)
        yield leaf, now if planned is now.records else replace(now, records=planned)
        if writes_rows(leaf):
            writes.extend(find_row_writes(leaf, now.records, planned))
            continue
        if leaf.spec.replaces and leaf.targets and (target_record := now.records.get(leaf.targets[0])) is not None:
            now = replace(now, records={**now.records, leaf.targets[0]: advance_record(leaf, target_record)})
        target = _find_changed_record(leaf)
        record = now.records.get(target) if target else None
        if target is None or record is None:
            continue
        steps = [step for of_field in find_steps(leaf, record).values() for step in of_field]
        if steps:
            later = {**record, **multifields.to_record_fields(record, multifields.apply_steps(steps, multifields.parse_elements(record)))}
            now = replace(now, records={**now.records, target: later})


def _merge_command(call: Call, facts: Facts, present: dict[Target, tuple[Element, ...]]) -> Call | None:
    if not _writes_multifields(call):
        return call
    target = _find_changed_record(call)
    if target is not None and target not in present:
        present[target] = multifields.parse_elements(facts.records.get(target))
    now = present.get(target, ()) if target is not None else (() if call.spec.verb == "update" else None)
    new_fields: dict[str, object] = {}
    for name, value in call.params[call.spec.fields_at].items():
        if not multifields.is_multifield(name):
            new_fields[name] = value
            continue
        steps = multifields.parse_steps(name, value, now, in_items=_in_items(call))
        if steps:
            own = "fm" if _in_items(call) else name.upper()
            new_fields[own] = multifields.build_value(steps, in_items=_in_items(call), new=now is None)
        if target is not None:
            now = present[target] = multifields.apply_steps(steps, now or ())
    if call.spec.verb == "update" and not new_fields:
        return None
    return replace(call, params={**call.params, call.spec.fields_at: new_fields})


def _find_changed_record(call: Call) -> Target | None:
    return call.targets[0] if call.spec.verb == "update" and call.targets else None


def _find_referenced_keys(leaves: Iterable[Call]) -> set[str]:
    return {batch.find_reference_key(text) for leaf in leaves for text in find_references(leaf.params)}


def _writes_multifields(call: Call) -> bool:
    if call.kind != "bitrix" or call.spec.verb not in _VERBS or call.spec.entity not in _OWNERS or call.reads_only:
        return False
    family = call.method.rpartition(".")[0]
    field_values = call.params.get(call.spec.fields_at) if call.spec.fields_at else None
    plain = family in {"crm.item", *(f"crm.{kind}" for kind in _OWNERS)}
    return plain and isinstance(field_values, Mapping) and any(multifields.is_multifield(name) for name in field_values)


def _in_items(call: Call) -> bool:
    return call.method.startswith("crm.item.")
