"""Sandbox portal, control endpoints under `/sandbox/`.

Tests and the demo page use them to read records and calls, to order faults and to get tokens.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, get_args

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sandbox.portal import schema
from sandbox.portal.faults import Fault, Kind
from sandbox.portal.oauth import CLIENT_ID, CLIENT_SECRET
from sandbox.portal.portal import WEBHOOK_CODE, Portal
from sandbox.portal.restore import restore_records
from sandbox.portal.schema import Row, Schema
from sandbox.portal.values import MULTIFIELDS, parse, show_classic

WHOLE_CALL = frozenset(get_args(Kind))
_HEARTBEAT = 15.0
_SHOWN = ("deal", "lead", "contact", "company", "task", "comment", "activity", "user", "status", "quote", "dynamic_177", "smart_invoice")
Action = Callable[[Portal, HttpRequest], Awaitable[Response]]


class OAuthRequest(BaseModel):
    """The body of `POST /sandbox/oauth`: the user for whom a token pair is issued, and its lifetime in seconds."""

    model_config = ConfigDict(extra="forbid")
    user_id: int = 1
    expires_in: int = Field(default=3600, ge=0)


class OutgoingRequest(BaseModel):
    """The body of `POST /sandbox/outgoing`: an outgoing webhook, as an administrator creates it in the portal's web pages."""

    model_config = ConfigDict(extra="forbid")
    handler: str
    events: list[str]


class RestoreRequest(BaseModel):
    """Which records go back to their seeded values."""

    model_config = ConfigDict(extra="forbid")
    entity: Literal["deal"]
    ids: list[int]


def with_endpoints(pair: Row, http: HttpRequest) -> Row:
    """Return a token pair together with the domain and the REST addresses of this portal, as the authorization server sends it."""
    rest = f"{http.base_url}rest/"
    return {**pair, "domain": http.url.netloc, "client_endpoint": rest, "server_endpoint": rest, "scope": "crm,task"}


def webhook_url(base_url: str) -> str:
    """Return the URL of the administrator's incoming webhook."""
    return f"{base_url.rstrip('/')}/rest/1/{WEBHOOK_CODE}/"


def on(portal: Portal, path: str, method: str, action: Action) -> Route:
    """Build the route `/sandbox/{path}` for the HTTP method `method`; a request to it is answered by the function `action`.

    An invalid request body is answered with 422, and any other ValueError that `action` raises with 400.
    """

    async def endpoint(http: HttpRequest) -> Response:
        try:
            return await action(portal, http)
        except ValidationError as error:
            details = error.errors(include_url=False, include_context=False, include_input=False)
            return JSONResponse({"error": "invalid_request", "details": details}, 422)
        except ValueError as error:
            return JSONResponse({"error": "invalid_request", "details": str(error)}, 400)

    return Route(f"/sandbox/{path}", endpoint, methods=[method])


def routes(portal: Portal) -> list[Route]:
    """Build the control routes for records, the ledger (log of calls), faults, tokens and outgoing webhooks."""
    table: list[tuple[str, str, Action]] = [
        ("health", "GET", _health),
        ("ledger", "GET", _ledger),
        ("ledger", "DELETE", _clear_ledger),
        ("faults", "GET", _faults),
        ("faults", "POST", _arm),
        ("faults", "DELETE", _disarm),
        ("records/{entity}", "GET", _records),
        ("records/{entity}/{number:int}", "GET", _record),
        ("records/{entity}/{number:int}", "PATCH", _edit),
        ("records/{entity}/{number:int}", "DELETE", _erase),
        ("changes", "GET", _changes),
        ("stream", "GET", _stream),
        ("reset", "POST", _reset),
        ("restore", "POST", _restore),
        ("oauth", "POST", _issue),
        ("oauth/expire", "POST", _expire),
        ("outgoing", "POST", _outgoing),
    ]
    return [on(portal, *row) for row in table]


async def read_json(http: HttpRequest) -> Any:
    """Return the parsed body of a control request; a missing one is an empty object."""
    raw = await http.body()
    return orjson.loads(raw) if raw.strip() else {}


async def _health(portal: Portal, http: HttpRequest) -> Response:
    kinds = {name: len(portal.store.table(name)) for name in _SHOWN}
    return JSONResponse({"ok": True, "webhook": webhook_url(str(http.base_url)), "records": kinds})


async def _ledger(portal: Portal, http: HttpRequest) -> Response:
    after = int(http.query_params.get("after") or 0)
    return JSONResponse({"calls": portal.ledger.calls(http.query_params.get("method"), after)})


async def _clear_ledger(portal: Portal, _: HttpRequest) -> Response:
    portal.ledger.clear()
    return JSONResponse({"ok": True})


async def _faults(portal: Portal, _: HttpRequest) -> Response:
    return JSONResponse({"faults": [fault.model_dump() for fault in portal.faults.armed]})


async def _arm(portal: Portal, http: HttpRequest) -> Response:
    fault = Fault.model_validate(await read_json(http))
    portal.faults.armed.append(fault)
    return JSONResponse({"ok": True, "fault": fault.model_dump()})


async def _disarm(portal: Portal, _: HttpRequest) -> Response:
    portal.faults.disarm()
    return JSONResponse({"ok": True})


