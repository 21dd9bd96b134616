"""Sandbox portal, methods for tasks of REST v2 and their checklists.

They answer with strings. `tasks.task.get` answers with an empty list if the task does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, missing_parameter
from sandbox.portal.methods.task_records import note, note_changes
from sandbox.portal.schema import TASK, Row
from sandbox.portal.values import parse, show_classic, to_flag, to_int

_NOT_ALLOWED = "Action on the task is not allowed"
# method -> (states it is allowed from, state it leads to): 2 waiting, 3 in progress, 4 awaiting control, 5 done, 6 postponed
_MOVES = {
    "start": ({2, 6}, 3),
    "pause": ({3}, 2),
    "defer": ({2, 3}, 6),
    "complete": ({2, 3, 6}, 5),
    "renew": ({4, 5, 6}, 2),
    "approve": ({4}, 5),
    "disapprove": ({4}, 2),
}


def _person(call: Call, number: Any) -> Row:
    user = call.store.get("user", to_int(number)) or {}
    name = " ".join(part for part in (user.get("NAME"), user.get("LAST_NAME")) if part)
    link = f"/company/personal/user/{number}/"
    return {"id": str(number), "name": name, "link": link, "icon": "/bitrix/images/tasks/default_avatar.png"}


def _shown(call: Call, row: Row, names: Any = None) -> Row:
    chosen = names or TASK.fields
    shown = {TASK.fields[n].camel: v for n, v in show_classic(TASK, row, chosen).items()}
    shown["subStatus"] = shown.get("realStatus", str(row["REAL_STATUS"]))
    if "RESPONSIBLE_ID" in chosen:
        shown["responsible"] = _person(call, row["RESPONSIBLE_ID"])
    if "CREATED_BY" in chosen:
        shown["creator"] = _person(call, row["CREATED_BY"])
    return shown


def _fields(call: Call) -> Row:
    given = call.arg("fields")
    if not isinstance(given, dict) or not given:
        raise missing_parameter("fields")
    values: Row = {}
    for name, raw in given.items():
        field = TASK.fields.get(name.upper())
        if field is None or field.read_only:
            continue
        try:
            values[field.name] = parse(field, raw)
        except ValueError as error:
            raise PortalError(400, "ERROR_CORE", f"Неверное значение поля «{field.title}»<br>") from error
    return values


def _find(call: Call) -> Row:
    row = call.store.get("task", to_int(call.required("taskId")))
    if row is None:
        raise PortalError(400, "0", "Wrong task id")
    return row


def _tell(call: Call, event: str, before: int | None, after: int | None) -> None:
    data = {"FIELDS_BEFORE": {"ID": before} if before else "undefined"}
    data["FIELDS_AFTER"] = {"ID": after} if after else "undefined"
    data |= {"IS_ACCESSIBLE_BEFORE": "Y" if before else "undefined", "IS_ACCESSIBLE_AFTER": "Y" if after else "N"}
    call.emit(event, data)


def _add(call: Call) -> Row:
    values = _fields(call)
    if not values.get("TITLE"):
        raise PortalError(400, "ERROR_CORE", "Не указано название задачи<br>")
    if not values.get("RESPONSIBLE_ID"):
        raise PortalError(400, "ERROR_CORE", "Не указан исполнитель<br>")
    return {"task": _shown(call, create(call, values))}


def create(call: Call, values: Row) -> Row:
    """Add one task with the portal's defaults, raise its event, and return the stored record."""
    row = dict.fromkeys(TASK.fields) | {
        "STATUS": 2,
        "PRIORITY": 1,
        "CREATED_BY": call.user_id,
        "GROUP_ID": 0,
        "PARENT_ID": 0,
        "COMMENTS_COUNT": 0,
        "DESCRIPTION": "",
        "CREATED_DATE": call.stamp,
        "CHANGED_DATE": call.stamp,
        "CHANGED_BY": call.user_id,
    }
    row |= {name: value for name, value in values.items() if value is not None}
    row["REAL_STATUS"] = row["STATUS"]
    number = call.store.add("task", row)
    note(call, number, "NEW")
    _tell(call, "ONTASKADD", None, number)
    return call.store.get("task", number) or row


def save(call: Call, row: Row, values: Row) -> Row:
    """Write new values to a task, add lines to its history, raise its portal event, and return the stored record."""
    after = row | values | {"CHANGED_DATE": call.stamp, "CHANGED_BY": call.user_id}
    after["REAL_STATUS"] = after["STATUS"]
    if after["STATUS"] != row["STATUS"]:
        done = after["STATUS"] == 5
        after |= {"CLOSED_DATE": call.stamp if done else None, "CLOSED_BY": call.user_id if done else None}
        if after["STATUS"] == 3:
            after["DATE_START"] = call.stamp
    call.store.put("task", after)
    note_changes(call, row, after)
    _tell(call, "ONTASKUPDATE", row["ID"], row["ID"])
    return after


def remove(call: Call, row: Row) -> None:
    """Delete a task with its checklist, history and time records, and raise its portal event."""
    call.store.remove_where("checklist", lambda item: item["TASK_ID"] == row["ID"])
    for kind in ("task_history", "elapsed", "task_comment"):
        call.store.remove_where(kind, lambda item: item["TASK_ID"] == row["ID"])
    call.store.remove("task", row["ID"])
    _tell(call, "ONTASKDELETE", row["ID"], None)


