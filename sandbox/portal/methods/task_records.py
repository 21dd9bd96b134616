"""Sandbox portal, methods: the history of a task, the time spent on it, and its comments.

Comments work as they did before version 25.700.0 of the portal's module for tasks: there are no task chats.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from sandbox.portal import query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, missing_parameter
from sandbox.portal.schema import Row
from sandbox.portal.values import show_moment, to_int

_WATCHED = ("TITLE", "DESCRIPTION", "STATUS", "PRIORITY", "PARENT_ID", "GROUP_ID", "CREATED_BY", "RESPONSIBLE_ID")
_LISTS = ("ACCOMPLICES", "AUDITORS", "TAGS")
_DATES = ("DEADLINE", "START_DATE_PLAN", "END_DATE_PLAN")
_SORTABLE = {"id": "ID", "createddate": "CREATED", "field": "FIELD"}


def note(call: Call, task_id: int, field: str, before: Any = None, after: Any = None) -> None:
    """Add one line to the history of a task: the caller changed `field` from `before` to `after`."""
    line = {"TASK_ID": task_id, "FIELD": field, "FROM": before, "TO": after, "USER_ID": call.user_id, "CREATED": call.stamp}
    call.store.add("task_history", line)


def note_changes(call: Call, before: Row, after: Row) -> None:
    """Add a line to the history of a task for each field that differs, among the fields that the history records."""
    for field in (*_WATCHED, *_LISTS, *_DATES):
        old, new = before.get(field), after.get(field)
        if old != new:
            note(call, after["ID"], field, _text(field, old), _text(field, new))


def _text(field: str, value: Any) -> str | None:
    """Return a field value as text for the history of a task, or None if it is empty.

    A date becomes a Unix time. This is assumed: the documentation does not show it.
    """
    if value is None:
        return None
    if field in _DATES:
        return str(int(datetime.fromisoformat(value).timestamp()))
    return ",".join(str(item) for item in value) if isinstance(value, list) else str(value)


def _history(call: Call) -> Row:
    if call.arg("taskId") is None:
        raise missing_parameter("taskId")
    task = to_int(call.arg("taskId"))
    if not task:
        raise PortalError(400, "0", "wrong task id (internal error)")
    filters = query.want_array(call.params, "filter")
    wanted = filters.get("FIELD") if isinstance(filters, dict) else None
    fields = {str(item) for item in (wanted if isinstance(wanted, list) else [wanted])} if wanted else None
    lines = [row for row in call.store.walk("task_history") if row["TASK_ID"] == task and (fields is None or row["FIELD"] in fields)]
    order = query.want_array(call.params, "order")
    for name, way in reversed(list((order if isinstance(order, dict) and order else {"createdDate": "desc", "id": "desc"}).items())):
        key = _SORTABLE.get(str(name).lower(), "ID")
        lines.sort(key=lambda row, key=key: row[key], reverse=str(way).lower() == "desc")  # type: ignore[misc]
    return {"list": [_line(call, row) for row in lines]}


def _line(call: Call, row: Row) -> Row:
    user = call.store.get("user", row["USER_ID"]) or {}
    author = {"id": row["USER_ID"], "name": user.get("NAME"), "lastName": user.get("LAST_NAME"), "secondName": user.get("SECOND_NAME")}
    return {
        "id": row["ID"],
        "createdDate": show_moment(row["CREATED"]),
        "field": row["FIELD"],
        "value": {"from": row["FROM"], "to": row["TO"]},
        "user": {**author, "login": user.get("EMAIL")},
    }


def _of_task(call: Call, place: int, *names: str) -> Any:
    """Return an argument of an old task method (`task.elapseditem.*`), given by one of `names` or by its position `place`; else None."""
    given = list(call.params.values())
    return next((call.params[name] for name in names if name in call.params), given[place] if place < len(given) else None)


def _elapsed_add(call: Call) -> int:
    task, fields = to_int(_of_task(call, 0, "TASKID", "taskId")), _of_task(call, 1, "ARFIELDS", "arFields")
    seconds = to_int(fields.get("SECONDS")) if isinstance(fields, dict) else 0
    if call.store.get("task", task) is None:
        raise PortalError(400, "ERROR_CORE", "TASKS_ERROR_EXCEPTION_#1; Задача не найдена<br>")
    if seconds <= 0:
        raise PortalError(400, "ERROR_CORE", "TASKS_ERROR_EXCEPTION_#256; Неверные аргументы<br>")
    spent = sum(row["SECONDS"] for row in _spent(call, task))
    item = {"TASK_ID": task, "SECONDS": seconds, "COMMENT_TEXT": str(fields.get("COMMENT_TEXT") or ""), "CREATED_DATE": call.stamp}
    number = call.store.add("elapsed", item | {"USER_ID": to_int(fields.get("USER_ID")) or call.user_id})
    note(call, task, "TIME_SPENT_IN_LOGS", str(spent), str(spent + seconds))
    return number


def _spent(call: Call, task: int) -> list[Row]:
    return [row for row in call.store.walk("elapsed") if row["TASK_ID"] == task]


def _elapsed_list(call: Call) -> query.Page:
    rows = [
        {
            "ID": str(row["ID"]),
            "TASK_ID": str(row["TASK_ID"]),
            "USER_ID": str(row["USER_ID"]),
            "COMMENT_TEXT": row["COMMENT_TEXT"],
            "SECONDS": str(row["SECONDS"]),
            "MINUTES": str(row["SECONDS"] // 60),
            "SOURCE": "2",
            "CREATED_DATE": show_moment(row["CREATED_DATE"]),
        }
        for row in _spent(call, to_int(_of_task(call, 0, "TASKID", "taskId")))
    ]
    return query.page(rows, query.start_of(call.folded()))


def _comment_add(call: Call) -> int:
    task, fields = to_int(_of_task(call, 0, "TASKID", "taskId")), _of_task(call, 1, "FIELDS", "fields")
    text = str(fields.get("POST_MESSAGE") or "") if isinstance(fields, dict) else ""
    row = call.store.get("task", task)
    if row is None or not text.strip():
        raise PortalError(400, "ERROR_CORE", "TASKS_ERROR_EXCEPTION_#256; Неверные аргументы<br>")
    call.store.put("task", row | {"COMMENTS_COUNT": to_int(row["COMMENTS_COUNT"]) + 1})
    return call.store.add("task_comment", {"TASK_ID": task, "POST_MESSAGE": text, "AUTHOR_ID": call.user_id, "POST_DATE": call.stamp})


def _comment_list(call: Call) -> list[Row]:
    task = to_int(_of_task(call, 0, "TASKID", "taskId"))
    rows = (row for row in call.store.walk("task_comment") if row["TASK_ID"] == task)
    return [
        {
            "ID": str(row["ID"]),
            "AUTHOR_ID": str(row["AUTHOR_ID"]),
            "POST_MESSAGE": row["POST_MESSAGE"],
            "POST_DATE": show_moment(row["POST_DATE"]),
        }
        for row in rows
    ]


METHODS: dict[str, Callable[[Call], Any]] = {
    "tasks.task.history.list": _history,
    "task.elapseditem.add": _elapsed_add,
    "task.elapseditem.getlist": _elapsed_list,
    "task.commentitem.add": _comment_add,
    "task.commentitem.getlist": _comment_list,
}
