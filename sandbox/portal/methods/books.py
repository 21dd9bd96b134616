"""Sandbox portal, methods for statuses, funnels, stage history and enumerations. Funnels are read-only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import conditions, query, stages
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, invalid_argument
from sandbox.portal.records import history_kind
from sandbox.portal.schema import BY_TYPE_ID, CRM, HISTORY, STATUS, Row, Schema
from sandbox.portal.values import show_classic, show_universal, to_int


def _status(row: Row) -> Row:
    shown = show_classic(STATUS, row)
    extra = {"SEMANTICS": stages.extra_semantics(row), "COLOR": row["COLOR"] or ""}
    is_stage = row["ENTITY_ID"].startswith(("DEAL_STAGE", "STATUS", "QUOTE_STATUS", "DYNAMIC_", "SMART_INVOICE_"))
    return {**shown, "EXTRA": extra} if is_stage else shown


def _status_list(call: Call) -> query.Page:
    params = call.folded()
    params.pop("select", None)
    filters = query.want_array(params, "filter")
    if isinstance(filters, dict) and isinstance(filters.get("ENTITY_ID"), dict | list):
        raise PortalError(400, "Invalid parameters.", "")
    if not query.want_array(params, "order"):
        params["order"] = {"ENTITY_ID": "ASC", "SORT": "ASC"}
    page = query.run(call.store.table("status"), query.plan_classic(STATUS, params))
    return query.Page([_status(row) for row in page.rows], page.total, page.next)


def _status_get(call: Call) -> Row:
    row = call.store.get("status", call.classic_id())
    if row is None:
        raise PortalError(400, "", "Status is not found.")
    return _status(row)


def _entity_items(call: Call) -> list[Row]:
    book = str(call.any_case("entityId") or "")
    return [{"NAME": row["NAME"], "SORT": row["SORT"], "STATUS_ID": row["STATUS_ID"]} for row in stages.entries(call.store, book)]


def _entity_types(call: Call) -> list[Row]:
    return [{"ID": book} for book in sorted({row["ENTITY_ID"] for row in call.store.walk("status")})]


def _with_funnels(call: Call) -> Schema:
    """Return the schema (the field list) of the record kind that the parameter `entityTypeId` names.

    Raises PortalError if the kind is unknown or has no funnels.
    """
    number = to_int(call.required("entityTypeId"))
    schema = BY_TYPE_ID.get(number)
    if schema is None or not schema.funnels or not stages.funnels(call.store, schema):
        known = schema is not None or number == 5
        raise PortalError(400, "ENTITY_TYPE_NOT_SUPPORTED" if known else "NOT_FOUND", "Сущность не поддерживается")
    return schema


def _category(schema: Schema, row: Row) -> Row:
    return {"id": row["ID"], "name": row["NAME"], "sort": row["SORT"], "entityTypeId": schema.type_id, "isDefault": row["IS_DEFAULT"]}


def _category_list(call: Call) -> query.Page:
    schema = _with_funnels(call)
    rows = [_category(schema, row) for row in stages.funnels(call.store, schema)]
    return query.Page(rows, len(rows), box="categories")


def _category_get(call: Call) -> Row:
    schema = _with_funnels(call)
    number = to_int(call.required("id"))
    row = next((row for row in stages.funnels(call.store, schema) if row["ID"] == number), None)
    if row is None:
        raise PortalError(400, "NOT_FOUND", "Воронка не найдена")
    return {"category": _category(schema, row)}


def _old_category_list(call: Call) -> query.Page:
    rows = [
        {"ID": str(row["ID"]), "NAME": row["NAME"], "SORT": str(row["SORT"]), "IS_LOCKED": "N"}
        for row in call.store.walk("category")
        if row["ID"]
    ]
    return query.Page(rows, len(rows))


def _old_stage_list(call: Call) -> list[Row]:
    book = stages.book_of(CRM["deal"], to_int(call.any_case("id")))
    return [
        {
            "NAME": row["NAME"],
            "SORT": str(row["SORT"]),
            "STATUS_ID": row["STATUS_ID"],
        }
        for row in stages.entries(call.store, book)
    ]


def _history(call: Call) -> query.Page:
    params = call.folded()
    kind = to_int(call.required("entityTypeId"))
    funnels = kind in BY_TYPE_ID and BY_TYPE_ID[kind].funnels
    if kind != 1 and not funnels:
        raise PortalError(400, "ENTITY_TYPE_NOT_SUPPORTED", "Сущность не поддерживается")
    for key in query.want_array(params, "filter"):
        name = conditions.split_key(str(key))[1]
        if name not in HISTORY.fields:
            raise invalid_argument(f"Invalid filter: field '{name}' is not allowed in filter")
    for name in query.want_array(params, "order"):
        if name not in HISTORY.fields:
            raise invalid_argument(f"Invalid order: field '{name}' is not allowed in order")
    plan = call.rights.narrow(query.plan_classic(HISTORY, params), call.store)
    page = query.run(call.store.table(history_kind(kind)), plan)
    stage_names = ["STAGE_SEMANTIC_ID", "STAGE_ID"] if funnels else ["STATUS_SEMANTIC_ID", "STATUS_ID"]
    names = ["ID", "TYPE_ID", "OWNER_ID", "CREATED_TIME", *(["CATEGORY_ID"] if funnels else []), *stage_names]
    select = query.want_array(params, "select")
    selected = set(select.values() if isinstance(select, dict) else select)
    names = [name for name in names if name in selected] or names
    rows = []
    for row in page.rows:
        shown = show_universal(HISTORY, row, names)
        rows.append({HISTORY.by_camel[key].name: value for key, value in shown.items()})
    return query.Page(rows, page.total, page.next, box="items")


_OWNERS = {"lead": "Лид", "deal": "Сделка", "contact": "Контакт", "company": "Компания", "quote": "Предложение"}


def _owner_types(call: Call) -> list[Row]:
    return [
        {
            "ID": schema.type_id,
            "NAME": _OWNERS.get(schema.kind, schema.default_title),
            "SYMBOL_CODE": schema.kind.upper(),
            "SYMBOL_CODE_SHORT": schema.code,
        }
        for schema in BY_TYPE_ID.values()
        if not schema.smart or stages.funnels(call.store, schema)
    ]


def _mode(_: Call) -> int:
    return 1


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.status.list": _status_list,
    "crm.status.get": _status_get,
    "crm.status.entity.items": _entity_items,
    "crm.status.entity.types": _entity_types,
    "crm.category.list": _category_list,
    "crm.category.get": _category_get,
    "crm.dealcategory.list": _old_category_list,
    "crm.dealcategory.stage.list": _old_stage_list,
    "crm.stagehistory.list": _history,
    "crm.enum.ownertype": _owner_types,
    "crm.settings.mode.get": _mode,
}
