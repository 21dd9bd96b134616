"""Finds the records that parts, such as comments and product rows, belong to: whoever may touch the record may change its parts.

The catalogue names the two fields of a part that hold the kind and the id of its record (`Entity.part_of`). Never writes.
"""

from collections.abc import Mapping

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor
from orchestrator.gate.call.critical_fields import extract_written_fields
from orchestrator.gate.call.effect import Call, Target, Whole
from orchestrator.gate.call.fields import find_value, has_field
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.targets import as_id, find_definition, find_definitions, find_entity_by_code
from state.stored import JsonObject


async def load_wholes(call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps) -> Mapping[Target, Whole]:
    """Return the record that each part changed by `call` belongs to, such as the deal of a product row.

    `records` holds the parts as they are now. A part whose record is not known, or that the call would move to another record, is missing.
    Returns {} if the actor may touch all records. Raises BitrixError when a record cannot be read.
    """
    if find_visible_users(actor) is None:
        return {}
    parts = {target: None for leaf in call.leaves if leaf.spec.owner == "part" for target in leaf.targets}
    found = {part: whole for part in parts if (whole := _find_kept_whole(part, records.get(part), call, deps.catalogue)) is not None}
    read = await deps.records.load_records(list(dict.fromkeys(found.values()))) if found else {}
    kinds = find_definitions(*{whole[0] for whole in found.values()}, catalogue=deps.catalogue)
    return {part: Whole(target=whole, is_visible=may_touch(actor, kinds.get(whole[0]), read[whole])) for part, whole in found.items()}


def _find_kept_whole(part: Target, row: JsonObject | None, call: Call, catalogue: Catalogue) -> Target | None:
    """Return the record that `part` belongs to before the call and after it; None if the call moves it, or if it is not known."""
    whole = _find_whole(part, row, {}, catalogue) if row is not None else None
    if row is None or whole is None:
        return None
    written = (extract_written_fields(leaf) for leaf in call.leaves if part in leaf.targets)
    return whole if all(_find_whole(part, row, one, catalogue) == whole for one in written) else None


def _find_whole(part: Target, row: JsonObject, written: JsonObject, catalogue: Catalogue) -> Target | None:
    """Return the record that a part with the values of `row` belongs to once the fields `written` are set; None if it is not known."""
    definition = find_definition(part[0], catalogue)
    if definition is None or definition.part_of is None:
        return None
    places = ((name, written if has_field(written, name, part[0]) else row) for name in definition.part_of)
    kind, number = (find_value(place, name, part[0]) for name, place in places)
    entity, found = find_entity_by_code(str(kind).strip().lower(), catalogue), as_id(number)
    return (entity, found) if entity and found is not None else None
