"""Whose records a person may touch. Ring 2, pure: it names what must be read and judges what was read."""

from collections.abc import Mapping
from typing import Any

from bitrix.catalogue import Entity
from orchestrator.gate import fields
from orchestrator.gate.effects import Call, Target
from orchestrator.messages import Actor


def find_visible_users(actor: Actor) -> frozenset[int] | None:
    """The users whose records `actor` may touch; None means all, an empty set means none (DESIGN §3 "Rights")."""
    if actor.sees == "all":
        return None
    own = frozenset() if actor.bitrix_user_id is None else frozenset({actor.bitrix_user_id})
    return own if actor.sees == "own" else own | frozenset(actor.sees)


def find_needed_records(call: Call, actor: Actor) -> tuple[Target, ...]:
    """The records to read before judging `call`: for writes always, for reads only when the actor does not see all."""
    wanted: dict[Target, None] = {}
    for leaf in call.leaves:
        wanted.update({tie: None for tie in leaf.ties if tie[0] in leaf.entities})
        if leaf.spec.owner == "self":
            continue
        if leaf.reads_only and (find_visible_users(actor) is None or leaf.spec.owner != "record"):
            continue
        wanted.update({target: None for target in leaf.targets if target[0] in leaf.entities})
    return tuple(wanted)


def may_touch(actor: Actor, entity: Entity | None, record: Mapping[str, Any] | None) -> bool:
    """Whether the record belongs to somebody whose records the actor may touch; one without a known owner does not."""
    allowed = find_visible_users(actor)
    if allowed is None:
        return True
    if entity is None or record is None:
        return False
    names = (entity.owner_field, *entity.also_owned_by)
    owners = [fields.parse_ids(fields.find_value(record, name, entity.name)) for name in names]
    return any(str(user) in owner for owner in owners for user in allowed)
