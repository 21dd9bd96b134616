"""The portal refuses a logged call or meeting without its customer. One whom the person may not read is not named.

With several contacts it is the one whom the person named; a name that none of them has makes a card. A stranger to the record whom the
person named no better than a contact of it («с Марией по сделке Вектора») is taken for that contact.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call.effect import Call, CallPartner, Facts, Target
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import may_touch
from orchestrator.gate.call.reasons import ask
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import as_id, list_elements
from orchestrator.gate.normalize import batch
from orchestrator.language.person_mentions import find_named_person
from orchestrator.language.title_matching import is_mentioned
from state.stored import JsonObject

_METHOD: Final = "crm.activity.add"
_TYPES: Final = frozenset({"1", "2"})
_FIELD: Final = "COMMUNICATIONS"
_CONTACT: Final = "CONTACT_ID"
_COMPANY: Final = "COMPANY_ID"
_DEAL_CONTACTS: Final = "crm.deal.contact.items.get"
_MOST: Final = 10
"""Contacts of a deal that are read."""
_NAMES: Final = ("NAME", "LAST_NAME")
_TITLES: Final = ("TITLE", "COMPANY_TITLE", *_NAMES)
_TEXTS: Final = ("SUBJECT", "DESCRIPTION")


async def load_call_partners(
    call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps
) -> Mapping[Target, Sequence[CallPartner]]:
    """For each record to which `call` adds a call or meeting: with whom it may be, the main one first, whom the call names last."""
    leaves = [leaf for leaf in call.leaves if _is_talk(leaf)]
    customers = {
        place: await _list_customers(place, records, deps) for place in dict.fromkeys(one for leaf in leaves for one in leaf.targets)
    }
    written = {place: [one] for leaf in leaves if (one := _find_written(leaf)) is not None for place in leaf.targets}
    missing = [customer for several in (*customers.values(), *written.values()) for customer in several if customer not in records]
    read = {**records, **(await deps.records.load_records(list(dict.fromkeys(missing))) if missing else {})}
    return {
        place: [*partners, *(_build_stranger(one, read) for one in written.get(place, ()) if one not in several)]
        for place, several in customers.items()
        if (partners := [partner for customer in several if (partner := _build_partner(customer, place, read, actor, deps)) is not None])
    }


def add_call_partners(call: Call, facts: Facts, text: str) -> Call:
    """Fills in calls and meetings that do not say with whom they are, or name somebody beside the record."""
    leaves = tuple(_add_partner(leaf, facts, text) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def collect_partner_reasons(leaf: Call, facts: Facts, text: str, actor: Actor) -> Iterator[Notice]:
    """The person named somebody, and none of the record's customers is called so."""
    partner = _choose_partner(leaf, facts, text) if _FIELD in leaf.system_fields else None
    if partner is None:
        return
    several = [one for target in leaf.targets for one in facts.call_partners.get(target, ())]
    said = [text, *_list_own_texts(leaf)]
    if any(_is_named(one, said) for one in several):
        return
    titles = [str(find_value(record, name) or "") for target in leaf.targets if (record := facts.records.get(target)) for name in _TITLES]
    if name := find_named_person(said, [*titles, *(one.name for one in several), actor.name]):
        yield ask("gate-call-partner", name=escape_text(name), who=escape_text(partner.name))


def _add_partner(leaf: Call, facts: Facts, text: str) -> Call:
    partner = _choose_partner(leaf, facts, text) if _is_silent(leaf) else _find_namesake(leaf, facts, text)
    if partner is None:
        return leaf
    fields = {**leaf.params["fields"], _FIELD: [dict(partner.entry)]}
    return replace(leaf, params={**leaf.params, "fields": fields}, system_fields=leaf.system_fields | {_FIELD})


def _choose_partner(leaf: Call, facts: Facts, text: str) -> CallPartner | None:
    found = next((facts.call_partners[target] for target in leaf.targets if target in facts.call_partners), ())
    partners = [one for one in found if one.entry]
    said = [text, *_list_own_texts(leaf)]
    return next((one for one in partners if _is_named(one, said)), next(iter(partners), None))


