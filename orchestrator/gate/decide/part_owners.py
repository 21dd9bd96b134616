"""Finds the records that parts, such as comments and product rows, belong to: whoever may touch the record may change its parts.

The catalogue names the two fields of a part that hold the kind and the id of its record (`Entity.part_of`). Never writes.
"""

from collections.abc import Mapping
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.actor import Actor, is_same_person
from orchestrator.gate.call.effect import Call, Target, Whole
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
"""The values of `Method.owner` for methods about parts of records."""
_AUTHOR: Final = "AUTHOR_ID"


async def load_wholes(call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps) -> Mapping[Target, Whole]:
    """Return the record that each part belongs to, such as a row's deal; none for unknown or moved parts. Raises BitrixError."""
    if find_visible_users(actor) is None:
        return {}
    parts = {target: None for leaf in call.leaves if leaf.spec.owner in OF_PARTS for target in leaf.targets}
    found = {part: whole for part in parts if (whole := _find_kept_whole(part, records.get(part), call, deps.catalogue)) is not None}
    read = await deps.records.load_records(list(dict.fromkeys(found.values()))) if found else {}
    kinds = find_definitions(*{whole[0] for whole in found.values()}, catalogue=deps.catalogue)
    return {part: Whole(target=whole, is_visible=may_touch(actor, kinds.get(whole[0]), read[whole])) for part, whole in found.items()}


def _find_kept_whole(part: Target, row: JsonObject | None, call: Call, catalogue: Catalogue) -> Target | None:
    """Return the record that `part` belongs to before the call and after it; None if the call moves it, or if it is not known."""
    whole = _find_whole(part, row, {}, catalogue) if row is not None else None
    if row is None or whole is None:
        return None
    written = (leaf.written_fields for leaf in call.leaves if part in leaf.targets and not leaf.reads_only)
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


async def find_own_parts(
    call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps, ledger: Ledger
) -> frozenset[Target]:
    """Return the parts that `call` changes or deletes and that the actor has written, such as a comment of theirs.

    The journal knows what was written through this program: the portal names the program's own account as the author of all of that. Of a
    part that the journal does not know, the author whom the portal names counts, unless it is that account.

    Raises BitrixError and StoreError.
    """
    asked = {
        target: None
        for leaf in call.leaves
        if leaf.spec.owner == "author" and (find_visible_users(actor) is not None or "D" in leaf.classes)
        for target in leaf.targets
    }
    return frozenset([part for part in asked if await _is_own(part, records.get(part), actor, deps, ledger)])


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
    """Return the records of others that `call` is about and that the actor has made through this program, such as a task for a colleague.

    Only kinds whose creator may change them in the portal count, and only as long as the portal names the program's own account as the
    creator: who has been made the creator there since has these rights instead. Raises BitrixError and StoreError.
    """
    if find_visible_users(actor) is None:
        return frozenset()
    asked = dict.fromkeys(target for leaf in call.leaves for target in (*leaf.targets, *leaf.ties))
    return frozenset([target for target in asked if await is_maker(target, records.get(target), actor, deps, ledger)])


async def is_maker(target: Target, row: JsonObject | None, actor: Actor, deps: GateDeps, ledger: Ledger) -> bool:
    """Return whether the actor has made the record `target`, whose present values are `row`; see `find_made_records`."""
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
