"""The portal refuses a logged call or meeting without its customer. One whom the person may not read is not named.

With several contacts it is the one whom the person named; a name that none of them has makes a card.
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
from orchestrator.gate.call.targets import as_id
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
    """For each record to which `call` adds a call or meeting without saying with whom, those it may be, the main one first."""
    places = list(dict.fromkeys(target for leaf in call.leaves if _is_silent(leaf) for target in leaf.targets))
    customers = {place: await _list_customers(place, records, deps) for place in places}
    missing = [customer for several in customers.values() for customer in several if customer not in records]
    read = {**records, **(await deps.records.load_records(list(dict.fromkeys(missing))) if missing else {})}
    return {
        place: partners
        for place, several in customers.items()
        if (partners := [one for customer in several if (one := _build_partner(customer, place, read, actor, deps)) is not None])
    }


def add_call_partners(call: Call, facts: Facts, text: str) -> Call:
    """Fills in only calls and meetings that do not say with whom they are."""
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
    partner = _choose_partner(leaf, facts, text) if _is_silent(leaf) else None
    if partner is None:
        return leaf
    fields = {**leaf.params["fields"], _FIELD: [dict(partner.entry)]}
    return replace(leaf, params={**leaf.params, "fields": fields}, system_fields=leaf.system_fields | {_FIELD})


def _choose_partner(leaf: Call, facts: Facts, text: str) -> CallPartner | None:
    partners = next((facts.call_partners[target] for target in leaf.targets if target in facts.call_partners), ())
    said = [text, *_list_own_texts(leaf)]
    return next((one for one in partners if _is_named(one, said)), next(iter(partners), None))


def _is_named(partner: CallPartner, said: Sequence[str]) -> bool:
    return any(is_mentioned(name, text) for name in {partner.name, *partner.name.split()} for text in said)


def _list_own_texts(leaf: Call) -> list[str]:
    return [value for name in _TEXTS if isinstance(value := leaf.written_fields.get(name), str)]


def _is_silent(leaf: Call) -> bool:
    fields = leaf.params.get("fields") if leaf.method == _METHOD else None
    return isinstance(fields, Mapping) and str(fields.get("TYPE_ID")) in _TYPES and not fields.get(_FIELD)


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


def _may_name(customer: Target, record: JsonObject, deal: JsonObject | None, actor: Actor, deps: GateDeps) -> bool:
    if may_touch(actor, deps.catalogue.entities.get(customer[0]), record):
        return True
    is_open = deal is not None and find_value(deal, "CLOSED") == "N"
    return is_open and deps.policy.read_linked_customers and may_touch(actor, deps.catalogue.entities["deal"], deal)


def _find_phone(record: JsonObject) -> str:
    phones = record.get("PHONE")
    first = phones[0] if isinstance(phones, list) and phones else None
    return str(first.get("VALUE") or "") if isinstance(first, Mapping) else ""
