"""Sandbox portal, methods: statuses, funnels, stage history, currencies and enumerations; funnels can be read only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import conditions, query, stages
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, invalid_argument
from sandbox.portal.schema import CRM, HISTORY, STATUS, Row
from sandbox.portal.values import show_classic, show_universal, to_int

_CURRENCIES = (("RUB", "Российский рубль", "1.0000"), ("USD", "Доллар США", "92.5000"), ("EUR", "Евро", "100.1000"))


def _status(row: Row) -> Row:
    shown = show_classic(STATUS, row)
    extra = {"SEMANTICS": stages.extra_semantics(row), "COLOR": row["COLOR"] or ""}
    is_stage = row["ENTITY_ID"].startswith(("DEAL_STAGE", "STATUS"))
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


def _has_categories(call: Call) -> None:
    number = to_int(call.required("entityTypeId"))
    if number != 2:
        known = number in {1, 3, 4, 5, 7, 31}
        raise PortalError(400, "ENTITY_TYPE_NOT_SUPPORTED" if known else "NOT_FOUND", "Сущность не поддерживается")


def _category(row: Row) -> Row:
    return {
        "id": row["ID"],
        "name": row["NAME"],
        "sort": row["SORT"],
        "entityTypeId": 2,
        "isDefault": "N" if row["ID"] else "Y",
    }


def _category_list(call: Call) -> query.Page:
    _has_categories(call)
    rows = sorted(call.store.walk("category"), key=lambda row: row["SORT"])
    return query.Page([_category(row) for row in rows], len(rows), box="categories")


def _category_get(call: Call) -> Row:
    _has_categories(call)
    row = call.store.get("category", to_int(call.required("id")))
    if row is None:
        raise PortalError(400, "NOT_FOUND", "Воронка не найдена")
    return {"category": _category(row)}


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
    if kind not in {1, 2}:
        raise PortalError(400, "ENTITY_TYPE_NOT_SUPPORTED", "Сущность не поддерживается")
    for key in query.want_array(params, "filter"):
        name = conditions.split_key(str(key))[1]
        if name not in HISTORY.fields:
            raise invalid_argument(f"Invalid filter: field '{name}' is not allowed in filter")
    filters = {**query.want_array(params, "filter"), "=ENTITY_TYPE_ID": kind}
    page = query.run(call.store.table("history"), query.plan_classic(HISTORY, {**params, "filter": filters}))
    stage_names = ["STAGE_SEMANTIC_ID", "STAGE_ID"] if kind == 2 else ["STATUS_SEMANTIC_ID", "STATUS_ID"]
    names = ["ID", "TYPE_ID", "OWNER_ID", "CREATED_TIME", *(["CATEGORY_ID"] if kind == 2 else []), *stage_names]
    rows = []
    for row in page.rows:
        shown = show_universal(HISTORY, row, names)
        rows.append({HISTORY.by_camel[key].name: value for key, value in shown.items()})
    return query.Page(rows, page.total, page.next, box="items")


def _currency(code: str, name: str, rate: str) -> Row:
    base = "Y" if code == "RUB" else "N"
    return {"CURRENCY": code, "FULL_NAME": name, "AMOUNT": rate, "AMOUNT_CNT": "1", "BASE": base, "LANG": "ru"}


def _currency_list(_: Call) -> query.Page:
    return query.Page([_currency(*c) for c in _CURRENCIES], len(_CURRENCIES))


def _currency_get(call: Call) -> Row:
    wanted = str(call.any_case("id") or "")
    found = next((c for c in _CURRENCIES if c[0] == wanted), None)
    if found is None:
        raise PortalError(400, "", "Not found")
    return _currency(*found)


def _owner_types(_: Call) -> list[Row]:
    names = {"lead": "Лид", "deal": "Сделка", "contact": "Контакт", "company": "Компания"}
    return [{"ID": s.type_id, "NAME": names[kind], "SYMBOL_CODE": kind.upper(), "SYMBOL_CODE_SHORT": s.code} for kind, s in CRM.items()]


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
    "crm.currency.list": _currency_list,
    "crm.currency.get": _currency_get,
    "crm.enum.ownertype": _owner_types,
    "crm.settings.mode.get": _mode,
}
