"""A quick wire for the HTTP clients (ring 3): aiohttp's connections under httpx's client, for a third of what httpx's own cost a request.

It refuses what differs: no redirects, no cookies, no second try, no proxy, no unpacking. What had certainly not been sent stays told apart.
"""

import asyncio
import math
import ssl
import urllib.request
from collections.abc import AsyncIterator, Mapping
from functools import cache
from typing import Any

import aiohttp
import httpx
from yarl import URL

from bitrix.auth.auth import LOOPBACK

_LONGEST_LINE = 65_536
_SET_BY_THE_WIRE = frozenset({b"content-length", b"transfer-encoding"})


def build_transport(address: str, *, connections: int = 0, kept: float) -> httpx.AsyncBaseTransport | None:
    """A transport with at most so many connections (0: any number), each kept for `kept` idle seconds; None where proxies are set up."""
    url = httpx.URL(address)
    if not LOOPBACK.fullmatch(url.host) and urllib.request.getproxies().keys() & {"http", "https", "all"}:
        return None  # httpx's own wire knows how to speak with them
    return AiohttpTransport(connections=connections, kept=kept, secure=url.scheme == "https")


@cache
def _load_ssl_context() -> ssl.SSLContext:
    """Whom httpx trusts; one for all wires, since making it costs 45 ms."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class AiohttpTransport(httpx.AsyncBaseTransport):
    """See the module docstring. Raises httpx's errors; the connections belong to the loop of the first request."""

    def __init__(self, *, connections: int, kept: float, secure: bool) -> None:
        """Connect to nobody yet."""
        self._connections = connections
        self._keep_alive = kept
        self._context: ssl.SSLContext | bool = _load_ssl_context() if secure else True
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it once; the answer's body is yet to be read."""
        body = await request.aread()
        headers = [(name.decode(), value.decode()) for name, value in request.headers.raw if name.lower() not in _SET_BY_THE_WIRE]
        session = self._ensure_session()
        problem: httpx.TransportError
        try:
            answer = await session.request(
                request.method,
                URL(str(request.url), encoded=True),
                data=body or None,
                headers=headers,
                timeout=_build_timeouts(request.extensions.get("timeout", {})),
                allow_redirects=False,
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not session.closed or (task is not None and task.cancelling()):
                raise
            problem = httpx.PoolTimeout("the connections were closed")  # while it waited for one of them
        except (aiohttp.ClientError, OSError, ValueError) as error:
            problem = _translate_error(error)
        else:
            return httpx.Response(
                answer.status,
                headers=answer.raw_headers,
                stream=_ResponseBody(answer),
                extensions={"reason_phrase": (answer.reason or "").encode()},
            )
        problem.request = request
        raise problem

    async def aclose(self) -> None:
        """Close the connections; requests under way fail."""
        if self._session is not None:
            await self._session.close()

    def _ensure_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=self._keep_alive, ssl=self._context),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                max_line_size=_LONGEST_LINE,
                max_field_size=_LONGEST_LINE,
            )
        return self._session


class _ResponseBody(httpx.AsyncByteStream):
    """The body of an answer as it comes in."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Chunk by chunk; raises httpx's errors."""
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            problem = _translate_error(error)
        else:
            return
        raise problem

    async def aclose(self) -> None:
        """Give the connection back, or close it where something of the body was not read."""
        self._answer.close()


def _build_timeouts(told: Mapping[str, Any]) -> aiohttp.ClientTimeout:
    """Httpx's bounds; there, waiting for a free connection and making one are bounded one after the other, here both together."""
    connect, pool = told.get("connect"), told.get("pool")
    both = None if connect is None or pool is None else connect + pool
    return aiohttp.ClientTimeout(connect=both, sock_connect=connect, sock_read=told.get("read"), ceil_threshold=math.inf)


def _translate_error(error: Exception) -> httpx.TransportError:
    """The same as httpx says it. Its words hold no address: an address may hold a webhook's code."""
    name = type(error).__name__
    match error:
        case aiohttp.ConnectionTimeoutError():
            return httpx.ConnectTimeout(name)
        case aiohttp.ClientConnectorError():
            return httpx.ConnectError(f"{name}: {error.os_error.strerror or type(error.os_error).__name__}")
        case TimeoutError():
            return httpx.ReadTimeout(name)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | aiohttp.ClientResponseError():
            return httpx.RemoteProtocolError(name)
        case ValueError():
            return httpx.LocalProtocolError(name)
        case _:
            return httpx.ReadError(name)
