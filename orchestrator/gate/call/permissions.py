"""Whose records a person may touch or list, and who may decide for others. Pure.

A filter that cannot be restricted with certainty is refused. The portal joins conditions by AND unless the key `logic` says otherwise.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.domain.actor import Actor
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.params import Refusal, build_refusal
from orchestrator.gate.call.reasons import refuse
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


def find_visible_users(actor: Actor) -> frozenset[int] | None:
    """None means all users, an empty set means none."""
    if actor.sees == "all":
        return None
    own = frozenset() if actor.bitrix_user_id is None else frozenset({actor.bitrix_user_id})
    return own if actor.sees == "own" else own | frozenset(actor.sees)


def find_needed_records(call: Call, actor: Actor) -> tuple[Target, ...]:
    """Records to read first: those of a read only if the actor does not see all."""
    records: dict[Target, None] = {}
    for leaf in call.leaves:
        records.update({tie: None for tie in leaf.ties if tie[0] in leaf.entities})
        if leaf.spec.owner == "self":
            continue
        if leaf.reads_only and (find_visible_users(actor) is None or leaf.spec.owner not in {"record", "part"}):
            continue
        records.update({target: None for target in leaf.targets if target[0] in leaf.entities})
    return tuple(records)


def may_touch(actor: Actor, entity: Entity | None, record: JsonObject | None) -> bool:
    """False if the owner is unknown."""
    allowed = find_visible_users(actor)
    if allowed is None:
        return True
    if entity is None or record is None:
        return False
    names = (entity.owner_field, *entity.also_owned_by)
    owners = [fields.parse_ids(fields.find_value(record, name, entity.name)) for name in names]
    return any(str(user) in owner for owner in owners for user in allowed)


_KEY = re.compile(r"([!=<>@%?~*]{0,3})([A-Za-z][A-Za-z0-9_.]*)", re.ASCII)
_GROUP = re.compile(r"[0-9]{1,3}", re.ASCII)
_SWITCHES = frozenset({"checkpermissions", "permission", "permissions", "innerfilter", "resolve"})
_EXACT = frozenset({"", "=", "@"})
_IN_FILTER = "filter."


def narrow_filter(spec: Method, filter_value: object, allowed: frozenset[int]) -> dict[str, object]:
    """Raises Refusal if it asks for others only, or cannot be restricted for certain."""
    groups = spec.name == "crm.item.list"
    conditions = _as_map(filter_value, groups=groups)
    _check_conditions(conditions, groups=groups)
    owner = spec.owner_filter.lstrip("@")
    if "logic" in {name.lower() for name in conditions}:
        return {**_build_owner_condition(spec, owner, allowed), "0": conditions}
    owners = allowed
    rest: dict[str, object] = {}
    for name, value in conditions.items():
        prefix, field = _split_key(name)
        if prefix in _EXACT and field == fields.to_field_key(owner):
            owners &= _select_named_users(value, allowed)
        else:
            rest[name] = value
    if not owners:
        raise Refusal(refuse("gate-filter-foreign", field=owner, allowed=", ".join(map(str, sorted(allowed)))))
    return {**rest, **_build_owner_condition(spec, owner, owners)}


def is_owned_otherwise(filter_value: object, also_owned_by: Sequence[str], allowed: frozenset[int]) -> bool:
    """By a field such as who set a task. Raises Refusal for more than plain conditions."""
    if not also_owned_by or not allowed:
        return False
    conditions = _as_map(filter_value, groups=False)
    _check_conditions(conditions, groups=False)
    keys = {fields.to_field_key(name) for name in also_owned_by}
    matches = [(_split_key(name)[0], value) for name, value in conditions.items() if _split_key(name)[1] in keys]
    if len(matches) != 1 or matches[0][0] not in _EXACT:
        return False
    ids = fields.parse_ids(matches[0][1])
    return bool(ids) and ids <= {str(user) for user in allowed}


def names_owner(spec: Method, filter_value: object) -> bool:
    owner = fields.to_field_key(spec.owner_filter.lstrip("@"))
    return isinstance(filter_value, Mapping) and any(_split_key(str(name))[1] == owner for name in filter_value)


def check_filter(spec: Method, filter_value: object) -> None:
    """Raises Refusal for more than plain AND conditions, or a record named twice: more records might match."""
    conditions = _as_map(filter_value, groups=False)
    _check_conditions(conditions, groups=False)
    places = (*spec.target, spec.target_entity.removeprefix("@"))
    about = {_split_key(path.removeprefix(_IN_FILTER))[1] for path in places if path.startswith(_IN_FILTER)}
    keys = [key for name in conditions if (key := _split_key(name)[1]) in about]
    if len(keys) != len(set(keys)):
        raise Refusal(refuse("gate-filter-unclear", param=" / ".join(sorted(set(keys)))))


def extract_conditions(filter_value: object) -> dict[str, object]:
    """A filter without groups, as field name → value."""
    conditions: JsonObject = filter_value if isinstance(filter_value, Mapping) else {}
    return {matched[2]: value for name, value in conditions.items() if (matched := _KEY.fullmatch(name)) is not None}


def _as_map(filter_value: object, *, groups: bool) -> dict[str, object]:
    if filter_value is None or filter_value in ("", []):
        return {}
    if groups and isinstance(filter_value, list):  # PHP converts a map with the keys 0, 1, 2 to a list
        return {str(place): group for place, group in enumerate(filter_value)}
    if not isinstance(filter_value, Mapping):
        raise build_refusal("gate-param-invalid", param="filter", expected="a map of conditions")
    return dict(filter_value)


def _check_conditions(conditions: JsonObject, *, groups: bool) -> None:
    for name, value in conditions.items():
        if groups and (_GROUP.fullmatch(name) or name.lower() == "logic"):
            for part in value if isinstance(value, list) else [value]:
                _check_conditions(part if isinstance(part, Mapping) else {}, groups=groups)
            continue
        matched = _KEY.fullmatch(name)
        if matched is None or fields.to_field_key(matched[2]) in _SWITCHES or matched[2].lower() == "logic":
            raise Refusal(refuse("gate-filter-unclear", param=name))


def _split_key(name: str) -> tuple[str, str]:
    matched = _KEY.fullmatch(name)
    return (matched[1], fields.to_field_key(matched[2])) if matched else ("", "")


def _select_named_users(value: object, allowed: frozenset[int]) -> frozenset[int]:
    ids = fields.parse_ids(value)
    return frozenset(user for user in allowed if str(user) in ids)


def _build_owner_condition(spec: Method, owner: str, users: frozenset[int]) -> dict[str, object]:
    if len(users) == 1:
        return {owner: next(iter(users))}
    prefix = "@" if spec.owner_filter.startswith("@") else ""
    return {prefix + owner: sorted(users)}


Sees = Callable[[Actor], bool]


class Approvers(Protocol):
    """With present rights; neither portal nor database is read."""

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """Never the requester, and only leads for whom `sees` is true; may be empty."""

    def apply_delegation(self, actor: Actor) -> Actor:
        """With the role and records of each absent lead whose deputy `actor` is today."""


class NoLeads:
    """Cards stay in their own chat, where any lead may decide."""

    def find_leads(self, _actor: Actor, _sees: Sees) -> Sequence[Actor]:
        return ()

    def apply_delegation(self, actor: Actor) -> Actor:
        return actor
