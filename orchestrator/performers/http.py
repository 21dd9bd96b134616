"""Performs effects of kind `http`: one request, to an address resolved once and checked before connecting.

No redirects, no proxies of the environment; a write whose answer is lost has an unknown outcome.
"""

import asyncio
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import httpx

from orchestrator.domain.errors import FileUnavailable
from orchestrator.domain.http_address import (
    Address,
    HttpCredential,
    IpAddress,
    Site,
    is_public,
    may_be_opened,
    parse_address,
    parse_listed_site,
)
from orchestrator.gate.call.effect import BeforeImage, Call
from orchestrator.gate.call.kinds.http_methods import MARK, format_query
from orchestrator.gate.call.ports import CallResult, Reconciled, Rejected, Succeeded, Unknown
from state.canonical import NotCanonical, check, check_depth, to_storable_text

CONNECT_SECONDS: Final = 5.0
TOTAL_SECONDS: Final = 20.0
MAX_ANSWER: Final = 1_000_000
MAX_DEPTH: Final = 100
"""What is deeper could not be stored."""
_SHOWN: Final = 300
_DIGITS: Final = 18
"""Digits read of an announced length; a longer one is too large anyway."""
_READ: Final = "http.get"
_SEE_OTHER, _CLIENT_ERROR, _SERVER_ERROR, _TIMED_OUT = 303, 400, 500, 408
_REASONS: Final = ("message", "error", "detail", "error_description", "title", "errors")
"""What answers call the sentence that says why they refuse."""
_NESTED: Final = 3
_MOVED: Final = frozenset({307, 308})
_NOT_SENT: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.LocalProtocolError)

Resolve = Callable[[str, int], Awaitable[Sequence[IpAddress]]]


class AddressRefused(Exception):
    """The host is not found, or lies where the policy does not allow it."""


class _TooLong(AddressRefused):
    def __init__(self, limit: int) -> None:
        super().__init__(f"the answer is longer than {limit} bytes")


async def resolve_host(host: str, port: int) -> list[IpAddress]:
    """Raises OSError and UnicodeError if it is not found."""
    address_rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in address_rows]


