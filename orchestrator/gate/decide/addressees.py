"""With whom a call or letter is, where it says so itself: the card names who is no customer of the record, and whose address it is not."""

from collections.abc import Iterator, Mapping
from typing import Final

from bitrix.catalogue.names import CRM, MULTIFIELDS
from bitrix.client.batch import find_references
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields, multifields
from orchestrator.gate.call.effect import Addressee, Call, Facts, Refuse, Target
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import may_touch
from orchestrator.gate.call.reasons import ask, refuse
from orchestrator.gate.call.targets import as_id, find_entity_by_code, list_elements
from orchestrator.gate.normalize.batch import wrap_refusal
from state.stored import JsonObject

_ACTIVITY: Final = "activity"
_TALK: Final = "COMMUNICATIONS"
_BINDINGS: Final = "BINDINGS"
_WRITTEN: Final[Mapping[str, tuple[str, ...]]] = {
    _TALK: ("ENTITY_TYPE_ID", "ENTITY_ID", "TYPE", "VALUE"),
    _BINDINGS: ("OWNER_TYPE_ID", "OWNER_ID"),
}
_READ: Final = frozenset({"ID", "ACTIVITY_ID", "ENTITY_SETTINGS"})
"""Beside them in what the portal gives: it leaves them out of what is written."""
_KINDS: Final = {number: CRM[number] for number in (1, 3, 4)}
"""Of records that have phones and addresses."""
_EXPECTED_KIND: Final = "1 (lead), 3 (contact) or 4 (company)"
_CUSTOMERS: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("CONTACT_ID", "CONTACT_IDS"), "company": ("COMPANY_ID", "COMPANY_IDS")}
_DEAL_CONTACTS: Final = "crm.deal.contact.items.get"
_NOBODY: Final = "none"


async def load_addressees(
    call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps
) -> Mapping[tuple[Target, Target], Addressee | None]:
    """By the call's own target and the record that it names; None for one that is not there. Raises BitrixError."""
    named = {leaf.targets[0]: [target for item in items if (target := _find_target(item)) is not None] for leaf, items in _list_talks(call)}
    if not any(named.values()):
        return {}
    owners = {own: _find_owner(own, records, deps) for own in named}
    read = {**records}
    missing = [one for one in (*owners.values(), *(target for several in named.values() for target in several)) if one not in read]
    read |= await deps.records.load_records(list(dict.fromkeys(missing))) if missing else {}
    partners = {owner: await _find_customers(owner, read.get(owner), deps) for owner in dict.fromkeys(owners.values())}
    return {
        (own, target): _build_addressee(target, owners[own], partners[owners[own]], read, actor, deps)
        for own, several in named.items()
        for target in several
    }


def collect_addressee_reasons(leaf: Call, facts: Facts) -> Iterator[Notice]:
    """What code itself filled in is known to fit."""
    for item in next((items for _, items in _list_talks(leaf)), ()):
        value = str(fields.find_value(item, "VALUE") or "").strip()
        target = _find_target(item)
        if target is None:
            if value and not fields.find_value(item, "ENTITY_ID") and not find_references(value):
                yield ask("gate-address-nobody", value=escape_text(value))
            continue
        found = facts.addressees.get((leaf.targets[0], target))
        if found is None:
            continue
        who = escape_text(found.name) or _NOBODY
        if value and not _is_own_address(value, found, is_sent="N" in leaf.classes):
            yield ask("gate-address-foreign", value=escape_text(value), who=who, entity=target[0], id=target[1])
        if not found.is_customer:
            yield ask("gate-call-stranger", who=who, entity=target[0], id=target[1])


def find_addressee_problem(call: Call, facts: Facts) -> Refuse | None:
    """What the portal would leave out in silence, and a record that is not there."""
    for leaf in call.leaves:
        problem = next(_find_problems(leaf, facts), None)
        if problem is not None:
            return wrap_refusal(leaf, problem, facts) if call.commands else problem
    return None