def _kind(http: HttpRequest) -> Schema | None:
    name = http.path_params["entity"]
    return schema.ALL.get(name) if name in _SHOWN else None


def _plain(kind: Schema, row: Row) -> Row:
    """Return a stored record for a control answer, with field names and types as in the old CRM methods."""
    return show_classic(kind, row, [f.name for f in kind.fields.values() if not f.multiple or f.name in MULTIFIELDS])


def _unknown() -> Response:
    return JSONResponse({"error": "not_found", "known": list(_SHOWN)}, 404)


async def _records(portal: Portal, http: HttpRequest) -> Response:
    kind = _kind(http)
    return _unknown() if kind is None else JSONResponse([_plain(kind, row) for row in portal.store.walk(kind.kind)])


async def _record(portal: Portal, http: HttpRequest) -> Response:
    kind = _kind(http)
    row = portal.store.get(kind.kind, http.path_params["number"]) if kind else None
    return _unknown() if kind is None or row is None else JSONResponse(_plain(kind, row))


async def _edit(portal: Portal, http: HttpRequest) -> Response:
    """Write fields directly into a record, as somebody in the portal's pages would, and return a response with the record."""
    kind = _kind(http)
    row = portal.store.get(kind.kind, http.path_params["number"]) if kind else None
    if kind is None or row is None:
        return _unknown()
    values: Row = {}
    for name, raw in (await read_json(http)).items():
        if name not in kind.fields or name == "ID" or kind.fields[name].type == "crm_multifield":
            raise ValueError(f"unknown field: {name}")
        values[name] = parse(kind.fields[name], raw)
    stamp = "CHANGED_DATE" if kind.kind == "task" else "DATE_MODIFY"
    if stamp in kind.fields:
        values.setdefault(stamp, parse(kind.fields[stamp], portal.now.isoformat()))
    portal.edit(kind.kind, {**row, **values}, str(http.base_url))
    return JSONResponse(_plain(kind, portal.store.get(kind.kind, row["ID"]) or row))


async def _erase(portal: Portal, http: HttpRequest) -> Response:
    """Delete a CRM record without an event."""
    kind = _kind(http)
    if kind is None or not kind.type_id or portal.store.get(kind.kind, http.path_params["number"]) is None:
        return _unknown()
    portal.erase(kind.kind, http.path_params["number"])
    return JSONResponse({"ok": True})


async def _changes(portal: Portal, http: HttpRequest) -> Response:
    after = int(http.query_params.get("after") or 0)
    lines = portal.ledger.after(after)
    return JSONResponse({"changes": lines, "last": lines[-1]["seq"] if lines else after})


async def _stream(portal: Portal, http: HttpRequest) -> Response:
    """Return a response that streams the lines of the ledger (calls, changes, sent events) as server-sent events, first the stored ones.

    Only lines with a number above the header `Last-Event-ID` or the query parameter `after` are sent.
    """
    after = int(http.headers.get("last-event-id") or http.query_params.get("after") or 0)
    return StreamingResponse(_lines(portal, after), media_type="text/event-stream")


async def _lines(portal: Portal, after: int) -> AsyncIterator[bytes]:
    yield b": hello\n\n"
    while True:
        for line in portal.ledger.after(after):
            after = max(after, line["seq"])
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (line["seq"], line["kind"].encode(), orjson.dumps(line))
        try:
            await asyncio.wait_for(portal.ledger.grown(), _HEARTBEAT)
        except TimeoutError:
            yield b": still here\n\n"


async def _reset(portal: Portal, _: HttpRequest) -> Response:
    portal.reset()
    return JSONResponse({"ok": True})


async def _restore(portal: Portal, http: HttpRequest) -> Response:
    wanted = RestoreRequest.model_validate(await read_json(http))
    try:
        return JSONResponse({"changed": restore_records(portal, wanted.entity, wanted.ids, str(http.base_url))})
    except KeyError as unknown:
        raise ValueError(f"not seeded: {wanted.entity} {unknown}") from None


async def _issue(portal: Portal, http: HttpRequest) -> Response:
    wanted = OAuthRequest.model_validate(await read_json(http))
    if portal.store.get("user", wanted.user_id) is None:
        raise ValueError(f"unknown user: {wanted.user_id}")
    pair = portal.tokens.issue(wanted.user_id, portal.now, wanted.expires_in)
    portal.store.commit()
    return JSONResponse({**with_endpoints(pair, http), "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET})


async def _expire(portal: Portal, _: HttpRequest) -> Response:
    """Expire every access token now, and return a response with their number."""
    expired = portal.tokens.expire(portal.now)
    portal.store.commit()
    return JSONResponse({"ok": True, "expired": expired})


async def _outgoing(portal: Portal, http: HttpRequest) -> Response:
    wanted = OutgoingRequest.model_validate(await read_json(http))
    token = secrets.token_hex(16)
    portal.store.add("outgoing", {"HANDLER": wanted.handler, "EVENTS": [e.upper() for e in wanted.events], "TOKEN": token})
    portal.store.commit()
    return JSONResponse({"application_token": token, "member_id": portal.tokens.member_id})
