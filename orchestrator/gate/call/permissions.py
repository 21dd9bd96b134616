"""Whose records a person may touch. Ring 2, pure: it names what must be read and judges what was read.

A list filter limited to the records the actor may see. Ring 2, pure; what it cannot limit for sure, it refuses.

Filters of the portal are joined by AND at their top level, unless `logic` says otherwise there; only crm.item.list has groups.

Who may decide for others: heads of sales, and who stands in for them. Ring 2; `orchestrator.features.leads` implements the port.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Protocol

from bitrix.catalogue.catalogue import Entity, Method
from orchestrator.domain.actor import Actor
from orchestrator.gate.call import fields
from orchestrator.gate.call.effect import Call, Target
from orchestrator.gate.call.params import build_refusal


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


_KEY = re.compile(r"([!=<>@%?~*]{0,3})([A-Za-z][A-Za-z0-9_.]*)", re.ASCII)
_GROUP = re.compile(r"[0-9]{1,3}", re.ASCII)
_SWITCHES = frozenset({"checkpermissions", "permission", "permissions", "innerfilter", "resolve"})
_EXACT = frozenset({"", "=", "@"})


def narrow_filter(spec: Method, given: Any, allowed: frozenset[int]) -> dict[str, Any]:
    """`given` with the responsible person bound to `allowed`; raises Refusal for other people or an unclear filter."""
    groups = spec.name == "crm.item.list"
    written = _as_map(given, groups=groups)
    _check_conditions(written, groups=groups)
    owner = spec.owner_filter.lstrip("@")
    if "logic" in {name.lower() for name in written}:
        return {**_build_owner_condition(spec, owner, allowed), "0": written}
    wanted = allowed
    rest: dict[str, Any] = {}
    for name, value in written.items():
        prefix, field = _split_key(name)
        if prefix in _EXACT and field == fields.to_field_key(owner):
            wanted &= _select_named_users(value, allowed)
        else:
            rest[name] = value
    if not wanted:
        raise _build_foreign_refusal(owner, allowed)
    return {**rest, **_build_owner_condition(spec, owner, wanted)}


def check_filter(given: Any) -> None:
    """Raise Refusal for a filter that names one record and might be joined by OR with more."""
    _check_conditions(_as_map(given, groups=False), groups=False)


def extract_conditions(given: Any) -> dict[str, Any]:
    """The fields that a filter without groups asks for, without their prefixes; what is no plain condition is left out."""
    found = {name: _KEY.fullmatch(name) for name in given} if isinstance(given, Mapping) else {}
    return {matched[2]: given[name] for name, matched in found.items() if matched is not None}


def _as_map(given: Any, *, groups: bool) -> dict[str, Any]:
    if given is None or given in ("", []):
        return {}
    if groups and isinstance(given, list):  # PHP makes a list of a map whose keys are 0, 1, 2
        return {str(place): group for place, group in enumerate(given)}
    if not isinstance(given, Mapping):
        raise build_refusal("gate-param-invalid", param="filter", expected="a map of conditions")
    return dict(given)


def _check_conditions(conditions: Mapping[str, Any], *, groups: bool) -> None:
    """Only names of fields; groups and `logic` only where the method has them."""
    for name, value in conditions.items():
        if groups and (_GROUP.fullmatch(name) or name.lower() == "logic"):
            for part in value if isinstance(value, list) else [value]:
                _check_conditions(part if isinstance(part, Mapping) else {}, groups=groups)
            continue
        matched = _KEY.fullmatch(name)
        if matched is None or fields.to_field_key(matched[2]) in _SWITCHES or matched[2].lower() == "logic":
            raise build_refusal("gate-filter-unclear", param=name)


def _split_key(name: str) -> tuple[str, str]:
    matched = _KEY.fullmatch(name)
    return (matched[1], fields.to_field_key(matched[2])) if matched else ("", "")


def _select_named_users(value: Any, allowed: frozenset[int]) -> frozenset[int]:
    """Those of `allowed` whom an exact condition names."""
    named = fields.parse_ids(value)
    return frozenset(user for user in allowed if str(user) in named)


def _build_foreign_refusal(field: str, allowed: frozenset[int]) -> Exception:
    return build_refusal("gate-filter-foreign", field=field, allowed=", ".join(map(str, sorted(allowed))))


def _build_owner_condition(spec: Method, owner: str, users: frozenset[int]) -> dict[str, Any]:
    if len(users) == 1:
        return {owner: next(iter(users))}
    prefix = "@" if spec.owner_filter.startswith("@") else ""
    return {prefix + owner: sorted(users)}


Sees = Callable[[Actor], bool]


class Approvers(Protocol):
    """Answers from memory, with the rights of this moment."""

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """The leads to whom a request of `actor` is shown: never the one who asks, and only who may see its records; may be nobody."""
        ...

    def apply_delegation(self, actor: Actor) -> Actor:
        """`actor` with the role and the sight of the lead for whom they stand in today; else unchanged."""
        ...


class NoLeads:
    """Nobody is known: cards stay in their own chat, where any lead may decide."""

    def find_leads(self, actor: Actor, sees: Sees) -> Sequence[Actor]:
        """Nobody."""
        del actor, sees
        return ()

    def apply_delegation(self, actor: Actor) -> Actor:
        """As they are."""
        return actor


def is_same_person(one: Actor, key: str, user: int | None) -> bool:
    """Whether `one` is the person with this key or, under another account, the same employee."""
    return one.key == key or (user is not None and one.bitrix_user_id == user)


@dataclass(frozen=True, kw_only=True)
class Absence:
    """A lead does not decide up to and with `until`; `deputy` does, "" where nobody was named."""

    until: date
    deputy: str = ""


class Staff(Protocol):
    """Who may use the bot now; the access list implements it, and answers from memory."""

    def list_people(self) -> Sequence[Actor]:
        """All of them."""
        ...

    def find_lead(self, key: str) -> str:
        """The key of the lead who is named for this person, "" where none is."""
        ...

    def find_absence(self, key: str) -> Absence | None:
        """Whether the access list says that this person is away; a day that has passed may still be said."""
        ...
