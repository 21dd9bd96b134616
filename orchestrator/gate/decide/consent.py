"""Six questions about a change, each with its reasons to ask. Pure.

A change that the CRM agent proposes runs without a card only if none gives a reason. Without an ordering message, only the fourth and the
fifth are asked.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from bitrix.catalogue.names import CRM
from orchestrator.domain.effect import MessageFacts, Provenance
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields
from orchestrator.gate.call.critical_fields import find_critical_fields, find_current_record, has_value, to_field_code, to_field_keys
from orchestrator.gate.call.effect import Call, Facts, Target
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask
from orchestrator.gate.call.targets import as_id, list_elements
from orchestrator.language.money_parser import find_amounts
from orchestrator.language.orders import gives_order, names_owner, names_stage
from orchestrator.language.word_runs import RUN, hash_runs, repeats, says, split_words
from state.stored import JsonObject

BESIDE: Final = "gate-beside"
ORDERED: Final = "2. was it ordered"
UNNAMED: Final = "gate-taint-target"
QUESTIONS: Final[Mapping[str, str]] = {
    "gate-replaces": "1. does it only add",
    "gate-no-addition": "1. does it only add",
    "gate-leaves-out": "1. does it only add",
    "gate-not-ordered": ORDERED,
    "gate-only-asked": ORDERED,
    "gate-not-plain": "3. is the message plain",
    UNNAMED: "4. is the record named",
    "gate-taint-value": "5. is nothing borrowed",
    "gate-taint-outside": "5. is nothing borrowed",
    "gate-taint-prose": "5. is nothing borrowed",
    "gate-more-than-ordered": "6. as many as ordered",
}
CONSENT_REASONS: Final = frozenset(QUESTIONS)
"""One of these puts all changes of the same answer on the card."""
_SHORTEST: Final = 3
_SENT: Final = "N"
_TITLED: Final = frozenset({"task", "activity", "todo", "reminder", "checklistitem"})
_NAMES: Final = frozenset({"title", "subject", "name", "text"})
_SPARSE: Final = frozenset({"deal", "lead"})
_WRITTEN_FREELY: Final = re.compile(
    r"[0-9]{1,4}|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9:.+Z-]{1,20})?|[A-Z][A-Z0-9_:]{0,20}|deal|lead|contact|company|y|n"
)
"""Dates, codes, numbers and flags are nobody's words."""
_CLIENTS: Final[Mapping[str, tuple[str, ...]]] = {"contact": ("CONTACT_ID", "CONTACT_IDS"), "company": ("COMPANY_ID",)}
_REFERRED: Final = {"contactid": "contact", "contactids": "contact", "companyid": "company", "companyids": "company", "leadid": "lead"}
_WRITTEN: Final = ("fields", "add")
"""What a change of many records writes: its condition may be of anybody's words."""
_PARENT: Final = re.compile(r"parentid([0-9]{1,9})", re.ASCII)


def collect_consent_reasons(
    call: Call, provenance: Provenance, policy: Policy, facts: Facts, *, own_user: int | None = None
) -> Iterator[Notice]:
    """Requester (`own_user`) and client of a named record need no naming, unless the call sends something to people."""
    if call.reads_only:
        return
    message = provenance.message
    watched = call.written_fields if "N" in call.classes else find_critical_fields(call, policy)
    if message is not None:
        yield from _collect_replaced(call, watched, facts)
        yield from _collect_left_out(call, provenance, facts)
        yield from _collect_doubts(message, is_question=provenance.person_text.rstrip().endswith("?"))
    if provenance.prose and not (message is not None and _is_dictated(call, provenance)):
        yield ask("gate-taint-prose")
    if call.kind != "bitrix" and call.spec.entity != "reminder":
        written = {name: call.params[name] for name in _WRITTEN if name in call.params} if facts.bulk is not None else call.params
        yield from _collect_borrowed(call, written, provenance)
        return
    yield from _collect_unnamed(call, provenance, facts, own_user)
    yield from _collect_borrowed(call, watched, provenance)
    if message is not None:
        yield from _collect_repeated(call, watched, provenance, facts)


