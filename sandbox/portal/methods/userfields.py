"""Sandbox portal, read-only methods that describe the custom fields of deals, leads, contacts, companies and quotes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError
from sandbox.portal.schema import CRM, Field, Row, Schema
from sandbox.portal.schema_smart import SETTINGS
from sandbox.portal.values import to_int

_LABELS = ("EDIT_FORM_LABEL", "LIST_COLUMN_LABEL", "LIST_FILTER_LABEL")
_ORDER = ("ID", "FIELD_NAME", "USER_TYPE_ID", "XML_ID", "SORT")
_FIRST_ID = 201


def _row(schema: Schema, place: int, field: Field) -> Row:
    shown: Row = {
        "ID": str(_FIRST_ID + place),
        "ENTITY_ID": f"CRM_{schema.kind.upper()}",
        "FIELD_NAME": field.name,
        "USER_TYPE_ID": field.type,
        "XML_ID": None,
        "SORT": str(100 + 10 * place),
        "MULTIPLE": "Y" if field.multiple else "N",
        "MANDATORY": "N",
        "SHOW_FILTER": "E",
        "SHOW_IN_LIST": "Y",
        "EDIT_IN_LIST": "Y",
        "IS_SEARCHABLE": "N",
        "SETTINGS": SETTINGS[field.type],
    }
    if field.choices:
        shown["LIST"] = [
            {"ID": str(number), "SORT": str(10 * sort), "VALUE": text, "DEF": "N", "XML_ID": f"{field.name.lower()}_{number}"}
            for sort, (number, text) in enumerate(field.choices, 1)
        ]
    return shown


def _rows(schema: Schema) -> list[tuple[Row, Field]]:
    own = [field for field in schema.fields.values() if field.custom]
    return [(_row(schema, place, field), field) for place, field in enumerate(own)]


def _labels(field: Field) -> Row:
    return {**dict.fromkeys(_LABELS, field.title), "ERROR_MESSAGE": None, "HELP_MESSAGE": None}


def _list(schema: Schema, call: Call) -> query.Page:
    """Return one page of custom field descriptions. Labels are included only if the filter has the key `LANG`."""
    params = call.folded()
    filters = {str(name).upper(): value for name, value in dict(query.want_array(params, "filter") or {}).items()}
    language = filters.pop("LANG", None)
    rows = [{**row, **_labels(field)} if language else row for row, field in _rows(schema) if _fits(row, filters)]
    for name, way in reversed(list(dict(query.want_array(params, "order") or {}).items())):
        if str(name).upper() in _ORDER:
            key = str(name).upper()
            rows.sort(key=partial(_sort_key, key), reverse=str(way).upper() == "DESC")
    return query.page(rows, query.start_of(params))


def _sort_key(name: str, row: Row) -> tuple[int, str]:
    value = str(row[name] or "")
    return (int(value), "") if value.isdecimal() else (0, value)


def _fits(row: Row, filters: Row) -> bool:
    wanted = {name: value if isinstance(value, list) else [value] for name, value in filters.items() if name in row}
    return all(str(row[name]) in {str(value) for value in values} for name, values in wanted.items())


def _get(schema: Schema, call: Call) -> Row:
    number = to_int(call.any_case("id"))
    found = next((pair for pair in _rows(schema) if pair[0]["ID"] == str(number)), None)
    if found is None:
        raise PortalError(400, "ERROR_NOT_FOUND", f"The entity with ID '{number}' is not found.")
    row, field = found
    by_language = {name: {"ru": field.title, "en": field.title} for name in _LABELS}
    return {**row, **by_language}


METHODS: dict[str, Callable[[Call], Any]] = {
    f"crm.{kind}.userfield.{verb}": partial(action, schema)
    for kind, schema in CRM.items()
    for verb, action in (("list", _list), ("get", _get))
}
