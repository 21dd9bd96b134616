"""Sandbox portal, methods for users, departments and the caller's own profile. Nobody can be invited or dismissed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.portal import conditions, query
from sandbox.portal.context import Call
from sandbox.portal.errors import PortalError
from sandbox.portal.schema import USER, Row
from sandbox.portal.values import show_classic, to_int

_NAMES = tuple(USER.fields)


def _me(call: Call) -> Row:
    return call.store.get("user", call.user_id) or {}


def _page(call: Call, params: Row) -> query.Page:
    filters = query.want_array(params, "filter")
    plan = query.plan_classic(USER, {**params, "filter": filters})
    departments = [v for k, v in (filters.items() if isinstance(filters, dict) else ()) if k == "UF_DEPARTMENT"]
    if departments:
        wanted = {to_int(d) for d in (departments[0] if isinstance(departments[0], list) else departments)}
        inside: conditions.Predicate = lambda row: bool(wanted & set(row["UF_DEPARTMENT"]))  # noqa: E731  (one use)
        bare = {**params, "filter": {k: v for k, v in filters.items() if k != "UF_DEPARTMENT"}}
        plan = query.plan_classic(USER, bare)
        plan = plan.narrow(inside)
    page = query.run(call.store.table("user"), plan)
    return query.Page([show_classic(USER, row, _NAMES) for row in page.rows], page.total, page.next)


def _get(call: Call) -> query.Page:
    params = call.folded()
    sort = params.get("sort")
    if isinstance(sort, str):
        params["order"] = {sort: str(params.get("order") or "ASC")}
    if "id" in params and "filter" not in params:
        params["filter"] = {"ID": params["id"]}
    return _page(call, params)


def _search(call: Call) -> query.Page:
    params = call.folded()
    filters = params.get("filter")
    given = filters if isinstance(filters, dict) else {k.upper(): v for k, v in params.items()}
    words = str(given.get("FIND") or "").casefold().split()
    if not words:
        like = {f"%{k}": v for k, v in given.items() if k in {"NAME", "LAST_NAME", "SECOND_NAME", "WORK_POSITION"}}
        return _page(call, {**params, "filter": {**like, "ACTIVE": True}})
    rows = [
        row
        for row in call.store.walk("user")
        if row["ACTIVE"] and all(word in f"{row['NAME']} {row['LAST_NAME']}".casefold() for word in words)
    ]
    page = query.page(rows, query.start_of(params))
    return query.Page([show_classic(USER, row, _NAMES) for row in page.rows], page.total, page.next)


def _current(call: Call) -> Row:
    return show_classic(USER, _me(call), USER.fields)


def _profile(call: Call) -> Row:
    me = _me(call)
    return {
        "ID": str(call.user_id),
        "ADMIN": bool(me.get("IS_ADMIN")),
        "NAME": me["NAME"],
        "LAST_NAME": me["LAST_NAME"],
        "PERSONAL_GENDER": me["PERSONAL_GENDER"],
        "TIME_ZONE": me["TIME_ZONE"],
    }


def _is_admin(call: Call) -> bool:
    return bool(_me(call).get("IS_ADMIN"))


def _fields(_: Call) -> Row:
    return {field.name: field.title for field in USER.fields.values()}


def _department(row: Row) -> Row:
    shown = {name: str(row[name]) for name in ("ID", "NAME", "SORT")}
    for name in ("PARENT", "UF_HEAD"):
        if row.get(name):
            shown[name] = str(row[name])
    return shown


def _departments(call: Call) -> query.Page:
    params = call.folded()
    wanted = params.get("id")
    ids = {to_int(i) for i in (wanted if isinstance(wanted, list) else [wanted])} if wanted else None
    rows = [_department(row) for row in call.store.walk("department") if ids is None or row["ID"] in ids]
    if wanted and not rows:
        raise PortalError(400, "", "Department not found")
    return query.page(rows, query.start_of(params))


METHODS: dict[str, Callable[[Call], Any]] = {
    "user.get": _get,
    "user.search": _search,
    "user.current": _current,
    "user.fields": _fields,
    "user.admin": _is_admin,
    "profile": _profile,
    "department.get": _departments,
}