class HttpPerformer:
    portal = ""
    is_application = True

    def __init__(
        self,
        *,
        credentials: Mapping[str, HttpCredential],
        may_be_private: Callable[[Site], bool],
        resolve: Resolve = resolve_host,
        transport: httpx.AsyncBaseTransport | None = None,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        """`may_be_private`: the policy lets a site lie in a private network."""
        self._credentials = credentials
        self._may_be_private = may_be_private
        self._resolve = resolve
        self._total = total_seconds
        self._transport = transport
        self._opened: httpx.AsyncClient | None = None

    @property
    def _http(self) -> httpx.AsyncClient:
        """Made with the first call: loading certificates would delay the start."""
        if self._opened is None:
            self._opened = httpx.AsyncClient(
                transport=self._transport,
                timeout=httpx.Timeout(self._total, connect=min(CONNECT_SECONDS, self._total)),
                trust_env=False,
                follow_redirects=False,
                limits=httpx.Limits(max_keepalive_connections=0),
            )
        return self._opened

    async def aclose(self) -> None:
        if self._opened is not None:
            await self._opened.aclose()

    async def execute(self, call: Call) -> CallResult:
        address = parse_address(call.params["url"])
        try:
            headers = {**self._find_secret(call, address.site), **_build_headers(call)}
            target = await self._choose_address(address.site)
            query = "&".join(part for part in (address.query, format_query(call.params.get("query") or {})) if part)
            verb = call.method.rpartition(".")[2].upper()
            request = self._build_request(verb, replace(address, query=query), target, headers, _build_body(call.params))
        except (AddressRefused, httpx.InvalidURL) as error:
            return Rejected(code="http-not-sent", detail=str(error), sent=False)
        is_read = call.method == _READ
        heard = _Heard()
        try:
            async with asyncio.timeout(self._total):
                return await self._send(request, heard, is_read=is_read)
        except _NOT_SENT as error:
            return Rejected(code="http-not-reached", detail=_describe(error), sent=False)
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, OSError) as error:
            if is_read:
                return Rejected(code="http-not-reached", detail=_describe(error), sent=False)
            return _judge_write(heard.status, _describe(error))

    async def reconcile(self, call: Call, _before: BeforeImage) -> Reconciled:
        """Always unclear: no other host can be asked."""
        return Reconciled(verdict="unclear", detail=f"only {parse_address(call.params['url']).site.host} knows whether it arrived")

    async def download(self, address: Address, limit: int) -> tuple[bytes, str]:
        """Return (content, media type in small letters), asked for once. Raises FileUnavailable, also beyond `limit` bytes."""
        host = address.site.host
        try:
            target = await self._choose_address(address.site)
            request = self._build_request("GET", address, target, {}, None)
        except (AddressRefused, httpx.InvalidURL) as error:
            raise FileUnavailable(str(error), why="unreached") from None
        try:
            async with asyncio.timeout(self._total):
                return await self._read_file(request, limit)
        except (httpx.HTTPError, httpx.StreamError, TimeoutError, OSError) as error:
            raise FileUnavailable(f"{host}: {_describe(error)}", why="unreached") from None
        except AddressRefused as error:
            raise FileUnavailable(f"{host}: {error}", why="unfit") from None

    async def _read_file(self, request: httpx.Request, limit: int) -> tuple[bytes, str]:
        response = await self._http.send(request, stream=True)
        try:
            status = response.status_code
            if status != httpx.codes.OK:  # a part of a file, nothing and another place are no file
                raise FileUnavailable(f"the host answered {status}", why="status", status=str(status))
            content = await _read_bytes(response, limit)
        except _TooLong as error:
            raise FileUnavailable(str(error), is_too_large=True, why="large") from None
        finally:
            await response.aclose()
        return content, response.headers.get("content-type", "").partition(";")[0].strip().lower()

    def _find_secret(self, call: Call, site: Site) -> dict[str, str]:
        name = call.params.get("credential") or ""
        if not name:
            return {}
        known = self._credentials.get(name)
        if known is None:
            raise AddressRefused(f"HTTP_CREDENTIALS_FILE has no entry {name!r}")
        if parse_listed_site(known.host) != site:
            raise AddressRefused(f"the entry {name!r} of HTTP_CREDENTIALS_FILE is for another host")
        return {known.header: known.value.get_secret_value()}

    async def _choose_address(self, site: Site) -> IpAddress:
        """All addresses must be allowed, so that their order cannot be used."""
        literal = site.address
        try:
            async with asyncio.timeout(min(CONNECT_SECONDS, self._total)):
                addresses = [literal] if literal is not None else list(await self._resolve(site.host, site.port))
        except (OSError, UnicodeError, ValueError, TimeoutError):
            raise AddressRefused(f"the host {site.host} is not found") from None
        if not addresses:
            raise AddressRefused(f"the host {site.host} is not found")
        inside = [one for one in addresses if not is_public(one)]
        if inside and not self._may_be_private(site):
            raise AddressRefused(f"the host {site.host} lies in a private network, which the policy does not open")
        if not all(map(may_be_opened, inside)):
            raise AddressRefused(f"the host {site.host} lies where no policy can open it")
        return addresses[0]

    def _build_request(
        self, verb: str, address: Address, target: IpAddress, headers: Mapping[str, str], body: bytes | None
    ) -> httpx.Request:
        """To the address itself, so that the name is not resolved again."""
        site = address.site
        literal = f"[{target}]" if target.version == 6 else str(target)  # noqa: PLR2004 - IPv6
        url = f"{site.scheme}://{literal}:{site.port}{address.path}" + (f"?{address.query}" if address.query else "")
        return self._http.build_request(
            verb,
            url,
            headers={"Accept-Encoding": "identity", "User-Agent": "sdelka", **headers, "Host": str(site).partition("://")[2]},
            content=body,
            extensions={"sni_hostname": site.host},
        )

    async def _send(self, request: httpx.Request, heard: "_Heard", *, is_read: bool) -> CallResult:
        response = await self._http.send(request, stream=True)
        try:
            status = heard.status = response.status_code
            if response.is_success or status == _SEE_OTHER:
                return await self._read_success(response, is_read=is_read)
            if is_read or _is_refusal(status):
                return _build_rejection(status, await _read_some(response))
            return Unknown(detail=f"the host answered {status}", foreign_text=True)
        finally:
            await response.aclose()

    async def _read_success(self, response: httpx.Response, *, is_read: bool) -> CallResult:
        """An unreadable answer does not undo a write."""
        try:
            content = await _read_body(response)
        except (httpx.HTTPError, httpx.StreamError, AddressRefused) as error:
            if is_read:
                return Rejected(code="http-unreadable", detail=_describe(error))
            return _build_unread_success(response.status_code)
        return Succeeded(result={"status": response.status_code, "body": content}, foreign_text=True)


