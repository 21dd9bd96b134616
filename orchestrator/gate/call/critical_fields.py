"""What a person must confirm. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from bitrix.catalogue.catalogue import Catalogue, ListKind
from bitrix.catalogue.names import is_custom_field
from bitrix.client.batch import find_references
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.gate.call import fields, replaced_lists
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.effect_kinds import find_spec
from orchestrator.gate.call.kinds.registry import KINDS
from orchestrator.gate.call.multifields import is_multifield
from orchestrator.gate.call.policy import Policy
from orchestrator.gate.call.reasons import ask
from orchestrator.language.links import NOBODY, Mentions, read_mentions
from state.stored import JsonObject

_SUMS = frozenset({"opportunity", "taxvalue", "price"})
_PEOPLE = frozenset(
    {
        "assignedbyid",
        "responsibleid",
        "createdby",
        "createdbyid",
        "authorid",
        "accomplices",
        "auditors",
        "observers",
        "observerids",
        "attendees",
        "members",
    }
)
_STAGES = frozenset({"stageid", "statusid"})
_LIST_CODES: Mapping[ListKind, str] = {"products": "ROWS", "contacts": "CONTACT_IDS", "companies": "COMPANY_IDS", "people": "ATTENDEES"}
_LONGEST_NUMBER = 9
_NEW_NUMBER = re.compile(r"(?:[A-Za-z0-9]{1,12}_)?\$result\[[A-Za-z0-9_-]+\](?:\[item\]|\[task\])?(?:\[id\])?", re.ASCII)
_TASK_WAITS = "2"
_CLASS_CODES = (("D", "gate-class-delete"), ("M", "gate-class-money"), ("N", "gate-class-outward"))


def collect_ask_reasons(call: Call, *, policy: Policy, actor: Actor, facts: Facts) -> Iterator[Notice]:
    """The reasons why this call needs a confirmation (S004-29, S004-37, S004-76)."""
    if call.reads_only:
        return
    record = find_current_record(call, facts)
    if replaced_lists.replaces_sum(replaced_lists.find_list_change(call, record), record):
        yield ask("gate-sum-by-rows")
    yield from _collect_class_reasons(call)
    if call.spec.asks:
        yield ask("gate-critical-action", method=call.method)
    if call.unknown_target and call.references:
        yield ask("gate-reference-id")
    yield from _collect_mention_reasons(call, actor)
    yield from _collect_field_reasons(call, policy=policy, actor=actor, facts=facts)


def find_critical_fields(call: Call, policy: Policy) -> dict[str, object]:
    names = to_field_keys(call.spec.critical, call.entity)
    if policy.critical_fields:
        names |= to_field_keys(policy.critical_fields, call.entity)
    return {
        name: value
        for name, value in call.written_fields.items()
        if name not in call.system_fields and fields.to_field_key(name, call.entity) in names
    }


def is_critical_field(catalogue: Catalogue, critical: frozenset[str], write: tuple[str, str], place: Sequence[str | int]) -> bool:
    """Whether a value there makes a card, as far as a definition tells; `critical` are fields that the policy adds.

    Every value counts for a method that deletes, moves money or reaches people; none for an unknown one.
    """
    spec = find_spec(catalogue, *write)
    if spec is None or spec.reads_only:
        return False
    if any(letter in spec.classes for letter, _ in _CLASS_CODES) or spec.asks:
        return True
    inside = list(place) if not spec.fields_at else list(place[1:]) if place[:1] == (spec.fields_at,) else []
    if not inside:
        return False
    key = fields.to_field_key(str(inside[0]), spec.entity)
    watched = to_field_keys(critical, spec.entity)
    if spec.verb == "add":
        return key in watched | _SUMS | _PEOPLE | _STAGES
    return key in watched | to_field_keys(spec.critical, spec.entity)


@lru_cache(maxsize=1024)  # its arguments are lists of the catalogue and the policy, so there are few
def to_field_keys(names: tuple[str, ...] | frozenset[str], entity: str) -> frozenset[str]:
    """Different spellings of one field have the same key."""
    return frozenset(fields.to_field_key(name, entity) for name in names)


def find_current_record(call: Call, facts: Facts) -> JsonObject | None:
    """As the call will find it; None for a new record and for one that was not read."""
    for target in call.targets:
        records = facts.planned if target in facts.planned else facts.records
        if (record := records.get(target)) is not None:
            return record
    return None


def list_written_amounts(call: Call) -> list[tuple[str, object]]:
    return [(name, value) for name, value in call.written_fields.items() if fields.to_field_key(name) in _SUMS]


def to_field_code(call: Call, name: str) -> str:
    if name in call.spec.replaces:
        return _LIST_CODES[call.spec.replaces[name]]
    if name in call.spec.stands_for:
        name = call.spec.stands_for[name]
    entity = call.entities.get(call.entity)
    return entity.by_key.get(fields.to_field_key(name, entity.name), name) if entity else name


def _collect_class_reasons(call: Call) -> Iterator[Notice]:
    for letter, code in _CLASS_CODES:
        if letter in call.classes:
            unlinks = letter == "D" and bool(call.spec.replaces)  # the former links can be restored
            outward = letter == "N" and call.kind != "bitrix"
            yield ask("gate-class-unlink" if unlinks else KINDS[call.kind].outward if outward else code, method=call.method)
    if "C" in call.classes:
        code = "gate-binding" if call.method in {"event.bind", "event.unbind"} else "gate-class-config"
        yield ask(code, method=call.method)


def find_mentions(call: Call) -> Mentions:
    is_silent = call.kind != "bitrix" or call.reads_only or call.spec.verb == "delete"
    return NOBODY if is_silent else read_mentions(call.params)


def _collect_mention_reasons(call: Call, actor: Actor) -> Iterator[Notice]:
    mentions = find_mentions(call)
    if call.spec.verb == "add" and mentions.members:  # a new item for somebody else asks because of its field
        mentions = replace(mentions, members=())
    if not mentions.is_only_about(actor.bitrix_user_id):
        yield ask("gate-notifies", method=call.method)
    if mentions.links:
        yield ask("gate-hidden-link", method=call.method)


def _collect_field_reasons(call: Call, *, policy: Policy, actor: Actor, facts: Facts) -> Iterator[Notice]:
    critical = find_critical_fields(call, policy)
    for name, value in critical.items():
        if _has_reference(call, name):
            yield ask("gate-reference-field", field=to_field_code(call, name))
        elif call.spec.verb != "add" and not has_value(call, name, value, find_current_record(call, facts)):
            yield ask("gate-critical", field=to_field_code(call, name))
    if call.spec.verb == "add":
        yield from _collect_add_reasons(call, actor=actor, facts=facts)
        extra = {fields.to_field_key(name, call.entity) for name in policy.critical_fields}
        yield from (ask("gate-critical", field=name) for name in critical if fields.to_field_key(name, call.entity) in extra)
    yield from (ask("gate-reference-field", field=to_field_code(call, name)) for name in _find_unseen_fields(call) if name not in critical)
    if call.spec.verb == "update":
        record = find_current_record(call, facts)
        shorter = (name for name, value in call.written_fields.items() if name not in critical and _drops_values(call, name, value, record))
        yield from (ask("gate-critical", field=to_field_code(call, name)) for name in shorter)


def _drops_values(call: Call, name: str, value: object, record: JsonObject | None) -> bool:
    """The call replaces all values of the custom field."""
    present = fields.find_value(record or {}, name, call.entity)
    return is_custom_field(name) and isinstance(present, list) and bool(fields.parse_ids(present) - fields.parse_ids(value))


def _has_reference(call: Call, name: str) -> bool:
    path = f"{call.spec.fields_at}.{name}" if call.spec.fields_at else name
    return any(reference == path or reference.startswith(f"{path}.") for reference in call.references)


def _find_unseen_fields(call: Call) -> Iterator[str]:
    """Their value is another command's result, not a new record's number: nobody has seen it."""
    if not call.references:
        return
    ids = {path.removeprefix(f"{call.spec.fields_at}.") for path in call.spec.target}
    for name, value in call.written_fields.items():
        if name not in ids and _has_reference(call, name) and not _is_number_of_new(value):
            yield name


def _is_number_of_new(value: object) -> bool:
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, Mapping) else [value]
    return all(isinstance(item, str) and _NEW_NUMBER.fullmatch(item) for item in items if find_references(item))


def has_value(call: Call, name: str, value: object, record: JsonObject | None) -> bool:
    """False if the record does not contain the field."""
    if record is None:
        return False
    stands_for = call.spec.stands_for.get(name, name)
    if not fields.has_field(record, stands_for, call.entity):
        return False
    info = fields.find_field_info(call.entities.get(call.entity), stands_for)
    return fields.is_same_value(value, fields.find_value(record, stands_for, call.entity), kind=info.kind if info else "text")


def is_same_field_value(call: Call, name: str, new: object, old: object) -> bool:
    if is_multifield(name):
        return bool(new == old)
    info = fields.find_field_info(call.entities.get(call.entity), name)
    return fields.is_same_value(new, old, kind=info.kind if info else "text")


def _collect_add_reasons(call: Call, *, actor: Actor, facts: Facts) -> Iterator[Notice]:
    speaker = frozenset() if actor.bitrix_user_id is None else frozenset({str(actor.bitrix_user_id)})
    for name, value in call.written_fields.items():
        key = fields.to_field_key(name, call.entity)
        if name in call.system_fields or value in (None, "", [], {}):
            continue
        if key in _SUMS and fields.parse_number(value) != 0:
            yield ask("gate-add-sum", field=to_field_code(call, name))
        elif key in _PEOPLE and fields.parse_ids(value) - speaker:
            yield ask("gate-add-person", field=to_field_code(call, name))
        elif _is_later_stage(call, key, value, facts):
            yield ask("gate-add-stage", field=to_field_code(call, name))


def _is_later_stage(call: Call, key: str, value: object, facts: Facts) -> bool:
    """True also when the first stage is unknown."""
    if call.entity == "task":
        return key in {"status", "realstatus"} and str(value) != _TASK_WAITS
    return key in _STAGES and str(value) != facts.first_stages.get(f"{call.entity}:{_find_category(call)}")


def find_required_funnel(call: Call) -> str:
    """The funnel ("deal:1") that a new record's stage is checked against; "" if it writes none."""
    if call.spec.verb != "add" or call.entity == "task":
        return ""
    names = (name for name, value in call.written_fields.items() if name not in call.system_fields and value not in (None, "", [], {}))
    staged = any(fields.to_field_key(name, call.entity) in _STAGES for name in names)
    return f"{call.entity}:{_find_category(call)}" if staged and len(_find_category(call)) <= _LONGEST_NUMBER else ""


def _find_category(call: Call) -> str:
    value = fields.find_value(call.written_fields, "CATEGORY_ID", call.entity)
    return str(value) if value not in (None, "") else "0"