def _collect_doubts(message: MessageFacts, *, is_question: bool) -> Iterator[Notice]:
    if message.orders == 0:
        yield ask("gate-only-asked" if is_question else "gate-not-ordered")
    elif message.changes > message.orders:
        yield ask("gate-more-than-ordered", changes=message.changes, orders=message.orders)
    if not message.is_plain:
        yield ask("gate-not-plain")
    if message.asks_beside:
        yield ask(BESIDE)


def _collect_replaced(call: Call, watched: JsonObject, facts: Facts) -> Iterator[Notice]:
    """Fields that hold something else now or could not be read; critical fields (`watched`) have reasons of their own."""
    if call.spec.verb == "add" or call.spec.adds or call.target_created or facts.bulk is not None:  # its file shows what is replaced
        return
    if call.spec.verb != "update":
        if call.classes != (_SENT,):  # a message replaces nothing; it asks because people read it
            yield ask("gate-no-addition", method=call.method)
        return
    record = find_current_record(call, facts)
    for name, value in call.written_fields.items():
        if name in call.system_fields or name in watched or is_multifield(name) or _only_adds(call, name, value, record):
            continue
        yield ask("gate-replaces", field=to_field_code(call, name))


def _only_adds(call: Call, name: str, value: object, record: JsonObject | None) -> bool:
    """It is empty, holds the value already, or is a text that keeps all it holds."""
    stored_name = call.spec.stands_for.get(name, name)
    if record is None or not fields.has_field(record, stored_name, call.entity):
        return False
    present = fields.find_value(record, stored_name, call.entity)
    if is_empty(present) or has_value(call, name, value, record):
        return True
    info = fields.find_field_info(call.entities.get(call.entity), stored_name)
    return info is not None and info.kind == "prose" and keeps_text(present, value)


def is_empty(value: object) -> bool:
    return fields.is_blank(value) or value in (0, "0", "0.00") or (isinstance(value, str) and not value.strip())