def _find_problems(leaf: Call, facts: Facts) -> Iterator[Refuse]:
    if _ACTIVITY not in {leaf.entity, leaf.spec.entity}:
        return
    place = "filter" if leaf.reads_only else leaf.spec.fields_at
    held = leaf.params.get(place)
    for name, value in held.items() if isinstance(held, Mapping) else ():
        keys = _WRITTEN.get(name.lstrip("!=@").upper(), ())
        for item in list_elements(value) if keys and value not in ("", None, [], {}) else ():
            yield from _check_item(leaf, item, f"{place}.{name}", keys)
    for item in next((items for _, items in _list_talks(leaf)), ()):
        target = _find_target(item)
        kind = fields.find_value(item, "ENTITY_TYPE_ID")
        if target is None and (kind or fields.find_value(item, "ENTITY_ID")) and as_id(kind) not in _KINDS:
            yield refuse("gate-param-invalid", param=f"{_TALK}.ENTITY_TYPE_ID", expected=_EXPECTED_KIND)
        if target is not None and facts.addressees.get((leaf.targets[0], target), target) is None:
            yield refuse("gate-not-found", entity=target[0], id=target[1])


def _check_item(leaf: Call, item: object, path: str, keys: tuple[str, ...]) -> Iterator[Refuse]:
    has = ", ".join(keys)
    if not isinstance(item, Mapping):
        yield refuse("gate-param-invalid", param=path, expected=f"a list of objects with {has}")
        return
    for key in item:
        if key not in keys and key not in _READ:
            yield refuse("gate-param-unknown", method=leaf.method, param=f"{path}.{key}", titles=_NOBODY, hint=f" It has {has}.")


def _list_talks(call: Call) -> Iterator[tuple[Call, list[JsonObject]]]:
    """Commands with whom they are, if they say it themselves."""
    for leaf in call.leaves:
        if leaf.reads_only or leaf.spec.entity != _ACTIVITY or not leaf.targets or _TALK in leaf.system_fields:
            continue
        items = [item for item in list_elements(fields.find_value(leaf.written_fields, _TALK)) if isinstance(item, Mapping)]
        if items:
            yield leaf, items


def _find_target(item: JsonObject) -> Target | None:
    kind, number = (as_id(fields.find_value(item, name)) for name in ("ENTITY_TYPE_ID", "ENTITY_ID"))
    return (_KINDS[kind], number) if kind in _KINDS and number is not None else None


def _find_owner(own: Target, records: Mapping[Target, JsonObject | None], deps: GateDeps) -> Target:
    """The record on whose card an activity stands that the call changes."""
    record = records.get(own) if own[0] == _ACTIVITY else None
    kind, number = (fields.find_value(record or {}, name) for name in ("OWNER_TYPE_ID", "OWNER_ID"))
    entity, owner = find_entity_by_code(str(kind), deps.catalogue) if kind else "", as_id(number)
    return (entity, owner) if entity and owner is not None else own


async def _find_customers(place: Target, record: JsonObject | None, deps: GateDeps) -> frozenset[Target]:
    """The record itself and those linked to it."""
    linked = {
        (kind, number)
        for kind, names in _CUSTOMERS.items()
        for name in names
        for written in fields.parse_ids(fields.find_value(record or {}, name, place[0]))
        if (number := as_id(written)) is not None
    }
    if place[0] == "deal" and record is not None:
        try:
            (rows,) = await deps.records.load_lists([(_DEAL_CONTACTS, {"id": place[1]})])
        except BitrixError:  # the main one is known
            rows = []
        linked |= {("contact", number) for row in rows if isinstance(row, Mapping) and (number := as_id(row.get("CONTACT_ID"))) is not None}
    return frozenset({place, *linked})


def _build_addressee(
    target: Target, place: Target, customers: frozenset[Target], read: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps
) -> Addressee | None:
    record = read.get(target)
    if record is None:
        return None
    names = (str(value) for name in ("TITLE", "NAME", "LAST_NAME") if (value := fields.find_value(record, name)))
    company = as_id(fields.find_value(record, "COMPANY_ID"))
    is_customer = target in customers or (place[0] == "company" and company == place[1])
    may_name = is_customer or may_touch(actor, deps.catalogue.entities.get(target[0]), record)
    addresses = frozenset(one.key for one in multifields.parse_elements(record))
    return Addressee(name=" ".join(names) if may_name else "", is_customer=is_customer, addresses=addresses)


def _is_own_address(value: str, found: Addressee, *, is_sent: bool) -> bool:
    """The value of a meeting may be a name; nothing is sent to it."""
    if not is_sent and "@" not in value and not any(sign.isdigit() for sign in value):
        return True
    return any((kind, multifields.to_comparable(kind, value)) in found.addresses for kind in MULTIFIELDS)
