"""Whoever may touch a record may change its parts, such as comments and product rows. Never writes."""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor, is_same_person
from orchestrator.gate.call.effect import Call, Place, Target, Whole
from orchestrator.gate.call.fields import find_value, has_field
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from orchestrator.gate.call.ports import Ledger
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.call.targets import as_id, find_definition, find_definitions, find_entity_by_code
from state.journal.record_index import list_changed_records
from state.journal.store import EffectRow
from state.stored import JsonObject

OF_PARTS: Final = frozenset({"part", "author"})
"""Values of `Method.owner` for methods about parts."""
_AUTHOR: Final = "AUTHOR_ID"
_ACTIVITY: Final = "activity"
_CHANGES: Final = frozenset({"update", "delete"})


async def load_wholes(call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps) -> Mapping[Target, Whole]:
    """Unknown and moved parts are missing. Raises BitrixError."""
    if find_visible_users(actor) is None:
        return {}
    parts = {target: None for leaf in call.leaves if leaf.spec.owner in OF_PARTS for target in leaf.targets}
    wholes = {part: whole for part in parts if (whole := _find_kept_whole(part, records.get(part), call, deps.catalogue)) is not None}
    read = await deps.records.load_records(list(dict.fromkeys(wholes.values()))) if wholes else {}
    kinds = find_definitions(*{whole[0] for whole in wholes.values()}, catalogue=deps.catalogue)
    return {part: Whole(target=whole, is_visible=may_touch(actor, kinds.get(whole[0]), read[whole])) for part, whole in wholes.items()}


async def load_places(call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps) -> Mapping[Target, Place]:
    """Empty if the portal cannot say it: the card then names no place."""
    changes = [leaf for leaf in call.leaves if leaf.spec.verb in _CHANGES and leaf.entity == _ACTIVITY]
    activities = dict.fromkeys(target for leaf in changes for target in leaf.targets if target[0] == _ACTIVITY)
    places = {one: place for one in activities if (place := _find_kept_whole(one, records.get(one), call, deps.catalogue)) is not None}
    try:
        read = await deps.records.load_records(list(dict.fromkeys(places.values()))) if places else {}
    except BitrixError:
        return {}
    kinds = find_definitions(*{place[0] for place in places.values()}, catalogue=deps.catalogue)
    return {
        one: Place(target=place, record=record)
        for one, place in places.items()
        if (record := read[place]) is not None and may_touch(actor, kinds.get(place[0]), record)
    }


def _find_kept_whole(part: Target, row: JsonObject | None, call: Call, catalogue: Catalogue) -> Target | None:
    whole = _find_whole(part, row, {}, catalogue) if row is not None else None
    if row is None or whole is None:
        return None
    field_sets = (leaf.written_fields for leaf in call.leaves if part in leaf.targets and not leaf.reads_only)
    return whole if all(_find_whole(part, row, one, catalogue) == whole for one in field_sets) else None


def _find_whole(part: Target, row: JsonObject, new_values: JsonObject, catalogue: Catalogue) -> Target | None:
    definition = find_definition(part[0], catalogue)
    if definition is None or definition.part_of is None:
        return None
    places = ((name, new_values if has_field(new_values, name, part[0]) else row) for name in definition.part_of)
    kind, number = (find_value(place, name, part[0]) for name, place in places)
    entity, whole_id = find_entity_by_code(str(kind).strip().lower(), catalogue), as_id(number)
    return (entity, whole_id) if entity and whole_id is not None else None


async def find_own_parts(
    call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps, ledger: Ledger
) -> frozenset[Target]:
    """Parts that `call` changes and the actor wrote. Raises BitrixError and StoreError.

    The portal names the program's own account for all that went through it, so the journal decides first.
    """
    candidates = {
        target: None
        for leaf in call.leaves
        if leaf.spec.owner == "author" and (find_visible_users(actor) is not None or "D" in leaf.classes)
        for target in leaf.targets
    }
    return frozenset([part for part in candidates if await _is_own(part, records.get(part), actor, deps, ledger)])


async def _is_own(part: Target, row: JsonObject | None, actor: Actor, deps: GateDeps, ledger: Ledger) -> bool:
    whole = _find_whole(part, row, {}, deps.catalogue) if row is not None else None
    if row is None or whole is None:
        return False
    making = await ledger.find_making_call(f"{part[0]}:{part[1]}")
    # a call that wrote the part about another record says nothing of who wrote what stands here now
    is_here = making is not None and f"{whole[0]}:{whole[1]}" in list_changed_records(making.call)
    writer = _find_writer(part, making) if is_here else None
    if writer is not None:
        return _is_person(actor, writer, deps)
    author = as_id(find_value(row, _AUTHOR, part[0]))
    if author is None or author != actor.bitrix_user_id:
        return False
    program = await deps.records.find_own_user()
    return program not in {0, author}


_CREATOR: Final = "CREATED_BY"


async def find_made_records(
    call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps, ledger: Ledger
) -> frozenset[Target]:
    """Others' records that the actor made through this program. Raises BitrixError and StoreError.

    Only kinds whose creator may change them, while the portal names the program's account as the creator.
    """
    if find_visible_users(actor) is None:
        return frozenset()
    candidates = dict.fromkeys(target for leaf in call.leaves for target in (*leaf.targets, *leaf.ties))
    return frozenset([target for target in candidates if await is_maker(target, records.get(target), actor, deps, ledger)])


async def is_maker(target: Target, row: JsonObject | None, actor: Actor, deps: GateDeps, ledger: Ledger) -> bool:
    """`row` are its present values; see `find_made_records`."""
    definition = deps.catalogue.entities.get(target[0])
    if row is None or definition is None or _CREATOR not in definition.also_owned_by or may_touch(actor, definition, row):
        return False
    writer = _find_writer(target, await ledger.find_making_call(f"{target[0]}:{target[1]}"))
    if writer is None or not _is_person(actor, writer, deps):
        return False
    program = await deps.records.find_own_user()
    return bool(program) and as_id(find_value(row, _CREATOR, target[0])) == program


def _is_person(actor: Actor, writer: str, deps: GateDeps) -> bool:
    known = deps.present(Actor(key=writer, name=writer))
    return is_same_person(actor, writer, known.bitrix_user_id if known is not None else None)


def _find_writer(part: Target, making: EffectRow | None) -> str | None:
    if making is None or (making.outcome or {}).get("created") != f"{part[0]}:{part[1]}":
        return None
    return StoredOrder.from_data(making.call).requested_by
