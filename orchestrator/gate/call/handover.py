"""Records that a person hands away. Pure."""

from collections.abc import Mapping, Sequence

from orchestrator.domain.actor import Actor
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.permissions import find_visible_users, may_touch
from state.stored import JsonObject


def find_lost_records(call: Call, records: Mapping[Target, JsonObject | None], actor: Actor) -> Sequence[Target]:
    """What `actor` may touch now and not after the call, each once."""
    if find_visible_users(actor) is None:
        return []
    after: dict[Target, JsonObject] = {}
    lost: dict[Target, bool] = {}
    for leaf in call.leaves:
        target = next(iter(leaf.targets), None)
        record = records.get(target) if target is not None else None
        if target is None or record is None or target[0] != leaf.entity or leaf.reads_only:
            continue
        entity = leaf.entities.get(target[0])
        after[target] = apply_owners(leaf, after.get(target, record))
        lost[target] = may_touch(actor, entity, record) and not may_touch(actor, entity, after[target])
    return [target for target, is_lost in lost.items() if is_lost]


def apply_owners(call: Call, record: JsonObject) -> JsonObject:
    entity = call.entities.get(call.entity)
    if entity is None:
        return record
    fields_written = {call.spec.stands_for.get(name, name): value for name, value in call.written_fields.items()}
    owners = {
        name: fields.find_value(fields_written, name, entity.name)
        for name in (entity.owner_field, *entity.also_owned_by)
        if fields.has_field(fields_written, name, entity.name)
    }
    if not owners:
        return record
    keys = {fields.to_field_key(name, entity.name) for name in owners}
    others = {name: value for name, value in record.items() if fields.to_field_key(name, entity.name) not in keys}
    return {**others, **owners}
