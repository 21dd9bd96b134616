"""Which kind of value each written field takes.

Against a list of the portal that cannot be read no value is checked.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bitrix.catalogue import names
from bitrix.errors import BitrixError
from orchestrator.directory.param_words import find_param_words
from orchestrator.directory.reference import Reference
from orchestrator.directory.reference_data import Field
from orchestrator.gate.call import critical_fields, fields, param_kinds
from orchestrator.gate.call.effect import Call, Facts, Refuse
from orchestrator.gate.call.escape_text import escape_text
from orchestrator.gate.call.param_kinds import EMPTY, Param, ValueKind, WrittenValue
from orchestrator.gate.call.reasons import format_english, refuse
from orchestrator.gate.decide.field_checks import find_list_name
from orchestrator.language.text import Locale
from state.stored import JsonObject

SHOWN: Final = 60
_MOST_NAMES: Final = 12
_MOST_VALUES: Final = 40
_CODE: Final = re.compile(r"[A-Z0-9_:.-]+", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Place:
    """`title` is the field's name for people."""

    call: Call
    value: WrittenValue
    facts: Facts
    title: str
    locale: Locale
    in_row: bool = False

    def refuse(self, code: str, item: object, **args: object) -> Refuse:
        quoted = escape_text(format_plainly(item), locale=self.locale, limit=SHOWN)
        return refuse(code, field=self.title, param=self.value.name, value=quoted, **args)

    def refuse_unlisted(self, code: str, item: object, known: Mapping[str, str]) -> Refuse:
        """The person reads the names in `known` (value → name), the model both.

        A word that has a code gets its own reason.
        """
        known_names = [escape_text(name, locale=self.locale, limit=SHOWN) for name in dict.fromkeys(known.values())]
        rest = len(known_names) - _MOST_NAMES
        short_list = (", ".join(known_names[:_MOST_NAMES]) + (f" … +{rest}" if rest > 0 else "")) or "none"
        pairs = ", ".join(f"{value} «{name}»" if value != name else value for value, name in list(known.items())[:_MOST_VALUES])
        is_name = (
            code == "gate-value-choice"
            and isinstance(item, str)
            and item.strip().casefold() in {name.casefold() for name in known.values()}
        )
        notice = self.refuse("gate-value-word" if is_name else code, item, known="").reason
        quoted = "none" if _CODE.fullmatch(str(item)) else notice.args["value"]
        reason = notice.model_copy(update={"args": {**notice.args, "value": quoted, "known": short_list}})
        full = notice.model_copy(update={"args": {**notice.args, "known": pairs or "a value"}})
        return Refuse(reason=reason, detail=format_english(full))


def format_plainly(value: object) -> str:
    """Elements separated by commas."""
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else None
    return ", ".join(map(format_plainly, items)) if items is not None else "" if value is None else str(value)


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
_LISTED: Final = frozenset({"choice", "status"})
_HOLDERS: Final = frozenset({"", "fields"})
_MOST_DIGITS: Final = 9


def list_written_values(call: Call, facts: Facts) -> Sequence[WrittenValue]:
    """What can be checked: not added here, not unchanged, not rightly empty."""
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
    param = build_param(call, name)
    members = value if isinstance(value, list) else [value]
    elements = [element for element in members if isinstance(element, Mapping)]
    if not elements or len(elements) < len(members) or not _may_hold_params(param):
        yield param, value
        return
    for element in elements:
        for inner, item in element.items():
            yield from _list_parts(call, str(inner), item)


def _may_hold_params(param: Param) -> bool:
    return param.words is not None and param.words.kind in _HOLDERS and param_kinds.find_kind(param) is None


def build_param(call: Call, name: str) -> Param:
    return Param(spec=call.spec, entity=call.entity, info=call.entities.get(call.entity), name=name)


def find_value_kind(param: Param, field: Field | None) -> ValueKind | None:
    """None if any value may stand there."""
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
    """Known to hold one value only."""
    if value.field is not None and (value.field.custom or names.is_custom_field(value.name)):
        return not value.field.multiple
    return param_kinds.is_single(value.param)


def find_new_people(call: Call, facts: Facts) -> Iterator[tuple[str, frozenset[str]]]:
    """Pairs (field, ids) of people whom the record does not have there already."""
    record = critical_fields.find_current_record(call, facts) if call.spec.verb != "add" else None
    for value in list_written_values(call, facts):
        if value.kind == "user":
            present = fields.parse_ids(fields.find_value(record or {}, value.param.code, call.entity))
            ids = frozenset(str(item).strip().lstrip("0") for item in value.items) - present
            yield value.name, frozenset(item for item in ids if item.isascii() and item.isdecimal())


def find_title(param: Param, field: Field | None, locale: Locale) -> str:
    """Of the catalogue, the cards or the portal; else its code."""
    label = fields.find_label(param.info, param.code, locale)
    if label != param.code:
        return label
    words = param.words
    if field is not None and field.title and (words is None or find_param_words(param.spec.name, param.entity, param.name) is None):
        return field.title
    return words.names[locale] if words is not None and words.names[locale] else label


def find_list_key(call: Call, value: WrittenValue, facts: Facts) -> str:
    """In `Facts.value_lists`; "" without such a list."""
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
    """Empty for the default funnel; None if unknown."""
    category = fields.find_value(call.written_fields, "CATEGORY_ID", call.entity)
    if category in EMPTY and call.spec.verb != "add":
        record = critical_fields.find_current_record(call, facts)
        if record is None:
            return None
        category = fields.find_value(record, "CATEGORY_ID", call.entity)
    number = "" if category in EMPTY else str(category)
    return number if not number or (number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS) else None


async def load_value_lists(call: Call, facts: Facts, reference: Reference) -> Mapping[str, Mapping[str, str]]:
    """Value → name, by `find_list_key`."""
    lists: dict[str, Mapping[str, str]] = {}
    for leaf, value in ((one, value) for one in call.leaves for value in list_written_values(one, facts)):
        key = find_list_key(leaf, value, facts)
        written_values = {str(item) for item in value.items}
        if not key or (key in lists and written_values <= lists[key].keys()):
            continue
        try:
            lists[key] = await _load_list(key, written_values, reference)
        except BitrixError:
            continue
        except Exception:  # an unforeseen form of a list must not prevent the check of the call
            log.exception("a list of values cannot be read", extra={"action": "value_list_failed", "values_of": key})
    return {key: values for key, values in lists.items() if values}


async def _load_list(key: str, values: set[str], reference: Reference) -> Mapping[str, str]:
    kind, _, rest = key.partition(":")
    if kind == "currencies":
        return {code: code for code in await reference.load_currency_book()}
    if kind == "categories":
        funnels = await reference.load_categories(rest, has=lambda rows: values <= {str(row.id) for row in rows})
        return {str(row.id): row.name for row in funnels}
    load = partial(reference.load_status_entries, rest)
    if kind == "stages":
        entity, _, category = rest.rpartition(":")
        load = partial(reference.load_stages, entity, int(category) if category else None)
    return {row.id: row.name for row in await load(has=lambda rows: values <= {row.id for row in rows})}
