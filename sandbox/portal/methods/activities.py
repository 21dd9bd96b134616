"""Sandbox portal, methods for activities (meetings, calls, e-mails) and for to-dos (`crm.activity.todo.*`). No e-mail is ever sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, classic, missing_parameter
from sandbox.portal.schema import ACTIVITY, BY_TYPE_ID, Row
from sandbox.portal.values import parse, parse_moment, show_classic, store_moment, to_int

_NAMES = tuple(f.name for f in ACTIVITY.fields.values() if f.name not in {"COMMUNICATIONS", "PING_OFFSETS", "COLOR_ID"})
_TODO = "CRM_TODO"


def _find(call: Call) -> Row:
    row = call.store.get("activity", call.classic_id())
    if row is None:
        raise classic("Activity is not found")
    return row


def _read(given: Row) -> Row:
    values: Row = {}
    for name, raw in given.items():
        field = ACTIVITY.fields.get(name)
        if field is None or field.read_only:
            continue
        try:
            values[name] = parse(field, raw)
        except ValueError as error:
            raise classic(f"Поле «{field.title}» заполнено неверно") from error
    return values


def _blank(call: Call) -> Row:
    return dict.fromkeys(ACTIVITY.fields) | {
        "CREATED": call.stamp,
        "LAST_UPDATED": call.stamp,
        "COMPLETED": "N",
        "STATUS": 1,
        "RESPONSIBLE_ID": call.user_id,
        "AUTHOR_ID": call.user_id,
        "EDITOR_ID": call.user_id,
        "PRIORITY": 2,
        "DIRECTION": 0,
        "SETTINGS": [],
        "PROVIDER_ID": "",
    }


def _add(call: Call) -> int:
    given = call.any_case("fields")
    if not isinstance(given, dict):
        raise query.as_array_error("fields")
    for name in ("OWNER_TYPE_ID", "OWNER_ID", "TYPE_ID", "RESPONSIBLE_ID"):
        if not given.get(name):
            raise classic(f"The field {name} is required.")
    if not given.get("COMMUNICATIONS") and to_int(given["TYPE_ID"]) != 6:
        raise classic("The field COMMUNICATIONS is required.")
    number = call.store.add("activity", _blank(call) | _read(given))
    call.emit("ONCRMACTIVITYADD", {"FIELDS": {"ID": number}})
    return number


def _get(call: Call) -> Row:
    return show_classic(ACTIVITY, _find(call), _NAMES)


def _list(call: Call) -> query.Page:
    params = call.folded()
    filters = dict(query.want_array(params, "filter") or {})
    bindings = filters.pop("BINDINGS", None)
    plan = query.plan_classic(ACTIVITY, {**params, "filter": filters})
    if bindings is not None:
        plan = plan.narrow(partial(_bound, bindings))
    page = query.run(call.store.table("activity"), call.rights.narrow(plan, call.store))
    names = query.classic_names(ACTIVITY, params) if params.get("select") else _NAMES
    if "COMMUNICATIONS" in (params.get("select") or []):
        names = [*names, "COMMUNICATIONS"]
    return query.Page([show_classic(ACTIVITY, row, names) for row in page.rows], page.total, page.next)


def _bound(bindings: Any, row: Row) -> bool:
    wanted = bindings if isinstance(bindings, list) else [bindings]
    return any(
        isinstance(b, dict) and to_int(b.get("OWNER_ID")) == row["OWNER_ID"] and to_int(b.get("OWNER_TYPE_ID")) == row["OWNER_TYPE_ID"]
        for b in wanted
    )


def _save(call: Call, row: Row, values: Row) -> None:
    status = {"STATUS": 2 if values.get("COMPLETED", row["COMPLETED"]) == "Y" else 1}
    call.store.put("activity", row | values | status | {"LAST_UPDATED": call.stamp, "EDITOR_ID": call.user_id})
    call.emit("ONCRMACTIVITYUPDATE", {"FIELDS": {"ID": row["ID"]}})


def _update(call: Call) -> bool:
    row = _find(call)
    given = call.any_case("fields")
    if not isinstance(given, dict):
        raise query.as_array_error("fields")
    _save(call, row, _read(given))
    return True


def _delete(call: Call) -> bool:
    row = _find(call)
    call.store.remove("activity", row["ID"])
    call.emit("ONCRMACTIVITYDELETE", {"FIELDS": {"ID": row["ID"]}})
    return True


def _moment(raw: Any) -> str:
    try:
        return store_moment(parse_moment(str(raw)))
    except ValueError as error:
        raise PortalError(400, "WRONG_DATETIME_FORMAT", "Неверный формат даты") from error


def _owner(call: Call) -> tuple[int, int]:
    kind, number = to_int(call.required("ownerTypeId")), to_int(call.required("ownerId"))
    if kind not in BY_TYPE_ID or call.store.get(BY_TYPE_ID[kind].kind, number) is None:
        raise PortalError(400, "OWNER_NOT_FOUND", "Владелец не найден")
    return kind, number


def _todo_texts(call: Call, deadline: str) -> Row:
    values: Row = {"DEADLINE": deadline, "START_TIME": deadline, "END_TIME": deadline}
    for name, column in (("title", "SUBJECT"), ("description", "DESCRIPTION"), ("colorId", "COLOR_ID")):
        if call.arg(name) is not None:
            values[column] = str(call.arg(name))
    if call.arg("responsibleId"):
        values["RESPONSIBLE_ID"] = to_int(call.arg("responsibleId"))
    if call.arg("pingOffsets") is not None:
        values["PING_OFFSETS"] = call.arg("pingOffsets")
    return values


def _todo_add(call: Call) -> Row:
    raw = call.required("deadline")
    kind, number = _owner(call)
    row = _blank(call) | {
        "OWNER_TYPE_ID": kind,
        "OWNER_ID": number,
        "TYPE_ID": 6,
        "PROVIDER_ID": _TODO,
        "PROVIDER_TYPE_ID": "TODO",
        "SUBJECT": "Дело",
    }
    added = call.store.add("activity", row | _todo_texts(call, _moment(raw)))
    call.emit("ONCRMACTIVITYADD", {"FIELDS": {"ID": added}})
    return {"id": added}


def _todo(call: Call) -> Row:
    number = to_int(call.required("id"))
    kind, owner = _owner(call)
    row = call.store.get("activity", number)
    if row is None or row["PROVIDER_ID"] != _TODO or (row["OWNER_TYPE_ID"], row["OWNER_ID"]) != (kind, owner):
        raise PortalError(400, "NOT_FOUND", "Дело не найдено")
    if row["COMPLETED"] == "Y":
        raise PortalError(400, "CAN_NOT_UPDATE_COMPLETED_TODO", "Завершённое дело нельзя изменить")
    return row


def _todo_update(call: Call) -> Row:
    row = _todo(call)
    _save(call, row, _todo_texts(call, _moment(call.required("deadline"))))
    return {"id": row["ID"]}


def _todo_set(column: str, argument: str, call: Call) -> Row:
    row = _todo(call)
    raw = call.arg(argument)
    if raw is None:
        raise missing_parameter(argument)
    match column:
        case "DEADLINE":
            moment = _moment(raw)
            values: Row = {"DEADLINE": moment, "START_TIME": moment, "END_TIME": moment}
        case "RESPONSIBLE_ID":
            values = {column: to_int(raw)}
        case _:
            values = {column: str(raw)}
    _save(call, row, values)
    return {"id": row["ID"]}


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.activity.add": _add,
    "crm.activity.get": _get,
    "crm.activity.list": _list,
    "crm.activity.update": _update,
    "crm.activity.delete": _delete,
    "crm.activity.todo.add": _todo_add,
    "crm.activity.todo.update": _todo_update,
    "crm.activity.todo.updateDeadline": partial(_todo_set, "DEADLINE", "value"),
    "crm.activity.todo.updateDescription": partial(_todo_set, "DESCRIPTION", "value"),
    "crm.activity.todo.updateColor": partial(_todo_set, "COLOR_ID", "colorId"),
    "crm.activity.todo.updateResponsibleUser": partial(_todo_set, "RESPONSIBLE_ID", "responsibleId"),
}
