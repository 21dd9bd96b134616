"""Sandbox portal, methods: calendars, their events and people's busy times; nobody is invited, nothing is sent."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sandbox.portal.context import Call
from sandbox.portal.errors import classic
from sandbox.portal.schema import Row
from sandbox.portal.values import PORTAL_ZONE, parse_moment, store_moment, to_int


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


def _zone(call: Call, user: int) -> str:
    return str((call.store.get("user", user) or {}).get("TIME_ZONE") or "Europe/Moscow")


def _wire(stored: str) -> str:
    """Return a stored time as a Russian portal writes it: `31.12.2026 18:00:00`, in the portal's time zone."""
    return datetime.fromisoformat(stored).astimezone(PORTAL_ZONE).strftime("%d.%m.%Y %H:%M:%S")


def _times(call: Call, row: Row) -> Row:
    """Return the time fields of an event, which are the same in the answers about events and about busy times."""
    shown: Row = {"ID": str(row["ID"]), "NAME": row["NAME"]}
    for side in ("FROM", "TO"):
        shown[f"DATE_{side}"] = _wire(row[side])
        shown[f"DATE_{side}_TS_UTC"] = str(int(datetime.fromisoformat(row[side]).timestamp()))
        shown[f"TZ_{side}"] = _zone(call, row["CREATED_BY"])
        offset = datetime.fromisoformat(row[side]).astimezone(PORTAL_ZONE).utcoffset() or timedelta()
        shown[f"TZ_OFFSET_{side}"] = str(int(offset.total_seconds()))
        shown[f"~USER_OFFSET_{side}"] = 0
    return shown | {"DT_SKIP_TIME": "N", "ACCESSIBILITY": "busy", "IMPORTANCE": "normal", "EVENT_TYPE": None}


def _event_shown(call: Call, row: Row) -> Row:
    section, guests = str(row.get("SECTION", "")), row.get("ATTENDEES") or []
    return _times(call, row) | {
        "PARENT_ID": str(row["ID"]),
        "DELETED": "N",
        "CAL_TYPE": row["TYPE"],
        "OWNER_ID": str(row["OWNER_ID"]),
        "CREATED_BY": str(row["CREATED_BY"]),
        "DESCRIPTION": row.get("DESCRIPTION", ""),
        "LOCATION": row.get("LOCATION", ""),
        "COLOR": row.get("COLOR", ""),
        "SECTION_ID": section,
        "SECT_ID": section,
        "IS_MEETING": row.get("IS_MEETING") in (True, "Y", "1"),
        "MEETING_HOST": str(row["CREATED_BY"]),
        "ATTENDEES_CODES": [f"U{guest}" for guest in guests],
        "ATTENDEE_LIST": [_guest(row, to_int(guest)) for guest in guests],
        "DT_LENGTH": int((datetime.fromisoformat(row["TO"]) - datetime.fromisoformat(row["FROM"])).total_seconds()),
    }


def _guest(row: Row, user: int) -> Row:
    return {"id": user, "entryId": str(row["ID"]), "status": "H" if user == row["CREATED_BY"] else "Q"}


def _must(call: Call, method: str, *names: str) -> None:
    for name in names:
        if call.arg(name) in (None, "", []):
            raise classic(f'The required parameter "{name}" for the method "{method}" is not set')


def _event_by_id(call: Call) -> Row | None:
    """Return one event, or None for an unknown id.

    This None is assumed: the documentation does not say what a portal answers to an unknown id.
    """
    _must(call, "calendar.event.getbyid", "id")
    row = call.store.get("event", to_int(call.arg("id")))
    return None if row is None else _event_shown(call, row)


def _accessibility(call: Call) -> Row:
    """Return for each user id the events that make the user busy between `from` and `to`: own events and invitations.

    The period contains the whole day of `to`, in the portal's time zone.
    """
    _must(call, "calendar.accessibility.get", "from", "to", "users")
    since = _moment(call, "from")
    until = store_moment(parse_moment(str(call.arg("to"))) + timedelta(days=1))
    users = call.arg("users")
    found: Row = {}
    for user in users if isinstance(users, list) else [users]:
        number = to_int(user)
        rows = [row for row in call.store.walk("event") if _takes_part(row, number) and row["TO"] > since and row["FROM"] < until]
        found[str(number)] = [_times(call, row) for row in rows]
    return found


def _takes_part(row: Row, user: int) -> bool:
    return (row["TYPE"] == "user" and row["OWNER_ID"] == user) or user in {to_int(guest) for guest in row.get("ATTENDEES") or []}


def _sections(call: Call) -> list[Row]:
    """Return the calendar of one user or of the company, according to the parameter `type`; an empty list if there is none.

    In the calendar of somebody else, the rights (`PERM`) allow a caller who is no administrator to see only times and titles.
    """
    _must(call, "calendar.section.get", "type")
    kind = str(call.arg("type"))
    if kind != "user":
        _must(call, "calendar.section.get", "ownerId")
    owner = to_int(call.arg("ownerId")) if call.arg("ownerId") not in (None, "") else call.user_id
    if kind == "company_calendar":
        return [_section(call, 3, "Календарь компании", kind, 0)]
    if kind != "user" or call.store.get("user", owner) is None:
        return []
    return [_section(call, 100 + owner, "Мой календарь", kind, owner)]


def _section(call: Call, number: int, name: str, kind: str, owner: int) -> Row:
    me = call.store.get("user", call.user_id) or {}
    made = (call.store.get("user", owner or 1) or {})["DATE_REGISTER"]
    stamp = datetime.fromisoformat(made).astimezone(PORTAL_ZONE).strftime("%Y-%m-%d %H:%M:%S")
    mine = owner == call.user_id or bool(me.get("IS_ADMIN"))
    rights = dict.fromkeys(("view_full", "add", "edit", "edit_section", "access"), mine)
    return {
        "ID": str(number),
        "NAME": name,
        "GAPI_CALENDAR_ID": None,
        "DESCRIPTION": "",
        "COLOR": "#9dcf00",
        "TEXT_COLOR": "",
        "EXPORT": {"ALLOW": True},
        "CAL_TYPE": kind,
        "OWNER_ID": str(owner),
        "CREATED_BY": str(owner or 1),
        "DATE_CREATE": stamp,
        "TIMESTAMP_X": stamp,
        "CAL_DAV_CON": None,
        "SYNC_TOKEN": None,
        "PAGE_TOKEN": None,
        "EXTERNAL_TYPE": "local",
        "ACCESS": {f"U{owner or 1}": 19},
        "IS_COLLAB": False,
        "PERM": {"view_time": True, "view_title": True, **rights},
    }


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
    return [_event_shown(call, row) for row in rows]


METHODS: dict[str, Callable[[Call], Any]] = {
    "calendar.event.add": _event_add,
    "calendar.event.update": _event_update,
    "calendar.event.delete": _event_delete,
    "calendar.event.get": _event_get,
    "calendar.event.getbyid": _event_by_id,
    "calendar.accessibility.get": _accessibility,
    "calendar.section.get": _sections,
}
