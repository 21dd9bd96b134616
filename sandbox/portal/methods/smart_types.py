"""Sandbox portal, read-only methods for the settings of smart processes (record kinds that the company has defined itself)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError
from sandbox.portal.methods.classic import describe
from sandbox.portal.schema import TYPE, Row
from sandbox.portal.values import show_universal, to_int

_LINKS = {
    "relations": {
        "parent": [
            {"entityTypeId": 3, "isChildrenListEnabled": "Y", "isPredefined": "Y"},
            {"entityTypeId": 4, "isChildrenListEnabled": "Y", "isPredefined": "Y"},
            {"entityTypeId": 2, "isChildrenListEnabled": "Y", "isPredefined": "N"},
        ],
        "child": [],
    },
    "linkedUserFields": {"CALENDAR_EVENT|UF_CRM_CAL_EVENT": "N", "TASKS_TASK|UF_CRM_TASK": "Y", "TASKS_TASK_TEMPLATE|UF_CRM_TASK": "N"},
    "customSections": [],
}


def _admin(call: Call) -> None:
    if not (call.store.get("user", call.user_id) or {}).get("IS_ADMIN"):
        raise PortalError(400, "ACCESS_DENIED", "Доступ запрещён")


def _shown(row: Row) -> Row:
    return show_universal(TYPE, row, TYPE.fields)


def _list(call: Call) -> query.Page:
    _admin(call)
    page = query.run(call.store.table("type"), query.plan_universal(TYPE, call.params))
    return query.Page([_shown(row) for row in page.rows], page.total, page.next, box="types")


def _full(row: Row | None) -> Row:
    if row is None:
        raise PortalError(400, 0, "Смарт-процесс не найден")
    return {"type": _shown(row) | _LINKS}


def _get(call: Call) -> Row:
    return _full(call.store.get("type", to_int(call.required("id"))))


def _get_by_entity(call: Call) -> Row:
    number = to_int(call.required("entityTypeId"))
    return _full(next((row for row in call.store.walk("type") if row["ENTITY_TYPE_ID"] == number), None))


def _fields(call: Call) -> Row:
    _admin(call)
    return {"fields": {f.camel: {**describe(TYPE, f, title=f.title), "upperName": f.name} for f in TYPE.fields.values()}}


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.type.list": _list,
    "crm.type.get": _get,
    "crm.type.getByEntityTypeId": _get_by_entity,
    "crm.type.fields": _fields,
}
