"""Finds which kind of value each written field takes (a day, a sum, a stage …), from the catalogue and the portal's list of fields.

The portal's own lists of values (the stages of a funnel, the entries of a status list) are read here too. A list that cannot be read is
left out, and then no value is checked against it.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from bitrix.catalogue import names
from bitrix.errors import BitrixError
from orchestrator.directory.reference import Reference
from orchestrator.directory.reference_data import Field
from orchestrator.gate.call import critical_fields, fields, param_kinds
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.param_kinds import EMPTY, Param, ValueKind, WrittenValue
from orchestrator.gate.call.param_words import find_param_words
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.language.text import Locale
from state.stored import JsonObject

log = logging.getLogger(__name__)

_TYPED: Final[Mapping[str, ValueKind]] = {
    "date": "own_date",
    "datetime": "own_date",
    "double": "number",
    "integer": "number",
    "money": "money",
    "boolean": "flag",
    "employee": "user",
    "crm_status": "status",
    "enumeration": "choice",
    "enum": "choice",
}
"""The kinds of values by the portal's type, for fields that the catalogue does not describe or calls a choice."""
_LISTED: Final = frozenset({"choice", "status"})
"""Kinds whose values the portal itself may list."""
_HOLDERS: Final = frozenset({"", "fields"})
"""What the words of the cards say of parameters that may hold further ones, each with words of its own."""
_MOST_DIGITS: Final = 9


def list_written_values(call: Call, facts: Facts) -> Sequence[WrittenValue]:
    """Return the fields of a call (no batch) whose values can be checked: not added here, not unchanged, not rightly empty."""
    if call.reads_only or call.kind != "bitrix":
        return ()
    record = critical_fields.find_current_record(call, facts) if call.spec.verb != "add" else None
    return tuple(_list_written_values(call, record, facts.field_lists.get(find_list_name(call), {})))


def _list_written_values(call: Call, record: JsonObject | None, known: Mapping[str, Field]) -> Iterator[WrittenValue]:
    for name, value in call.written_fields.items():
        if name in call.system_fields or critical_fields.has_value(call, name, value, record):
            continue
        for param, item in _list_parts(call, name, value):
            field = known.get(param.name) or next((one for one in known.values() if one.upper_name == param.name), None)
            kind = find_value_kind(param, field)
            if kind is not None and (item not in EMPTY or not param_kinds.may_be_empty(param, kind)):
                yield WrittenValue(param=param, kind=kind, value=item, field=field)


def _list_parts(call: Call, name: str, value: object) -> Iterator[tuple[Param, object]]:
    """Yield a written field with its value; of one that only holds further parameters, or lists of them, those parameters instead."""
    param = build_param(call, name)
    given = value if isinstance(value, list) else [value]
    elements = [element for element in given if isinstance(element, Mapping)]
    if not elements or len(elements) < len(given) or not _may_hold_params(param):
        yield param, value
        return
    for element in elements:
        for inner, item in element.items():
            yield from _list_parts(call, str(inner), item)


def _may_hold_params(param: Param) -> bool:
    return param.words is not None and param.words.kind in _HOLDERS and param_kinds.find_kind(param) is None


def build_param(call: Call, name: str) -> Param:
    """Return the description of a written field of a call, by which the kind of its values is found."""
    return Param(spec=call.spec, entity=call.entity, info=call.entities.get(call.entity), name=name)


def find_value_kind(param: Param, field: Field | None) -> ValueKind | None:
    """Return the kind of the values of a field, None if any value may stand there; `field` is the portal's description of it."""
    described = param_kinds.find_described_kind(param)
    if described is not None:
        return described
    kind = _TYPED.get(field.type) if field is not None else None
    if field is not None and (field.custom or names.is_custom_field(param.code)):
        return kind
    has_list = field is not None and (bool(field.choices) if kind == "choice" else bool(field.status_entity_id))
    worded = param_kinds.find_worded_kind(param)
    return kind if worded is None or (kind in _LISTED and has_list) else worded


