"""Sandbox portal, the universal CRM methods `crm.item.*`: camelCase names and typed values.

An unknown name in a filter is an error; an unknown field in a write is ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import query, records, stages
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError
from sandbox.portal.methods.classic import describe
from sandbox.portal.multifields import universal_changes
from sandbox.portal.schema import BY_TYPE_ID, Field, Row, Schema
from sandbox.portal.schema_smart import INVOICE_TYPE_ID
from sandbox.portal.values import show_universal, to_int, universal_fm


def schema_of(call: Call) -> Schema:
    """Return the schema (the field list) of the record kind that the parameter `entityTypeId` names.

    Raises PortalError if the parameter is missing, or if the kind is retired or unknown.
    """
    number = to_int(call.required("entityTypeId"))
    if number == 5:
        raise PortalError(400, "ENTITY_TYPE_NOT_SUPPORTED", "Сущность не поддерживается")
    if number not in BY_TYPE_ID or (number == INVOICE_TYPE_ID and not stages.funnels(call.store, BY_TYPE_ID[number])):
        raise PortalError(400, "NOT_FOUND", "Смарт-процесс не найден")
    return BY_TYPE_ID[number]


def _find(schema: Schema, call: Call) -> Row:
    row = call.store.get(schema.kind, to_int(call.required("id")))
    if row is None:
        raise PortalError(400, "NOT_FOUND", "Элемент не найден")
    if not call.rights.may_see(call.store, row):
        raise PortalError(400, "ACCESS_DENIED", "Доступ запрещён")
    return row


def _values(schema: Schema, call: Call, old: Row | None = None) -> Row:
    originals = call.arg("useOriginalUfNames") == "Y"
    pairs: list[tuple[Field, Any]] = []
    for name, raw in call.required_map("fields").items():
        field = schema.by_camel.get(name)
        if originals and name.startswith("UF_"):
            field = schema.fields.get(name)
        if field is not None:
            pairs.append((field, raw))
    try:
        return records.read_fields(schema, pairs, old)
    except ValueError as error:
        raise _not_valid(schema.fields[str(error)]) from error


def _not_valid(field: Field) -> PortalError:
    text = f"Значение поля «{field.title}» некорректно"
    return PortalError(400, "CRM_FIELD_ERROR_VALUE_NOT_VALID", text)


def _place(schema: Schema, call: Call, values: Row, category: int) -> None:
    """Check the funnel and the stage in `values`. A move to another funnel without a stage sets the first stage of that funnel.

    `category` is the present funnel of the record. Raises PortalError for an unknown funnel or a stage of another funnel.
    """
    if schema.funnels and "CATEGORY_ID" in values:
        if not stages.has_funnel(call.store, schema, values["CATEGORY_ID"] or 0):
            raise _not_valid(schema.fields["CATEGORY_ID"])
        if values["CATEGORY_ID"] != category and schema.stage_field not in values:
            book = stages.entries(call.store, stages.book_of(schema, values["CATEGORY_ID"]))
            values["STAGE_ID"] = book[0]["STATUS_ID"]
        category = values["CATEGORY_ID"]
    if schema.stage_field and schema.stage_field in values:
        book_name = stages.book_of(schema, category)
        if stages.find(call.store, book_name, str(values[schema.stage_field])) is None:
            raise _not_valid(schema.fields[schema.stage_field])


def _shown(schema: Schema, call: Call, row_id: int) -> Row:
    row = call.store.get(schema.kind, row_id) or {}
    shown = show_universal(schema, row, schema.fields, original_uf=str(call.arg("useOriginalUfNames") or "N"), base_url=call.base_url)
    shown |= {"entityTypeId": schema.type_id}
    if "PHONE" in schema.fields:
        shown["fm"] = universal_fm(row)
    return {"item": shown}


def _add(call: Call) -> Row:
    schema = schema_of(call)
    values = _values(schema, call)
    _place(schema, call, values, stages.default_funnel(call.store, schema))
    has_phones = "PHONE" in schema.fields
    fm = universal_changes(call.store, [], call.arg("fields").get("fm")) if has_phones and _is_map(call) else []
    return _shown(schema, call, records.create(call, schema, values, fm))


def _is_map(call: Call) -> bool:
    return isinstance(call.arg("fields"), dict)


def _get(call: Call) -> Row:
    schema = schema_of(call)
    return _shown(schema, call, _find(schema, call)["ID"])


def _list(call: Call) -> query.Page:
    schema = schema_of(call)
    plan = call.rights.narrow(query.plan_universal(schema, call.params), call.store)
    names, with_fm = query.universal_names(schema, call.params)
    page = query.run(call.store.table(schema.kind), plan)
    original = str(call.arg("useOriginalUfNames") or "N")
    items = [show_universal(schema, row, names, original_uf=original) for row in page.rows]
    if with_fm and "PHONE" in schema.fields:
        for item, row in zip(items, page.rows, strict=True):
            item["fm"] = universal_fm(row)
    return query.Page(items, page.total, page.next, box="items")


def _update(call: Call) -> Row:
    schema = schema_of(call)
    old = _find(schema, call)
    values = _values(schema, call, old)
    values.pop("CLOSED", None)  # follows from the stage
    _place(schema, call, values, old.get("CATEGORY_ID") or 0)
    fm = old.get("FM", [])
    if "PHONE" in schema.fields and _is_map(call):
        fm = universal_changes(call.store, fm, call.arg("fields").get("fm"))
    records.change(call, schema, old, values, fm)
    return _shown(schema, call, old["ID"])


def _delete(call: Call) -> list[Any]:
    schema = schema_of(call)
    records.delete(call, schema, _find(schema, call))
    return []


def _fields(call: Call) -> Row:
    schema = schema_of(call)
    original = call.arg("useOriginalUfNames") == "Y"
    described = {}
    for field in schema.fields.values():
        row = describe(schema, field, title=field.title)
        described[field.name if field.custom and original else field.camel] = {**row, "upperName": field.upper}
    return {"fields": described}


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.item.add": _add,
    "crm.item.get": _get,
    "crm.item.list": _list,
    "crm.item.update": _update,
    "crm.item.delete": _delete,
    "crm.item.fields": _fields,
}