@dataclass
class _Heard:
    """The status is 0 before the answer comes."""

    status: int = 0


def _judge_write(status: int, detail: str) -> CallResult:
    """The status of a broken answer says whether the host did it."""
    if httpx.codes.is_success(status) or status == _SEE_OTHER:
        return _build_unread_success(status)
    return _build_rejection(status, "") if _is_refusal(status) else Unknown(detail=detail)


def _build_unread_success(status: int) -> Succeeded:
    return Succeeded(result={"status": status, "body": None}, note="the answer could not be read", foreign_text=True)


def _is_refusal(status: int) -> bool:
    """After 408, 301, 302 and faults of the server nobody knows."""
    return status in _MOVED or (_CLIENT_ERROR <= status < _SERVER_ERROR and status != _TIMED_OUT)


def _build_headers(call: Call) -> dict[str, str]:
    headers = dict(call.params.get("headers") or {})
    if mark := call.params.get(MARK):
        headers["Idempotency-Key"] = str(mark)
    if call.params.get("json") is not None:
        headers["Content-Type"] = "application/json"
    elif call.params.get("text"):
        headers["Content-Type"] = "text/plain; charset=utf-8"
    return headers


def _build_body(params: Mapping[str, Any]) -> bytes | None:
    if params.get("json") is not None:
        return json.dumps(params["json"], ensure_ascii=False).encode()
    return params["text"].encode() if params.get("text") else None


async def _read_bytes(response: httpx.Response, limit: int) -> bytes:
    """Raises AddressRefused if compressed, _TooLong as soon as it is too long."""
    if response.headers.get("content-encoding", "identity").strip().lower() not in {"", "identity"}:
        raise AddressRefused("the answer is compressed, though that was not asked for")
    announced = response.headers.get("content-length", "")
    if announced.isascii() and announced.isdecimal() and int(announced[:_DIGITS]) > limit:
        raise _TooLong(limit)
    pieces, size = [], 0
    async for piece in response.aiter_raw():
        size += len(piece)
        if size > limit:
            raise _TooLong(limit)
        pieces.append(piece)
    return b"".join(pieces)


async def _read_body(response: httpx.Response) -> Any:
    """JSON data or text. Raises AddressRefused."""
    content = await _read_bytes(response, MAX_ANSWER)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise AddressRefused("the answer is no text") from None
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not kind.endswith("+json"):
        return to_storable_text(text)
    try:
        body = json.loads(text) if text.strip() else None
        check(body)
        check_depth(body, MAX_DEPTH)
    except (ValueError, RecursionError, NotCanonical):
        raise AddressRefused("the answer says that it is JSON, and cannot be read as such") from None
    return body


async def _read_some(response: httpx.Response) -> str:
    """ "" if it cannot be read."""
    beginning = b""
    try:
        async for piece in response.aiter_raw():
            beginning += piece[: 4 * _SHOWN]
            if len(beginning) >= 4 * _SHOWN:
                break
    except (httpx.HTTPError, httpx.StreamError):
        return ""
    return to_storable_text(_find_reason(beginning.decode(errors="replace"))).strip()[:_SHOWN]


def _find_reason(text: str) -> str:
    """Return the usual field of JSON that says why, otherwise the text itself."""
    try:
        reason: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for _ in range(_NESTED):
        if not isinstance(reason, Mapping):
            break
        reason = next((part for name in _REASONS if (part := reason.get(name))), None)
    return reason if isinstance(reason, str) else text


def _build_rejection(status: int, body: str) -> Rejected:
    if not body:
        return Rejected(code="http-refused-silent", detail=f"the host answered {status}", args={"status": status})
    return Rejected(
        code="http-refused", detail=f"the host answered {status}: {body}", args={"status": status, "text": body}, foreign_text=True
    )


def _describe(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_SHOWN] if str(error) else type(error).__name__
