"""The portal refuses a logged call or meeting without its customer. One whom the person may not read is not named."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.fields import find_value
from orchestrator.gate.call.gate_deps import GateDeps
from orchestrator.gate.call.permissions import may_touch
from orchestrator.gate.call.serialization import get_essence
from orchestrator.gate.call.targets import as_id
from orchestrator.gate.normalize import batch
from state.stored import JsonObject

_METHOD: Final = "crm.activity.add"
_TYPES: Final = frozenset({"1", "2"})
_FIELD: Final = "COMMUNICATIONS"
_CUSTOMERS: Final = (("CONTACT_ID", "contact"), ("COMPANY_ID", "company"))


async def load_call_partners(
    call: Call, records: Mapping[Target, JsonObject | None], actor: Actor, deps: GateDeps
) -> Mapping[Target, JsonObject]:
    """The entry of COMMUNICATIONS for each record to which `call` adds a call or meeting without saying with whom."""
    customers = {target: _find_customer(target, records) for leaf in call.leaves if _is_silent(leaf) for target in leaf.targets}
    missing = [customer for customer in customers.values() if customer is not None and customer not in records]
    read = {**records, **(await deps.records.load_records(list(dict.fromkeys(missing))) if missing else {})}
    partners: dict[Target, JsonObject] = {}
    for target, customer in customers.items():
        record = read.get(customer) if customer is not None else None
        if customer is None or record is None or not _may_name(customer, record, read.get(target), actor, deps):
            continue
        definition, phone = deps.catalogue.entities[customer[0]], _find_phone(record)
        if phone and definition.type_id is not None:
            partners[target] = {"VALUE": phone, "ENTITY_ID": customer[1], "ENTITY_TYPE_ID": definition.type_id, "TYPE": "PHONE"}
    return partners


def add_call_partners(call: Call, facts: Facts) -> Call:
    """Fills in only calls and meetings that do not say with whom they are."""
    leaves = tuple(_add_partner(leaf, facts) for leaf in call.leaves)
    if leaves == call.leaves:
        return call
    whole = batch.build_batch(call.spec, leaves, halt=call.halt, portal=call.portal) if call.commands else leaves[0]
    return replace(whole, proposed_essence=get_essence(call))


def _add_partner(leaf: Call, facts: Facts) -> Call:
    partner = next((facts.call_partners[target] for target in leaf.targets if target in facts.call_partners), None)
    if partner is None or not _is_silent(leaf):
        return leaf
    fields = {**leaf.params["fields"], _FIELD: [dict(partner)]}
    return replace(leaf, params={**leaf.params, "fields": fields}, system_fields=leaf.system_fields | {_FIELD})


def _is_silent(leaf: Call) -> bool:
    fields = leaf.params.get("fields") if leaf.method == _METHOD else None
    return isinstance(fields, Mapping) and str(fields.get("TYPE_ID")) in _TYPES and not fields.get(_FIELD)


def _find_customer(target: Target, records: Mapping[Target, JsonObject | None]) -> Target | None:
    record = records.get(target)
    if record is None:
        return None
    if target[0] != "deal":
        return target
    customers = ((kind, as_id(find_value(record, name))) for name, kind in _CUSTOMERS)
    return next(((kind, number) for kind, number in customers if number is not None), None)


def _may_name(customer: Target, record: JsonObject, deal: JsonObject | None, actor: Actor, deps: GateDeps) -> bool:
    if may_touch(actor, deps.catalogue.entities.get(customer[0]), record):
        return True
    is_open = deal is not None and find_value(deal, "CLOSED") == "N"
    return is_open and deps.policy.read_linked_customers and may_touch(actor, deps.catalogue.entities["deal"], deal)


def _find_phone(record: JsonObject) -> str:
    phones = record.get("PHONE")
    first = phones[0] if isinstance(phones, list) and phones else None
    return str(first.get("VALUE") or "") if isinstance(first, Mapping) else ""