def _find_namesake(leaf: Call, facts: Facts, text: str) -> CallPartner | None:
    """A customer of the record whom the person named as well as the one that the call names."""
    several = [one for target in leaf.targets for one in facts.call_partners.get(target, ())]
    stranger = next((one for one in several if not one.entry), None) if _is_talk(leaf) else None
    if stranger is None:
        return None
    best = max(several, key=lambda one: _count_named(one, text))  # of equals the first
    return best if best.entry and _count_named(best, text) else None


def _count_named(partner: CallPartner, text: str) -> int:
    return sum(is_mentioned(name, text) for name in partner.name.split())


def _is_named(partner: CallPartner, said: Sequence[str]) -> bool:
    return any(is_mentioned(name, text) for name in {partner.name, *partner.name.split()} for text in said)


def _list_own_texts(leaf: Call) -> list[str]:
    return [value for name in _TEXTS if isinstance(value := leaf.written_fields.get(name), str)]


def _is_talk(leaf: Call) -> bool:
    fields = leaf.params.get("fields") if leaf.method == _METHOD else None
    return isinstance(fields, Mapping) and str(fields.get("TYPE_ID")) in _TYPES


def _is_silent(leaf: Call) -> bool:
    return _is_talk(leaf) and not leaf.params["fields"].get(_FIELD)


def _find_written(leaf: Call) -> Target | None:
    """The one contact that the call names; None for several."""
    entries = list(list_elements(leaf.params["fields"].get(_FIELD)))
    entry = entries[0] if len(entries) == 1 and isinstance(entries[0], Mapping) else {}
    number = as_id(entry.get("ENTITY_ID"))
    return ("contact", number) if number is not None and str(entry.get("ENTITY_TYPE_ID")) == "3" else None


async def _list_customers(place: Target, records: Mapping[Target, JsonObject | None], deps: GateDeps) -> list[Target]:
    """The contacts of a deal, or else its company."""
    record = records.get(place)
    if record is None:
        return []
    if place[0] != "deal":
        return [place]
    main, company = (as_id(find_value(record, name)) for name in (_CONTACT, _COMPANY))
    if main is None:
        return [("company", company)] if company is not None else []
    try:
        (rows,) = await deps.records.load_lists([(_DEAL_CONTACTS, {"id": place[1]})])
    except BitrixError:  # the main one is known
        rows = []
    others = [number for row in rows if isinstance(row, Mapping) and (number := as_id(row.get(_CONTACT))) is not None]
    return [("contact", number) for number in dict.fromkeys([main, *others])][:_MOST]


def _build_partner(
    customer: Target, place: Target, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps
) -> CallPartner | None:
    record = records.get(customer)
    if record is None or not _may_name(customer, record, records.get(place), actor, deps):
        return None
    definition, phone = deps.catalogue.entities[customer[0]], _find_phone(record)
    if not phone or definition.type_id is None:
        return None
    name = " ".join(str(value) for part in _NAMES if (value := find_value(record, part)))
    entry = {"VALUE": phone, "ENTITY_ID": customer[1], "ENTITY_TYPE_ID": definition.type_id, "TYPE": "PHONE"}
    return CallPartner(entry=entry, name=name or str(find_value(record, "TITLE") or ""))


def _build_stranger(customer: Target, records: Mapping[Target, JsonObject | None]) -> CallPartner:
    """Without an entry: the call has it already."""
    record = records.get(customer) or {}
    return CallPartner(entry={}, name=" ".join(str(value) for part in _NAMES if (value := find_value(record, part))))


def _may_name(customer: Target, record: JsonObject, deal: JsonObject | None, actor: Actor, deps: GateDeps) -> bool:
    if may_touch(actor, deps.catalogue.entities.get(customer[0]), record):
        return True
    is_open = deal is not None and find_value(deal, "CLOSED") == "N"
    return is_open and deps.policy.read_linked_customers and may_touch(actor, deps.catalogue.entities["deal"], deal)


def _find_phone(record: JsonObject) -> str:
    phones = record.get("PHONE")
    first = phones[0] if isinstance(phones, list) and phones else None
    return str(first.get("VALUE") or "") if isinstance(first, Mapping) else ""
