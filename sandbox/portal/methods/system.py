"""Sandbox portal, methods: server time, scopes, the list of methods, and event bindings (applications only)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError, wrong_auth_type
from sandbox.portal.schema import Row
from sandbox.portal.schema_smart import CONTRACT_TYPE_ID
from sandbox.portal.values import PORTAL_ZONE

SCOPES = ("crm", "task", "tasks_extended", "user", "im", "calendar", "department", "catalog", "telephony")
_CRM_EVENTS = tuple(
    f"ONCRM{kind}{verb}"
    for kind in ("LEAD", "DEAL", "CONTACT", "COMPANY", "QUOTE", "ACTIVITY", "TIMELINECOMMENT", "DYNAMICITEM")
    for verb in ("ADD", "UPDATE", "DELETE")
)
EVENTS = (
    *_CRM_EVENTS,
    "ONCRMDEALMOVETOCATEGORY",
    *(f"ONCRMDYNAMICITEM{verb}_{CONTRACT_TYPE_ID}" for verb in ("ADD", "UPDATE", "DELETE")),
    *(f"ONTASK{verb}" for verb in ("ADD", "UPDATE", "DELETE")),
    *(f"ONCALENDARENTRY{verb}" for verb in ("ADD", "UPDATE", "DELETE")),
    "ONUSERADD",
    "ONAPPINSTALL",
    "ONAPPUNINSTALL",
    "ONAPPTEST",
)


def _time(call: Call) -> str:
    return call.now.astimezone(PORTAL_ZONE).strftime("%Y-%m-%dT%H:%M:%S+03:00")


def _scope(call: Call) -> list[str]:
    return [scope for scope in SCOPES if scope not in call.rights.without_scopes]


def _methods(call: Call) -> list[str]:
    return sorted(call.known_methods)


def _method_get(call: Call) -> Row:
    wanted = str(call.any_case("name") or "").lower()
    known = any(name.lower() == wanted for name in call.known_methods)
    return {"isExisting": known, "isAvailable": known}


def _feature(call: Call) -> Row:
    return {"value": "Y" if call.any_case("code") == "rest_offline_extended" else "N"}


def _app_info(call: Call) -> Row:
    if not call.by_app:
        raise PortalError(400, "ACCESS_DENIED", "Access denied! Application context required")
    return {"ID": 1, "CODE": "local.sandbox", "VERSION": 1, "STATUS": "L", "INSTALLED": True, "LICENSE": "ru_project"}


def _app_only(call: Call) -> None:
    if not call.by_app:
        raise wrong_auth_type()


def _event_name(call: Call) -> str:
    name = str(call.any_case("event") or "").upper()
    if name not in EVENTS:
        raise PortalError(400, "ERROR_EVENT_NOT_FOUND", "Event not found")
    return name


def _events(call: Call) -> list[str]:
    _app_only(call)
    return list(EVENTS)


def _bind(call: Call) -> bool:
    _app_only(call)
    if not (call.store.get("user", call.user_id) or {}).get("IS_ADMIN"):
        raise PortalError(403, "ACCESS_DENIED", "Access denied!")
    event, handler = _event_name(call), str(call.any_case("handler") or "")
    if not handler.startswith(("http://", "https://")):
        raise PortalError(400, "ERROR_ARGUMENT", "Argument 'HANDLER' is null or empty")
    if any(b["EVENT"] == event and b["HANDLER"] == handler for b in call.store.walk("binding")):
        raise PortalError(400, "ERROR_HANDLER_ALREADY_EXIST", "Unable to set event handler: handler already binded")
    call.store.add("binding", {"EVENT": event, "HANDLER": handler, "AUTH_TYPE": str(call.any_case("auth_type") or "0")})
    return True


def _unbind(call: Call) -> Row:
    _app_only(call)
    event, handler = _event_name(call), call.any_case("handler")
    count = call.store.remove_where("binding", lambda b: b["EVENT"] == event and (not handler or b["HANDLER"] == handler))
    return {"count": count}


def _bindings(call: Call) -> list[Row]:
    _app_only(call)
    return [{"event": b["EVENT"], "handler": b["HANDLER"], "auth_type": b["AUTH_TYPE"], "offline": 0} for b in call.store.walk("binding")]


METHODS: dict[str, Callable[[Call], Any]] = {
    "server.time": _time,
    "scope": _scope,
    "methods": _methods,
    "method.get": _method_get,
    "feature.get": _feature,
    "app.info": _app_info,
    "events": _events,
    "event.bind": _bind,
    "event.unbind": _unbind,
    "event.get": _bindings,
}
