"""Rights: whose records a person may touch, which records a list may return to the person, and who may decide for others. Pure.

A filter that cannot be restricted with certainty is refused. The portal joins the conditions of a filter by AND at the top level unless the
filter's key `logic` says otherwise, and only crm.item.list has groups (filters inside a filter). `Approvers` finds the leads (heads of
sales); it is implemented by `orchestrator.features.leads`.
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


def find_visible_users(actor: Actor) -> frozenset[int] | None:
    """Return the portal users whose records `actor` may touch; None means all users, an empty set means none."""
    if actor.sees == "all":
        return None
    own = frozenset() if actor.bitrix_user_id is None else frozenset({actor.bitrix_user_id})
    return own if actor.sees == "own" else own | frozenset(actor.sees)


def find_needed_records(call: Call, actor: Actor) -> tuple[Target, ...]:
    """Return the records that must be read before the check: those of a write always, of a read only if the actor does not see all."""
    wanted: dict[Target, None] = {}
    for leaf in call.leaves:
        wanted.update({tie: None for tie in leaf.ties if tie[0] in leaf.entities})
        if leaf.spec.owner == "self":
            continue
        if leaf.reads_only and (find_visible_users(actor) is None or leaf.spec.owner not in {"record", "part"}):
            continue
        wanted.update({target: None for target in leaf.targets if target[0] in leaf.entities})
    return tuple(wanted)


def may_touch(actor: Actor, entity: Entity | None, record: JsonObject | None) -> bool:
    """Return whether the record belongs to somebody whose records the actor may touch; False if the owner is unknown."""
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


def narrow_filter(spec: Method, given: object, allowed: frozenset[int]) -> dict[str, object]:
    """Return the filter restricted to `allowed` owners. Raises Refusal if it asks for others only, or cannot be restricted for certain."""
    groups = spec.name == "crm.item.list"
    written = _as_map(given, groups=groups)
    _check_conditions(written, groups=groups)
    owner = spec.owner_filter.lstrip("@")
    if "logic" in {name.lower() for name in written}:
        return {**_build_owner_condition(spec, owner, allowed), "0": written}
    wanted = allowed
    rest: dict[str, object] = {}
    for name, value in written.items():
        prefix, field = _split_key(name)
        if prefix in _EXACT and field == fields.to_field_key(owner):
            wanted &= _select_named_users(value, allowed)
        else:
            rest[name] = value
    if not wanted:
        raise Refusal(refuse("gate-filter-foreign", field=owner, allowed=", ".join(map(str, sorted(allowed)))))
    return {**rest, **_build_owner_condition(spec, owner, wanted)}


def is_owned_otherwise(given: object, also_owned_by: Sequence[str], allowed: frozenset[int]) -> bool:
    """Return whether a condition of a filter leaves only records that belong to people in `allowed` by a field other than the owner's.

    Such a field is the one with the person who set a task. Raises Refusal if the filter holds anything but plain conditions.
    """
    if not also_owned_by or not allowed:
        return False
    conditions = _as_map(given, groups=False)
    _check_conditions(conditions, groups=False)
    keys = {fields.to_field_key(name) for name in also_owned_by}
    found = [(_split_key(name)[0], value) for name, value in conditions.items() if _split_key(name)[1] in keys]
    if len(found) != 1 or found[0][0] not in _EXACT:
        return False
    ids = fields.parse_ids(found[0][1])
    return bool(ids) and ids <= {str(user) for user in allowed}


def names_owner(spec: Method, given: object) -> bool:
    """Return whether the filter `given` has a condition on the responsible person at its top level."""
    owner = fields.to_field_key(spec.owner_filter.lstrip("@"))
    return isinstance(given, Mapping) and any(_split_key(str(name))[1] == owner for name in given)


def check_filter(spec: Method, given: object) -> None:
    """Raise Refusal if a filter contains anything but plain conditions joined by AND, or names the record it is about more than once.

    Such a filter might match more records than the one it is meant to identify.
    """
    conditions = _as_map(given, groups=False)
    _check_conditions(conditions, groups=False)
    places = (*spec.target, spec.target_entity.removeprefix("@"))
    about = {_split_key(path.removeprefix(_IN_FILTER))[1] for path in places if path.startswith(_IN_FILTER)}
    keys = [key for name in conditions if (key := _split_key(name)[1]) in about]
    if len(keys) != len(set(keys)):
        raise Refusal(refuse("gate-filter-unclear", param=" / ".join(sorted(set(keys)))))


def extract_conditions(given: object) -> dict[str, object]:
    """Return the conditions of a filter without groups, as field name → value."""
    conditions: JsonObject = given if isinstance(given, Mapping) else {}
    return {matched[2]: value for name, value in conditions.items() if (matched := _KEY.fullmatch(name)) is not None}


def _as_map(given: object, *, groups: bool) -> dict[str, object]:
    if given is None or given in ("", []):
        return {}
    if groups and isinstance(given, list):  # PHP converts a map with the keys 0, 1, 2 to a list
        return {str(place): group for place, group in enumerate(given)}
    if not isinstance(given, Mapping):
        raise build_refusal("gate-param-invalid", param="filter", expected="a map of conditions")
    return dict(given)


def _check_conditions(conditions: JsonObject, *, groups: bool) -> None:
    """Raise Refusal unless all keys are field names; groups and the key `logic` are allowed only if `groups` is true."""
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
    """Finds the people who may decide for others, with their present rights. The portal and the database are not read."""

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """Return the leads who get a request of `actor`, never the requester, and only those for whom `sees` is true; may be empty."""

    def apply_delegation(self, actor: Actor) -> Actor:
        """Return `actor` with role and visible records of each absent lead whose deputy they are today; anybody else unchanged."""


class NoLeads:
    """The `Approvers` used where no leads are known: cards stay in their own chat, where any lead may decide."""

    def find_leads(self, _actor: Actor, _sees: Sees) -> Sequence[Actor]:
        """Return an empty sequence."""
        return ()

    def apply_delegation(self, actor: Actor) -> Actor:
        """Return `actor` unchanged."""
        return actor
