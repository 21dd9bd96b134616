"""Sandbox portal, methods: timeline comments; a comment on a record that does not exist is accepted, as on a real portal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import conditions, query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, invalid_argument, missing_parameter
from sandbox.portal.schema import COMMENT, Row
from sandbox.portal.values import show_classic, to_int

_NAMES = ("ID", "ENTITY_ID", "ENTITY_TYPE", "CREATED", "COMMENT", "AUTHOR_ID", "FILES")


def _text_of(fields: Row) -> str:
    text = fields.get("COMMENT")
    if not isinstance(text, str) or not text.strip():
        raise invalid_argument("Поле «COMMENT» не может быть пустым")
    return text


def _find(call: Call) -> Row:
    row = call.store.get("comment", to_int(call.required("id")))
    if row is None:
        raise PortalError(400, "NOT_FOUND", "Комментарий не найден")
    return row


def _add(call: Call) -> int:
    fields = call.required_map("fields")
    for name in ("ENTITY_ID", "ENTITY_TYPE"):
        if not fields.get(name):
            raise missing_parameter(name)
    kind = str(fields["ENTITY_TYPE"]).lower()
    if kind not in {"deal", "lead", "contact", "company", "quote"} and not kind.startswith("dynamic_"):
        raise invalid_argument("Неизвестный тип объекта")
    number = call.store.add(
        "comment",
        {
            "ENTITY_ID": to_int(fields["ENTITY_ID"]),
            "ENTITY_TYPE": kind,
            "COMMENT": _text_of(fields),
            "CREATED": call.stamp,
            "AUTHOR_ID": to_int(fields.get("AUTHOR_ID")) or call.user_id,
            "FILES": [],
        },
    )
    call.emit("ONCRMTIMELINECOMMENTADD", {"FIELDS": {"ID": number}})
    return number


def _get(call: Call) -> Row:
    return show_classic(COMMENT, _find(call), _NAMES)


def _list(call: Call) -> query.Page:
    filters = call.required_map("filter")
    for name in ("ENTITY_ID", "ENTITY_TYPE"):
        if not any(conditions.split_key(key)[1] == name for key in filters):
            raise missing_parameter(name)
    page = query.run(call.store.table("comment"), query.plan_classic(COMMENT, call.params))
    return query.Page([show_classic(COMMENT, row, _NAMES) for row in page.rows], page.total, page.next)


def _update(call: Call) -> int:
    row = _find(call)
    call.store.put("comment", {**row, "COMMENT": _text_of(call.required_map("fields"))})
    call.emit("ONCRMTIMELINECOMMENTUPDATE", {"FIELDS": {"ID": row["ID"]}})
    return int(row["ID"])


def _delete(call: Call) -> None:
    row = _find(call)
    call.store.remove("comment", row["ID"])
    call.emit("ONCRMTIMELINECOMMENTDELETE", {"FIELDS": {"ID": row["ID"]}})


METHODS: dict[str, Callable[[Call], Any]] = {
    "crm.timeline.comment.add": _add,
    "crm.timeline.comment.get": _get,
    "crm.timeline.comment.list": _list,
    "crm.timeline.comment.update": _update,
    "crm.timeline.comment.delete": _delete,
}
