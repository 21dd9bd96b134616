"""Sandbox portal, methods: messages to people and calendar events; they are only written down, nothing leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, classic
from sandbox.portal.schema import Row
from sandbox.portal.values import parse_moment, show_moment, store_moment, to_int


def _notify(call: Call) -> int:
    params = {key.upper(): value for key, value in call.params.items()}
    user = to_int(params.get("USER_ID") or params.get("TO"))
    text = str(params.get("MESSAGE") or "")
    if not user:
        raise PortalError(400, "USER_ID_EMPTY", "User ID can't be empty")
    if not text.strip():
        raise PortalError(400, "MESSAGE_EMPTY", "Message can't be empty")
    tag = params.get("TAG")
    if tag:
        call.store.remove_where("notice", lambda row: row["TAG"] == tag and row["USER_ID"] == user)
    notice = {"USER_ID": user, "MESSAGE": text, "TAG": tag, "AUTHOR_ID": call.user_id, "CREATED": call.stamp}
    return call.store.add("notice", notice)


def _notify_delete(call: Call) -> bool:
    params = {key.upper(): value for key, value in call.params.items()}
    number, tag = to_int(params.get("ID")), params.get("TAG")
    return bool(call.store.remove_where("notice", lambda row: row["ID"] == number or (bool(tag) and row["TAG"] == tag)))


def _message(call: Call) -> int:
    params = {key.upper(): value for key, value in call.params.items()}
    dialog, text = str(params.get("DIALOG_ID") or params.get("USER_ID") or ""), str(params.get("MESSAGE") or "")
    if not dialog:
        raise PortalError(400, "DIALOG_ID_EMPTY", "Dialog ID can't be empty")
    if not text.strip() and not params.get("ATTACH"):
        raise PortalError(400, "MESSAGE_EMPTY", "Message can't be empty")
    return call.store.add("message", {"DIALOG_ID": dialog, "MESSAGE": text, "AUTHOR_ID": call.user_id, "CREATED": call.stamp})


def _moment(call: Call, name: str) -> str:
    raw = call.arg(name)
    if not raw:
        raise classic(f"The required parameter '{name}' is not set")
    try:
        return store_moment(parse_moment(str(raw)))
    except ValueError as error:
        raise classic(f"Invalid value of parameter '{name}'") from error


def _event_values(call: Call) -> Row:
    values: Row = {}
    for name in ("name", "description", "location", "section", "attendees", "is_meeting", "color"):
        if call.arg(name) is not None:
            values[name.upper()] = call.arg(name)
    for name in ("from", "to"):
        if call.arg(name) is not None:
            values[name.upper()] = _moment(call, name)
    return values


def _event_add(call: Call) -> int:
    for name in ("type", "ownerId", "name", "from", "to", "section"):
        if call.arg(name) in (None, ""):
            raise classic(f"The required parameter '{name}' is not set")
    row = {"TYPE": str(call.arg("type")), "OWNER_ID": to_int(call.arg("ownerId")), "CREATED_BY": call.user_id}
    number = call.store.add("event", row | _event_values(call))
    call.emit("ONCALENDARENTRYADD", {"id": number})
    return number


def _event(call: Call) -> Row:
    row = call.store.get("event", to_int(call.arg("id")))
    if row is None:
        raise classic("Event not found")
    return row


def _event_update(call: Call) -> int:
    row = _event(call)
    call.store.put("event", row | _event_values(call))
    call.emit("ONCALENDARENTRYUPDATE", {"id": row["ID"]})
    return int(row["ID"])


def _event_delete(call: Call) -> bool:
    row = _event(call)
    call.store.remove("event", row["ID"])
    call.emit("ONCALENDARENTRYDELETE", {"id": row["ID"]})
    return True


def _event_shown(row: Row) -> Row:
    shown: Row = {name: str(row[name]) for name in ("ID", "OWNER_ID", "CREATED_BY")}
    shown |= {"CAL_TYPE": row["TYPE"], "NAME": row["NAME"], "DESCRIPTION": row.get("DESCRIPTION", "")}
    for name in ("FROM", "TO"):
        shown[f"DATE_{name}"] = show_moment(row[name])
    shown |= {"SECTION_ID": str(row.get("SECTION", "")), "IS_MEETING": row.get("IS_MEETING") in (True, "Y", "1")}
    return shown | {"ATTENDEES_CODES": [f"U{a}" for a in row.get("ATTENDEES") or []]}


def _event_get(call: Call) -> list[Row]:
    kind, owner = str(call.arg("type") or ""), to_int(call.arg("ownerId"))
    if not kind or call.arg("ownerId") is None:
        raise classic("The required parameter 'type' is not set")
    since = _moment(call, "from") if call.arg("from") else ""
    until = _moment(call, "to") if call.arg("to") else "9999"
    rows = [
        row
        for row in call.store.walk("event")
        if row["TYPE"] == kind and row["OWNER_ID"] == owner and row["TO"] >= since and row["FROM"] <= until
    ]
    return [_event_shown(row) for row in rows]


METHODS: dict[str, Callable[[Call], Any]] = {
    "im.notify": _notify,
    "im.notify.personal.add": _notify,
    "im.notify.system.add": _notify,
    "im.notify.delete": _notify_delete,
    "im.message.add": _message,
    "calendar.event.add": _event_add,
    "calendar.event.update": _event_update,
    "calendar.event.delete": _event_delete,
    "calendar.event.get": _event_get,
}