def keeps_text(present: object, value: object) -> bool:
    """`value` begins or ends with the whole text `present`, and hides none of it by markup."""
    if not isinstance(present, str) or not isinstance(value, str):
        return False
    old, new = ("\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (present, value))
    added = new.removeprefix(old) if new.startswith(old) else new.removesuffix(old)
    seam = added[:1] if new.startswith(old) else added[-1:]
    return new == old or (added != new and not seam.isalnum() and "<" not in added and "[" not in added)


def _collect_left_out(call: Call, provenance: Provenance, facts: Facts) -> Iterator[Notice]:
    if call.spec.verb != "add" or call.kind != "bitrix":
        return
    text = provenance.person_text
    keys = {fields.to_field_key(name, call.entity) for name in call.written_fields if name not in call.system_fields}
    if call.spec.responsible in call.system_fields and (facts.named_people or names_owner(text)):
        yield ask("gate-leaves-out", field="ASSIGNED_BY_ID")
    if call.entity in _SPARSE and not keys & {"stageid", "statusid"} and names_stage(text):
        yield ask("gate-leaves-out", field="STAGE_ID")
    if call.entity in _SPARSE and "opportunity" not in keys and any(find_amounts(text)):
        yield ask("gate-leaves-out", field="OPPORTUNITY")


def _collect_unnamed(call: Call, provenance: Provenance, facts: Facts, own_user: int | None) -> Iterator[Notice]:
    referenced = _find_referenced_records(call) - _find_clients_of_named(call, provenance, facts)
    for entity, number in dict.fromkeys((*call.targets, *call.ties, *sorted(referenced))):
        is_own = (entity, number) == ("user", own_user)
        if not is_own and number not in provenance.numbers and f"{entity}:{number}" not in provenance.targets:
            yield ask(UNNAMED, entity=entity, id=number)


def _collect_borrowed(call: Call, watched: JsonObject, provenance: Provenance) -> Iterator[Notice]:
    own_text = _flatten(provenance.person_text)
    read = [_flatten(text) for text in provenance.external]
    for name, value in watched.items():
        words = [word for one in _list_words(value) if len(word := _flatten(one)) >= _SHORTEST and word not in own_text] if read else []
        if (
            name not in call.system_fields
            and not _is_named_target(call, name, value, provenance)
            and any(word in text for word in words for text in read)
        ):
            yield ask("gate-taint-value" if call.kind == "bitrix" else "gate-taint-outside", field=name)


def _is_named_target(call: Call, name: str, value: object, provenance: Provenance) -> bool:
    """The number of the record that the call is about: by a name or a button the person has named it."""
    is_target = any(path.rpartition(".")[2] == name for path in call.spec.target)
    return is_target and any(str(number) == str(value) and f"{kind}:{number}" in provenance.targets for kind, number in call.targets)


def _collect_repeated(call: Call, watched: JsonObject, provenance: Provenance, facts: Facts) -> Iterator[Notice]:
    texts = {
        name: words
        for name, value in call.written_fields.items()
        if name not in watched
        and name not in call.system_fields
        and (words := [one for one in _list_words(value) if " " in one or len(one) > _SHORTEST])
    }
    runs = provenance.runs | hash_runs(provenance.external) if texts else frozenset()
    records = (fields.find_value(facts.records.get(one) or {}, "TITLE", one[0]) for one in (*call.targets, *call.ties))
    titles = {label.partition(" · ")[0] for label in provenance.external} | {title for title in records if isinstance(title, str)}
    for name, words in texts.items():
        about = call.entity in _TITLED and fields.to_field_key(name, call.entity) in _NAMES
        if any(repeats(_leave_titles(word, titles) if about else word, provenance.person_text, runs) for word in words):
            yield ask("gate-taint-value", field=to_field_code(call, name))


def _leave_titles(text: str, titles: set[str]) -> str:
    """A task's name without records' titles, unless it is nothing but a long title, or a title gives an order."""
    left = text
    for title in sorted(titles, key=len, reverse=True):
        if len(title) >= _SHORTEST and title in left and not gives_order(title):
            left = left.replace(title, " ")
    return left if any(map(str.isalnum, left)) or len(text.split()) < RUN else text


def _is_dictated(call: Call, provenance: Provenance) -> bool:
    message = provenance.message
    if message is None or provenance.pasted or not message.orders or not message.is_plain:
        return False
    ids = {str(number) for _, number in (*call.targets, *call.ties)}
    words = [word for name, value in call.written_fields.items() if name not in call.system_fields for word in _list_words(value)]
    return all(_WRITTEN_FREELY.fullmatch(word.strip()) or word in ids or says(provenance.person_text, word) for word in words)


def _find_clients_of_named(call: Call, provenance: Provenance, facts: Facts) -> frozenset[Target]:
    """Present customers of the changed records that the person named; none if the call may send something outside."""
    if "N" in call.classes:
        return frozenset()
    changed_records = [
        (entity, facts.records.get((entity, number))) for entity, number in call.targets if f"{entity}:{number}" in provenance.targets
    ]
    return frozenset(
        (kind, number)
        for entity, record in changed_records
        for kind, names in _CLIENTS.items()
        for name in names
        for written in fields.parse_ids(fields.find_value(record or {}, name, entity))
        if (number := as_id(written)) is not None
    )


def _list_words(value: object) -> Iterator[str]:
    if isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _list_words(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


def _flatten(text: str) -> str:
    return " ".join(split_words(text))


def _find_referenced_records(call: Call) -> frozenset[Target]:
    """Records to which a call only refers, such as a new deal's contact: unchecked, but the person has to name them."""
    if call.reads_only or call.kind != "bitrix":
        return frozenset()
    asks_anyway = call.spec.verb != "add" and not call.spec.changes_one
    critical = to_field_keys(call.spec.critical, call.entity) if asks_anyway else frozenset()
    referred = (
        target
        for name, value in call.written_fields.items()
        if name not in call.system_fields and fields.to_field_key(name, call.entity) not in critical
        for target in _find_referenced(call, fields.to_field_key(name, call.entity), value)
    )
    return frozenset(referred)


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