def _update(call: Call) -> Row:
    row = _find(call)
    values = _fields(call)
    if "TITLE" in values and not values["TITLE"]:
        raise PortalError(400, "ERROR_CORE", "Не указано название задачи<br>")
    return {"task": _shown(call, save(call, row, values))}


def _get(call: Call) -> Row | list[Any]:
    row = call.store.get("task", to_int(call.required("taskId")))
    if row is None:
        return []
    names = [n.upper() for n in call.arg("select") or [] if isinstance(n, str) and n.upper() in TASK.fields]
    return {"task": _shown(call, row, ["ID", *names] if names else None)}


def _list(call: Call) -> query.Page:
    for name in query.want_array(call.params, "order"):
        if str(name).upper() not in TASK.fields:
            raise PortalError(400, "0", "Invalid sorting key")
    plan = call.rights.narrow(query.plan_classic(TASK, call.params), call.store)
    page = query.run(call.store.table("task"), plan)
    wanted = [str(n).upper() for n in call.arg("select") or []]
    names = ["ID", *(n for n in wanted if n in TASK.fields)] if wanted and "*" not in wanted else None
    return query.Page([_shown(call, row, names) for row in page.rows], page.total, page.next, box="tasks")


def _delete(call: Call) -> Row:
    row = call.store.get("task", to_int(call.required("taskId")))
    if row is None:
        raise PortalError(400, "1048582", "Задача не найдена или недоступна")
    remove(call, row)
    return {"task": True}


def _move(verb: str, call: Call) -> Row:
    row = _find(call)
    allowed, state = _MOVES[verb]
    if row["STATUS"] not in allowed:
        raise PortalError(400, "0", _NOT_ALLOWED)
    return {"task": _shown(call, save(call, row, {"STATUS": state}))}


def _delegate(call: Call) -> Row:
    row = _find(call)
    user = to_int(call.required("userId"))
    if call.store.get("user", user) is None:
        raise PortalError(400, "0", _NOT_ALLOWED)
    return {"task": _shown(call, save(call, row, {"RESPONSIBLE_ID": user}))}


def _describe(_: Call) -> Row:
    return {"fields": {f.name: {"title": f.title, "type": f.type} for f in TASK.fields.values()}}


def _positional(call: Call, *names: str) -> list[Any]:
    """Return the arguments of an old task method in the order of `names`; the caller may give each one by name or by position."""
    given = list(call.params.values())
    return [call.params.get(name, given[place] if place < len(given) else None) for place, name in enumerate(names)]


def _check_add(call: Call) -> int:
    task, fields = _positional(call, "TASKID", "FIELDS")
    if call.store.get("task", to_int(task)) is None or not isinstance(fields, dict) or not fields.get("TITLE"):
        raise PortalError(400, "ERROR_CORE", "TASKS_ERROR_EXCEPTION_#256; Неверные аргументы<br>")
    complete = to_flag(fields.get("IS_COMPLETE"))
    title = str(fields["TITLE"])
    item = {"TASK_ID": to_int(task), "TITLE": title, "IS_COMPLETE": complete}
    note(call, to_int(task), "CHECKLIST_ITEM_CREATE", "", title)
    return call.store.add("checklist", item | {"CREATED_BY": call.user_id})


def _check_list(call: Call) -> list[Row]:
    (task,) = _positional(call, "TASKID")
    rows = [item for item in call.store.walk("checklist") if item["TASK_ID"] == to_int(task)]
    return [{name: str(value) for name, value in item.items()} for item in rows]


def _check_item(call: Call) -> Row:
    _, number = _positional(call, "TASKID", "ITEMID")
    item = call.store.get("checklist", to_int(number))
    if item is None:
        raise PortalError(400, "ERROR_CORE", "TASKS_ERROR_EXCEPTION_#8; Пункт не найден<br>")
    return item


def _check_mark(state: str, call: Call) -> bool:
    call.store.put("checklist", _check_item(call) | {"IS_COMPLETE": state})
    return True


def _check_update(call: Call) -> None:
    fields = _positional(call, "TASKID", "ITEMID", "FIELDS")[2]
    title = fields.get("TITLE") if isinstance(fields, dict) else None
    if title:
        call.store.put("checklist", _check_item(call) | {"TITLE": str(title)})


def _check_delete(call: Call) -> bool:
    call.store.remove("checklist", _check_item(call)["ID"])
    return True


_MOVE_METHODS: dict[str, Callable[[Call], Any]] = {f"tasks.task.{verb}": partial(_move, verb) for verb in _MOVES}
METHODS: dict[str, Callable[[Call], Any]] = _MOVE_METHODS | {
    "tasks.task.add": _add,
    "tasks.task.update": _update,
    "tasks.task.get": _get,
    "tasks.task.list": _list,
    "tasks.task.delete": _delete,
    "tasks.task.delegate": _delegate,
    "tasks.task.getFields": _describe,
    "task.checklistitem.add": _check_add,
    "task.checklistitem.getlist": _check_list,
    "task.checklistitem.update": _check_update,
    "task.checklistitem.delete": _check_delete,
    "task.checklistitem.complete": partial(_check_mark, "Y"),
    "task.checklistitem.renew": partial(_check_mark, "N"),
}
