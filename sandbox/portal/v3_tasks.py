"""Sandbox portal, REST v3: the methods for tasks, which answer with typed values, and the methods that list scopes and methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sandbox.portal import v3_query
from sandbox.portal.context import Call
from sandbox.portal.errors import V3Error, access_denied, invalid_request
from sandbox.portal.methods.tasks import create, remove, save
from sandbox.portal.schema import Row
from sandbox.portal.v3_query import unknown_property
from sandbox.portal.values import parse_moment, show_moment, store_moment

_STATUSES = {2: "pending", 3: "in_progress", 4: "supposedly_completed", 5: "completed", 6: "deferred"}
_PRIORITIES = {0: "low", 1: "average", 2: "high"}
_RELATED = {"creator": "CREATED_BY", "responsible": "RESPONSIBLE_ID"}


@dataclass(frozen=True)
class _Field:
    """One field of a task in REST v3: its name in the store, its type, and its uses (`a` set by add, `u` by update, `o` for ordering)."""

    column: str
    type: str
    uses: frozenset[str]


def _fields(text: str) -> dict[str, _Field]:
    rows = (line.split() for line in text.strip().splitlines())
    return {name: _Field(column, type_, frozenset(uses)) for name, column, type_, uses in rows}


# a: may be set by add, u: by update, o: lists may be ordered by it, -: none of these
_TASK: Mapping[str, _Field] = MappingProxyType(
    _fields(
        """
