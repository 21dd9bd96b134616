"""Finds out whether a write may come from words of other people that were read during the turn ("taint"). Pure."""

import re
from collections.abc import Iterator, Mapping

from bitrix.catalogue.names import CRM
from orchestrator.domain.effect import Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import find_critical_fields, to_field_keys
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.linked_records import list_elements
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask
from orchestrator.gate.call.targets import as_id
from orchestrator.language.foreign_text import gives_order
from state.stored import JsonObject

_SHORTEST = 3
_SHORTEST_OBEYED = 8
"""The least length of a text that somebody's title may have ordered to be written; a shorter one may be a name in it."""
_CLIENTS: Mapping[str, tuple[str, ...]] = {"contact": ("CONTACT_ID", "CONTACT_IDS"), "company": ("COMPANY_ID",)}
"""The fields of a record that hold its clients, by the kind of the client."""
_REFERRED = {"contactid": "contact", "contactids": "contact", "companyid": "company", "companyids": "company", "leadid": "lead"}
_PARENT = re.compile(r"parentid([0-9]{1,9})", re.ASCII)
_GAPS = re.compile(r"(?<=[0-9])[\s  ](?=[0-9]{3})")


def collect_taint_reasons(
    call: Call, provenance: Provenance, policy: Policy, facts: Facts, *, own_user: int | None = None
) -> Iterator[Notice]:
    """Yield reasons to ask a person, because this write may have been caused by text read in the CRM and not by the person.

    One such reason is a record that the person did not name. The requester (`own_user` is their number as an employee) needs no naming, and
    neither does the client of a record that the person named, unless the call sends something to people.
    """
    if call.reads_only:
        return
    if provenance.prose:
        yield ask("gate-taint-prose")
    if call.kind != "bitrix" and call.spec.entity != "reminder":
        yield from _collect_borrowed(call, call.params, provenance)
        return
    referenced = _find_referenced_records(call)
    if referenced:
        referenced -= _find_clients_of_named(call, provenance, facts)
    for entity, number in dict.fromkeys((*call.targets, *call.ties, *sorted(referenced))):
        is_own = (entity, number) == ("user", own_user)
        if not is_own and number not in provenance.numbers and f"{entity}:{number}" not in provenance.targets:
            yield ask("gate-taint-target", entity=entity, id=number)
    watched = call.written_fields if "N" in call.classes else find_critical_fields(call, policy)
    yield from _collect_borrowed(call, watched, provenance)
    yield from _collect_obeyed(call, {name: value for name, value in call.written_fields.items() if name not in watched}, provenance)


def _collect_borrowed(call: Call, watched: JsonObject, provenance: Provenance) -> Iterator[Notice]:
    """Yield a reason to ask for each of the values `watched` that stands in text of others and not in what the person wrote."""
    if not provenance.external:
        return
    said = _flatten(provenance.person_text)
    read = [_flatten(text) for text in provenance.external]
    for name, value in watched.items():
        if name not in call.system_fields and any(_is_borrowed(word, said, read) for word in _list_words(value)):
            yield ask("gate-taint-value" if call.kind == "bitrix" else "gate-taint-outside", field=name)


def _collect_obeyed(call: Call, written: JsonObject, provenance: Provenance) -> Iterator[Notice]:
    """Yield a reason to ask for each text among `written` that stands in a title or name that gives an order: «Напомни …»."""
    if not any(isinstance(value, str) and len(value) >= _SHORTEST_OBEYED for value in written.values()):
        return
    orders = tuple(text for text in provenance.external if gives_order(text))
    texts = {name: value for name, value in written.items() if isinstance(value, str) and len(value.strip()) >= _SHORTEST_OBEYED}
    yield from _collect_borrowed(call, texts, provenance.model_copy(update={"external": orders}))


def _find_clients_of_named(call: Call, provenance: Provenance, facts: Facts) -> frozenset[Target]:
    """Return the contacts and companies that the records changed by the call have now, if the person named these records.

    Return nothing for a call that may send something to people outside: the person has to check to whom it goes.
    """
    if "N" in call.classes:
        return frozenset()
    records = [
        (entity, facts.records.get((entity, number))) for entity, number in call.targets if f"{entity}:{number}" in provenance.targets
    ]
    return frozenset(
        (kind, number)
        for entity, record in records
        for kind, names in _CLIENTS.items()
        for name in names
        for written in fields.parse_ids(fields.find_value(record or {}, name, entity))
        if (number := as_id(written)) is not None
    )


def _is_borrowed(word: str, said: str, read: list[str]) -> bool:
    plain = _flatten(word)
    if len(plain) < _SHORTEST or plain in said:
        return False
    return any(plain in text for text in read)


def _list_words(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _list_words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _list_words(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _flatten(text: str) -> str:
    return _GAPS.sub("", " ".join(text.casefold().split()))


def _find_referenced_records(call: Call) -> frozenset[Target]:
    """Return the records to which a call only refers, such as the contact of a new deal.

    They need no check, but the person has to name them. Records in critical fields of an existing record are left out, because changes of
    these fields need a confirmation anyway.
    """
    if call.reads_only or call.kind != "bitrix":
        return frozenset()
    critical = to_field_keys(call.spec.critical, call.entity) if call.spec.verb != "add" else frozenset()
    found = (
        target
        for name, value in call.written_fields.items()
        if name not in call.system_fields and fields.to_field_key(name, call.entity) not in critical
        for target in _find_referenced(call, fields.to_field_key(name, call.entity), value)
    )
    return frozenset(found)


def _find_referenced(call: Call, key: str, value: object) -> Iterator[Target]:
    parent = _PARENT.fullmatch(key)
    kind = _REFERRED.get(key, "task" if (call.entity, key) == ("task", "parentid") else "")
    if parent is not None:
        kind = CRM.get(int(parent[1]), f"item:{int(parent[1])}")
    if kind:
        yield from ((kind, number) for item in fields.parse_ids(value) if (number := as_id(item)) is not None)
    elif key == "communications":
        for item in list_elements(value):
            if isinstance(item, Mapping):
                kind = CRM.get(as_id(fields.find_value(item, "ENTITY_TYPE_ID")) or 0, "")
                number = as_id(fields.find_value(item, "ENTITY_ID"))
                yield from ((kind, number),) if kind and number is not None else ()
