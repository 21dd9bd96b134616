"""Sandbox portal, wire format: parses HTTP requests in all forms that a portal accepts and renders answers as JSON or XML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

import orjson
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from sandbox.portal.php import as_php_value, from_pairs, parse_query
from sandbox.portal.portal import Request
from sandbox.portal.rendering import Rows, to_json
from sandbox.portal.schema import Row
from sandbox.portal.v3 import NOT_JSON


async def read_request(http: HttpRequest) -> Request:
    """Return a REST call of a webhook or an application as a Request; `api/` in the path means REST v3.

    A webhook calls `/rest/[api/]{user}/{code}/{method}`. An application calls `/rest/[api/]{method}` with its token in `auth`.
    """
    path = [part for part in http.path_params["path"].split("/") if part]
    v3 = bool(path) and path[0] == "api"
    path = path[1:] if v3 else path
    webhook = len(path) >= 2 and path[0].isdecimal()
    body = await _v3_body(http) if v3 else None
    return Request(
        method="/".join(path[2:] if webhook else path),
        params=(body if isinstance(body, dict) else {}) if v3 else await _params(http),
        source=http.client.host if http.client else "",
        base_url=str(http.base_url),
        http=http.method,
        user_id=int(path[0]) if webhook else None,
        code=path[1] if webhook else None,
        api=3 if v3 else 2,
        body=body,
        key=http.headers.get("idempotency-key"),
        trace=http.headers.get("x-trace-id"),
    )


async def _v3_body(http: HttpRequest) -> Any:
    """Return the JSON body of a REST v3 request, or NOT_JSON if it is anything else. An empty body gives an empty object."""
    raw = await http.body()
    if not raw.strip():
        return {}
    kind = http.headers.get("content-type", "").split(";")[0].strip().lower()
    try:
        return orjson.loads(raw) if kind in {"application/json", ""} else NOT_JSON
    except orjson.JSONDecodeError:
        return NOT_JSON


async def _params(http: HttpRequest) -> Row:
    """Return the parameters of a REST v2 request from the URL and the body. The body wins; an unreadable body is ignored."""
    params = parse_query(http.url.query)
    kind = http.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "multipart/form-data":
        form = await http.form()
        return params | from_pairs([(name, value) for name, value in form.multi_items() if isinstance(value, str)])
    raw = await http.body()
    if kind == "application/x-www-form-urlencoded":
        return params | parse_query(raw.decode("utf-8", "replace"))
    try:
        body = orjson.loads(raw) if raw.strip() else {}
    except orjson.JSONDecodeError:
        body = {}
    return params | {name: as_php_value(value) for name, value in body.items()} if isinstance(body, dict) else params


def show(body: Row, status: int, sent: str, headers: Mapping[str, str] | None = None) -> Response:
    """Build the HTTP response for an answer: XML if the method name as sent ends in `.xml`, otherwise JSON."""
    if sent.rstrip("/").lower().endswith(".xml"):
        text = '<?xml version="1.0" encoding="utf-8"?>\n<response>' + _xml(body) + "</response>"
        return Response(text, status, headers, media_type="application/xml")
    return Response(to_json(body), status, headers, media_type="application/json")


def html(status: int, text: str) -> Response:
    """Build an HTML page as a response, such as an error page of a web server in place of a REST answer."""
    page = f"<html><head><title>{text}</title></head><body><h1>{text}</h1></body></html>"
    return Response(page, status, media_type="text/html")


def _xml(value: Any) -> str:
    if isinstance(value, Rows):
        value = value.opened()
    if isinstance(value, dict):
        return "".join(f"<{name}>{_xml(item)}</{name}>" for name, item in value.items())
    if isinstance(value, list):
        return "".join(f"<item>{_xml(item)}</item>" for item in value)
    return "" if value is None else escape(str(int(value) if isinstance(value, bool) else value))
