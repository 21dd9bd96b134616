"""A fast transport for httpx clients over aiohttp connections.

httpx's own transport (httpcore) takes 2.8 to 3.5 ms of CPU a call over one connection and 10 to 12 ms over 50, this one 0.9 to 1.4 ms over
either. Using aiohttp's client instead of httpx would need the rules of retries, deadlines and "certainly not sent" a second time.
It does no redirects, cookies, retries, proxies or decompression. As with httpx, the type of an error says whether the request was certainly
not sent or may have been.
"""

import asyncio
import math
import ssl
import urllib.request
from collections.abc import AsyncIterator
from functools import cache

import aiohttp
import httpx
from yarl import URL

from bitrix.auth.auth import LOOPBACK

_LONGEST_LINE = 65_536
_SET_BY_THE_WIRE = frozenset({b"content-length", b"transfer-encoding"})


def build_transport(address: str, *, connections: int = 0, kept: float) -> httpx.AsyncBaseTransport | None:
    """Return a transport with at most `connections` connections (0: any number); an unused one is closed after `kept` seconds.

    `address` is the URL of the server that the transport will call. Returns None if the environment configures proxies and the server is
    not on this machine; httpx then uses its own transport.
    """
    url = httpx.URL(address)
    if not LOOPBACK.fullmatch(url.host) and urllib.request.getproxies().keys() & {"http", "https", "all"}:
        return None  # httpx's own transport supports proxies
    return AiohttpTransport(connections=connections, kept=kept, secure=url.scheme == "https")


@cache
def _load_ssl_context() -> ssl.SSLContext:
    """Return httpx's TLS context; shared by all transports, since creating it takes 45 ms."""
    context = httpx.create_ssl_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


class AiohttpTransport(httpx.AsyncBaseTransport):
    """An httpx transport over aiohttp. Raises httpx's errors; use it only in the event loop in which its first request was made."""

    def __init__(self, *, connections: int, kept: float, secure: bool) -> None:
        """Create the transport; connections are opened when requests need them, at most `connections` at once (0: any number).

        An unused connection is closed after `kept` seconds. `secure` says whether the connections use TLS.
        """
        self._connections = connections
        self._keep_alive = kept
        self._context: ssl.SSLContext | bool = _load_ssl_context() if secure else True
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request once and return the response, whose body is read when the caller reads it; raises httpx's errors."""
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
                timeout=_build_timeouts(httpx.Timeout(None, **request.extensions.get("timeout", {}))),
                allow_redirects=False,
            )
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not session.closed or (task is not None and task.cancelling()):
                raise
            problem = httpx.PoolTimeout("the connections were closed")  # while the request waited for a free connection
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
        """Close the connections; requests in progress fail."""
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
    """The body of a response, which is read from the connection in chunks while the caller iterates over it."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield the body in chunks; raises httpx's errors."""
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            problem = _translate_error(error)
        else:
            return
        raise problem

    async def aclose(self) -> None:
        """Release the connection, or close it if part of the body was not read."""
        self._answer.close()


def _build_timeouts(timeout: httpx.Timeout) -> aiohttp.ClientTimeout:
    """Return httpx's timeouts in the form of aiohttp.

    httpx has one limit for waiting for a free connection and one for connecting; aiohttp has one limit for both together.
    """
    both = None if timeout.connect is None or timeout.pool is None else timeout.connect + timeout.pool
    return aiohttp.ClientTimeout(connect=both, sock_connect=timeout.connect, sock_read=timeout.read, ceil_threshold=math.inf)


def _translate_error(error: Exception) -> httpx.TransportError:
    """Return the httpx error for the same kind of failure as `error`, which aiohttp raised.

    Its text never contains the request's URL, since that may contain the secret code of a webhook.
    """
    name = type(error).__name__
    match error:
        case aiohttp.ConnectionTimeoutError():
            return httpx.ConnectTimeout(name)
        case aiohttp.ClientConnectorError():
            problem = httpx.ConnectError(f"{name}: {error.os_error.strerror or type(error.os_error).__name__}")
            problem.__cause__ = error.os_error  # by it the caller sees what is wrong with a certificate
            return problem
        case TimeoutError():
            return httpx.ReadTimeout(name)
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | aiohttp.ClientResponseError():
            return httpx.RemoteProtocolError(name)
        case ValueError():
            return httpx.LocalProtocolError(name)
        case _:
            return httpx.ReadError(name)
