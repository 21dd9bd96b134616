"""Sandbox portal, methods: messages to people; they are only stored, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError
from sandbox.portal.values import to_int


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


METHODS: dict[str, Callable[[Call], Any]] = {
    "im.notify": _notify,
    "im.notify.personal.add": _notify,
    "im.notify.system.add": _notify,
    "im.notify.delete": _notify_delete,
    "im.message.add": _message,
}
