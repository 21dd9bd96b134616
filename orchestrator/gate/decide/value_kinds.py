"""Finds which kind of value each written field takes (a day, a sum, a stage …), from the catalogue and the portal's list of fields.

The portal's own lists of values (the stages of a funnel, the entries of a status list) are read here too. A list that cannot be read is
left out, and then no value is checked against it.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal

from bitrix.client.batch import find_references
from bitrix.errors import BitrixError
from orchestrator.directory.reference_data import Field
from orchestrator.gate.call import critical_fields, fields
from orchestrator.gate.call.effect import Call, Facts
from orchestrator.gate.call.ports import Reference
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale

log = logging.getLogger(__name__)

ValueKind = Literal[
    "date", "birthday", "own_date", "amount", "number", "percent", "money", "user", "stage", "category", "status", "choice",
    "currency", "flag", "record", "contacts", "rows",
]  # fmt: skip
_DESCRIBED: Final[Mapping[str, ValueKind]] = {
    "date": "date",
    "datetime": "date",
    "money": "amount",
    "number": "number",
    "user": "user",
    "stage": "stage",
    "category": "category",
    "company": "record",
    "contact": "record",
    "flag": "flag",
    "multifield": "contacts",
}
"""The kinds of values by what the catalogue says of a field."""
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
_BY_KEY: Final[Mapping[str, ValueKind]] = {
    "assignedbyid": "user",
    "responsibleid": "user",
    "accomplices": "user",
    "auditors": "user",
    "observers": "user",
    "observerids": "user",
    "attendees": "user",
    "birthdate": "birthday",
    "currencyid": "currency",
    "probability": "percent",
    "rows": "rows",
    "productrows": "rows",
}
_EVENT_TIMES: Final = frozenset({"from", "to"})
_WORDS: Final = load_lexicon("card_fields")
_EVENT_TITLES: Final = {name: _WORDS.read_titles("params", name) for name in _EVENT_TIMES}
_MOST_DIGITS: Final = 9
EMPTY: Final[tuple[object, ...]] = (None, "", [], {})


@dataclass(frozen=True, kw_only=True)
class WrittenValue:
    """One field that a call writes: its name in the call, its kind, its value, and the portal's description of the field if known."""

    name: str
    kind: ValueKind
    value: object
    field: Field | None = None

    @property
    def items(self) -> tuple[object, ...]:
        """The single values: those of a list or map, otherwise the value itself.

        Empty values and references to results of other commands of the batch are left out.
        """
        found = self.value.values() if isinstance(self.value, Mapping) else self.value if isinstance(self.value, list) else (self.value,)
        return tuple(item for item in found if item not in EMPTY and not find_references(item))


def list_written_values(call: Call, facts: Facts) -> Iterator[WrittenValue]:
    """Yield the fields of a call (not of a batch) whose values can be checked.

    Fields that this program added and fields that keep the value of the record are left out.
    """
    if call.reads_only or call.kind != "bitrix":
        return
    known = facts.field_lists.get(find_list_name(call), {})
    record = critical_fields.find_current_record(call, facts) if call.spec.verb != "add" else None
    for name, value in critical_fields.extract_written_fields(call).items():
        if name in call.system_fields or value in EMPTY or critical_fields.has_value(call, name, value, record):
            continue
        field = known.get(name) or next((one for one in known.values() if one.upper_name == name), None)
        kind = find_value_kind(call, name, field)
        if kind is not None:
            yield WrittenValue(name=name, kind=kind, value=value, field=field)


def find_value_kind(call: Call, name: str, field: Field | None) -> ValueKind | None:
    """Return the kind of the values of a field, None if any value may stand there; `field` is the portal's description of it."""
    code = call.spec.stands_for.get(name, name)
    key = fields.to_field_key(code, call.entity)
    if key in _BY_KEY:
        return _BY_KEY[key]
    if call.entity == "event" and name in _EVENT_TIMES:
        return "date"
    found = fields.find_field_info(call.entities.get(call.entity), code)
    if found is not None and found.kind != "enum":
        return "record" if found.kind == "number" and key.endswith("id") else _DESCRIBED.get(found.kind)
    kind = _TYPED.get(field.type) if field is not None else None
    return "number" if kind is None and found is not None and call.entity == "activity" and key in _NUMBERED else kind


_NUMBERED: Final = frozenset({"priority", "direction", "typeid", "ownertypeid"})
"""Choices of an activity that the portal stores as numbers."""


def find_new_people(call: Call, facts: Facts) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield (field, ids) for each field that names people for a record; people whom the record already has there are left out."""
    record = critical_fields.find_current_record(call, facts) if call.spec.verb != "add" else None
    for value in list_written_values(call, facts):
        if value.kind == "user":
            code = call.spec.stands_for.get(value.name, value.name)
            held = fields.parse_ids(fields.find_value(record or {}, code, call.entity))
            ids = frozenset(str(item).strip().lstrip("0") for item in value.items) - held
            yield value.name, frozenset(item for item in ids if item.isascii() and item.isdecimal())


def find_title(call: Call, value: WrittenValue, locale: Locale) -> str:
    """Return the field's name for people; its code if neither the catalogue nor the portal has a name."""
    if call.entity == "event" and value.name in _EVENT_TIMES:
        return _EVENT_TITLES[value.name][locale]
    code = call.spec.stands_for.get(value.name, value.name)
    label = fields.find_label(call.entities.get(call.entity), code, locale)
    return value.field.title if label == code and value.field is not None and value.field.title else label


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
    """Return the id of the funnel in which the call's record will be; "" means the default funnel, None that it is not known.

    It is not known for a record that was not read, such as one that another command of the batch creates.
    """
    found = fields.find_value(critical_fields.extract_written_fields(call), "CATEGORY_ID", call.entity)
    if found in EMPTY and call.spec.verb != "add":
        record = critical_fields.find_current_record(call, facts)
        if record is None:
            return None
        found = fields.find_value(record, "CATEGORY_ID", call.entity)
    number = "" if found in EMPTY else str(found)
    return number if not number or (number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS) else None


async def load_value_lists(call: Call, facts: Facts, reference: Reference) -> Mapping[str, Mapping[str, str]]:
    """Return the lists (value → name) that the written values are checked against, each under the name that `find_list_key` gives it.

    A list that cannot be read is missing. A list comes from the cache unless a written value is not in it.
    """
    found: dict[str, Mapping[str, str]] = {}
    for leaf in call.leaves:
        for value in list_written_values(leaf, facts):
            key = find_list_key(leaf, value, facts)
            wanted = {str(item) for item in value.items}
            if not key or wanted <= found.get(key, {}).keys():
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