id ID int o
title TITLE string auo
description DESCRIPTION string au
creatorId CREATED_BY int ao
created CREATED_DATE DateTime o
responsibleId RESPONSIBLE_ID int auo
deadline DEADLINE DateTime auo
startPlan START_DATE_PLAN DateTime auo
endPlan END_DATE_PLAN DateTime auo
groupId GROUP_ID int auo
priority PRIORITY string auo
status STATUS string o
parentId PARENT_ID int au
started DATE_START DateTime o
changed CHANGED_DATE DateTime o
closed CLOSED_DATE DateTime o
xmlId XML_ID string au
crmItemIds UF_CRM_TASK array au
"""
    )
)


def _show(name: str, row: Row) -> Any:
    value: Any = row.get(_TASK[name].column)
    match name:
        case "status":
            return _STATUSES.get(int(value or 2), "pending")
        case "priority":
            return _PRIORITIES.get(1 if value is None else int(value), "average")
        case "crmItemIds":
            return value or []
        case "groupId" | "parentId":
            return value or None
    return show_moment(value) if value and _TASK[name].type == "DateTime" else value


def _person(call: Call, number: Any) -> Row:
    user = call.store.get("user", int(number or 0)) or {}
    return {"id": user.get("ID"), "name": user.get("NAME"), "lastName": user.get("LAST_NAME"), "email": user.get("EMAIL")}


def _item(call: Call, row: Row, select: list[str] | None) -> Row:
    """Return one task with the fields in `select`; None selects all.

    An unknown field of the task is left out. `responsible.name` selects a field of a related person; an unknown one raises V3Error.
    """
    if select is None:
        link = f"/company/personal/user/{row['RESPONSIBLE_ID']}/tasks/task/view/{row['ID']}/"
        return {name: _show(name, row) for name in _TASK} | {"link": link}
    item: Row = {name: _show(name, row) for name in select if name in _TASK}
    for name in select:
        relation, dot, part = name.partition(".")
        if not dot:
            continue
        if relation not in _RELATED:
            raise unknown_property(relation, "TaskDto")
        person = _person(call, row.get(_RELATED[relation]))
        if part not in person:
            raise unknown_property(part, "UserDto")
        item.setdefault(relation, {})[part] = person[part]
    return item


def _values(call: Call, use: str) -> Row:
    """Return the parameter `fields` as values for the store; `use` is `a` for add or `u` for update.

    Unknown names are left out. Raises V3Error that names the fields with a wrong type and those that may not be written.
    """
    given, values, wrong = call.arg("fields"), {}, {}
    if not isinstance(given, dict) or not given:
        raise invalid_request({"fields": "Required field `fields` is not specified"})
    for name, raw in given.items():
        field = _TASK.get(name)
        if field is None:
            continue
        if use not in field.uses:
            wrong[name] = f"In DTO `TaskDto`, the field `{name}` requires the presence of the `Editable` attribute for such a request"
            continue
        try:
            values[field.column] = _read(name, field.type, raw)
        except ValueError:
            wrong[name] = f"Field `{name}` requires data type `{field.type}` for this request"
    if "RESPONSIBLE_ID" in values and call.store.get("user", values["RESPONSIBLE_ID"] or 0) is None:
        wrong.setdefault("responsibleId", "The user specified in the field `responsibleId` was not found")
    if wrong:
        raise invalid_request(wrong)
    return values


def _read(name: str, kind: str, raw: Any) -> Any:
    good = {"int": int, "string": str, "DateTime": str, "array": list}[kind]
    if raw is None and kind != "string":
        return None
    if not isinstance(raw, good) or isinstance(raw, bool):
        raise ValueError(name)  # noqa: TRY004  (callers translate one error)
    if kind == "DateTime":
        return store_moment(parse_moment(str(raw)))
    if name == "priority":
        return next((number for number, word in _PRIORITIES.items() if word == raw), 1)
    return raw


def _number(call: Call) -> int:
    """Return the required parameter `id`. Raises V3Error if it is missing or not an integer."""
    number: Any = call.arg("id")
    if number is None:
        raise invalid_request({"id": "Required field `id` is not specified"})
    if not isinstance(number, int) or isinstance(number, bool):
        raise invalid_request({"id": "Field `id` requires data type `int` for this request"})
    return number


def _add(call: Call) -> Row:
    given = call.arg("fields")
    required = ("title", "creatorId", "responsibleId")
    if isinstance(given, dict) and given:
        missing = {name: f"Required field `{name}` is not specified" for name in required if given.get(name) in (None, "")}
        if missing:
            raise invalid_request(missing)
    return {"item": _item(call, create(call, _values(call, "a")), None)}


def _get(call: Call) -> Row:
    select = v3_query.select_of(call.params)
    row = call.store.get("task", _number(call))
    if row is None:
        raise V3Error(400, "ENTITYNOTFOUNDEXCEPTION", f"Entity with ID `{call.arg('id')}` not found")
    return {"item": _item(call, row, select)}


def _list(call: Call) -> Row:
    select = v3_query.select_of(call.params)
    test = v3_query.filter_of(call.params, frozenset(_TASK), frozenset({"id"}), "TaskDto")
    order = v3_query.order_of(call.params, {name for name, field in _TASK.items() if "o" in field.uses})
    rows = [row for row in call.store.walk("task") if test({"id": row["ID"]})]
    for name, step in reversed(order):
        column = _TASK[name].column
        rows.sort(key=lambda row, c=column: (row[c] is not None, row[c] if row[c] is not None else 0), reverse=step < 0)  # type: ignore[misc]
    start, limit = v3_query.page_of(call.params)
    return {"items": [_item(call, row, select or ["id"]) for row in rows[start : start + limit]]}


def _existing(call: Call) -> Row:
    row = call.store.get("task", _number(call))
    if row is None:
        raise access_denied(403)
    return row


def _update(call: Call) -> Row:
    row = _existing(call)
    values = _values(call, "u")
    if "TITLE" in values and not values["TITLE"]:
        raise invalid_request({"title": "Required field `title` is not specified"})
    save(call, row, values)
    return {"result": True}


def _delete(call: Call) -> Row:
    remove(call, _existing(call))
    return {"result": True}


def _scopes(_: Call) -> Row:
    """Return the scope of each REST v3 method. The form of the rows is assumed: the documentation does not show it."""
    return {"items": [{"method": name, "scope": name.partition(".")[0]} for name in sorted(METHODS)]}


def _openapi(_: Call) -> Row:
    return {
        "openapi": "3.0.0",
        "info": {"title": "Bitrix24 REST V3 API", "version": "1.0.0"},
        "tags": [{"name": "tasks", "description": "tasks module methods"}],
        "paths": {f"/{name}": {} for name in sorted(METHODS)},
    }


METHODS: dict[str, Callable[[Call], Any]] = {
    "tasks.task.add": _add,
    "tasks.task.get": _get,
    "tasks.task.list": _list,
    "tasks.task.update": _update,
    "tasks.task.delete": _delete,
    "rest.scope.list": _scopes,
    "rest.documentation.openapi": _openapi,
    "documentation": _openapi,
}
WRITES = frozenset({"tasks.task.add", "tasks.task.update", "tasks.task.delete"})
