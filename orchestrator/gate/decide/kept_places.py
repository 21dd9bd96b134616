"""What the portal wants to be told again of the record that a call changes, such as the deal of a to-do: from the record alone. Pure."""

from dataclasses import replace

from orchestrator.gate.call.critical_fields import find_current_record
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.params import build_refusal
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize import batch
from state.stored import JsonObject


def add_kept_places(call: Call, facts: Facts) -> Call:
    """Raises Refusal for a number that is not the record's, and for what cannot be known."""
    leaves = tuple(_add_places(leaf, facts) if leaf.spec.kept else leaf for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def _add_places(leaf: Call, facts: Facts) -> Call:
    record = find_current_record(leaf, facts)
    if record is None and all(leaf.params.get(name) for name in leaf.spec.kept):
        return leaf
    places: JsonObject = {name: _find_place(leaf, name, record or {}) for name in leaf.spec.kept}
    written = {name: number for name, number in places.items() if leaf.params.get(name) != number}
    return replace(leaf, params={**leaf.params, **written}, system_fields=leaf.system_fields | written.keys()) if written else leaf


def _find_place(leaf: Call, name: str, record: JsonObject) -> int:
    number = as_id(find_value(record, leaf.spec.kept[name], leaf.entity))
    if number is None:
        raise build_refusal("gate-param-missing", method=leaf.method, param=name)
    given = None if name in leaf.system_fields else as_id(leaf.params.get(name))
    if given not in (None, number):
        raise build_refusal("gate-param-invalid", param=name, expected=f"the record's own, {number}, or nothing, not {given}")
    return number