def is_single(value: WrittenValue) -> bool:
    """Return whether a field is known to hold one value only."""
    if value.field is not None and (value.field.custom or names.is_custom_field(value.name)):
        return not value.field.multiple
    return param_kinds.is_single(value.param)


def find_new_people(call: Call, facts: Facts) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield (field, ids) for each field in which a call (not a batch) names people whom the record does not have there already."""
    record = critical_fields.find_current_record(call, facts) if call.spec.verb != "add" else None
    for value in list_written_values(call, facts):
        if value.kind == "user":
            held = fields.parse_ids(fields.find_value(record or {}, value.param.code, call.entity))
            ids = frozenset(str(item).strip().lstrip("0") for item in value.items) - held
            yield value.name, frozenset(item for item in ids if item.isascii() and item.isdecimal())


def find_title(param: Param, field: Field | None, locale: Locale) -> str:
    """Return the field's name for people: that of the catalogue, of the cards or of the portal; its code if none of them has one."""
    label = fields.find_label(param.info, param.code, locale)
    if label != param.code:
        return label
    words = param.words
    if field is not None and field.title and (words is None or find_param_words(param.spec.name, param.entity, param.name) is None):
        return field.title
    return words.names[locale] if words is not None and words.names[locale] else label


def find_list_key(call: Call, value: WrittenValue, facts: Facts) -> str:
    """Return the name under which `Facts.value_lists` holds the values of a field; "" for a field that has no such list."""
    match value.kind:
        case "stage":
            category = _find_category(call, facts)
            return f"stages:{call.entity}:{category}" if category is not None else ""
        case "category":
            return f"categories:{call.entity}"
        case "currency":
            return "currencies"
        case "status" if value.field is not None and value.field.status_entity_id:
            return f"statuses:{value.field.status_entity_id}"
    return ""


def _find_category(call: Call, facts: Facts) -> str | None:
    """Return the funnel of the call's record, "" for the default one; None if it is unknown, as that of a record that was not read."""
    found = fields.find_value(call.written_fields, "CATEGORY_ID", call.entity)
    if found in EMPTY and call.spec.verb != "add":
        record = critical_fields.find_current_record(call, facts)
        if record is None:
            return None
        found = fields.find_value(record, "CATEGORY_ID", call.entity)
    number = "" if found in EMPTY else str(found)
    return number if not number or (number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS) else None


async def load_value_lists(call: Call, facts: Facts, reference: Reference) -> Mapping[str, Mapping[str, str]]:
    """Return the lists (value → name) that the written values are checked against, each under the name that `find_list_key` gives it."""
    found: dict[str, Mapping[str, str]] = {}
    for leaf, value in ((one, value) for one in call.leaves for value in list_written_values(one, facts)):
        key = find_list_key(leaf, value, facts)
        wanted = {str(item) for item in value.items}
        if not key or (key in found and wanted <= found[key].keys()):
            continue
        try:
            found[key] = await _load_list(key, wanted, reference)
        except BitrixError:
            continue
        except Exception:  # an unforeseen form of a list must not prevent the check of the call
            log.exception("a list of values cannot be read", extra={"action": "value_list_failed", "values_of": key})
    return {key: values for key, values in found.items() if values}


async def _load_list(key: str, wanted: set[str], reference: Reference) -> Mapping[str, str]:
    kind, _, rest = key.partition(":")
    if kind == "currencies":
        return {code: code for code in await reference.load_currency_book()}
    if kind == "categories":
        funnels = await reference.load_categories(rest, has=lambda rows: wanted <= {str(row.id) for row in rows})
        return {str(row.id): row.name for row in funnels}
    load = partial(reference.load_status_entries, rest)
    if kind == "stages":
        entity, _, category = rest.rpartition(":")
        load = partial(reference.load_stages, entity, int(category) if category else None)
    return {row.id: row.name for row in await load(has=lambda rows: wanted <= {row.id for row in rows})}
