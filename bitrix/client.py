"""Ring 1. One webhook, one door: sends a call and says what is proven about it.

Repeats only what is safe to repeat, follows no redirect, and lets no address out. Knows nothing of consent or rights.
"""

import asyncio
import math
import re
from collections.abc import Mapping
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Self

import httpx
import orjson
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState

from bitrix import answers
from bitrix.answers import Answer
from bitrix.errors import RATE_LIMIT, BitrixError, NotSent, OutcomeUnknown
from bitrix.limiter import Limiter, Priority
from bitrix.methods import is_method_name

__all__ = ["Answer", "BitrixClient"]

MAX_ANSWER_BYTES = 20_000_000
USER_AGENT = "Sdelka/0.1 (Telegram copilot for Bitrix24)"
_TRIES = 3
_TRIES_WHEN_LIMITED = 6  # the bucket drains within seconds; a spent time limit (429) does not, so it gets 3
_LONGEST_PAUSE = 8.0
_LIMITS = httpx.Limits(max_connections=10, max_keepalive_connections=10, keepalive_expiry=4.0)
_PATH = re.compile(r"(/rest/[0-9]+/[A-Za-z0-9_-]+)/?", re.ASCII)
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|::1", re.ASCII)
_BODY = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS

# Raised by httpx before the first byte of the request is written, and by nothing later: name lookup, connecting, the
# TLS handshake, a proxy that refuses the tunnel, no free connection. Everything else may come after the portal has read
# the request. That includes a reset on a kept-alive connection: the request was written into it, and nobody can tell
# whether the portal closed it before or after reading. Idle connections are given up after 4 s to make that rare.
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class BitrixClient:
    """Calls methods of one portal through one incoming webhook (seed rows S004-40, S004-41, S004-X8).

    Raises ValueError, without naming the address, if `webhook` is not `https://<portal>/rest/<user>/<code>/`; plain
    http is taken on loopback only. Close it with `aclose` or use it as a context manager.
    """

    def __init__(
        self,
        webhook: SecretStr | str,
        *,
        limiter: Limiter,
        transport: httpx.AsyncBaseTransport | None = None,
        connect_timeout: float = 3.05,
        read_timeout: float = 65.0,
    ) -> None:
        url = _webhook(webhook.get_secret_value() if isinstance(webhook, SecretStr) else webhook)
        self._root = SecretStr(f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}")
        self._portal = url.netloc.decode().lower()
        self._scheme = url.scheme
        self._limiter = limiter
        self._timeout = httpx.Timeout(read_timeout, connect=connect_timeout, pool=connect_timeout)
        # A slow drip never trips the read timeout; by this time connecting is long over, so it counts as sent.
        self._patience = read_timeout + 3 * connect_timeout
        self._http = httpx.AsyncClient(
            transport=transport,
            limits=_LIMITS,
            follow_redirects=False,
            trust_env=not _LOOPBACK.fullmatch(url.host),
            # A session cookie would make the portal run our requests one after another, and is a second identity.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", "Content-Type": "application/json"},
        )

    @property
    def portal(self) -> str:
        """Host and port of the portal in lower case; not a secret."""
        return self._portal

    @property
    def base_url(self) -> str:
        """Where people open the portal, for links to cards; without a trailing slash."""
        return f"{self._scheme}://{self._portal}"

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        repeatable: bool = False,
        priority: Priority = Priority.INTERACTIVE,
        send_within: float | None = None,
    ) -> Answer:
        """POST one call and return its answer; raise `NotSent`, `Refused` or `OutcomeUnknown`, never another error.

        A write (`repeatable=False`) is sent again only after a proof that nothing was executed; a read up to three
        times. `send_within` bounds the seconds until the last send begins. A cancelled call has an unknown outcome.
        """
        body = _body(method, params)
        if self._http.is_closed:
            raise NotSent("the client is closed")
        deadline = self._limiter.clock() + (math.inf if send_within is None else send_within)
        attempts = AsyncRetrying(
            retry=partial(_may_repeat, repeatable=repeatable),
            stop=partial(self._is_over, deadline=deadline),
            wait=_pause,
            sleep=self._limiter.sleep,
            reraise=True,
        )
        return await attempts(self._attempt, method, body, priority, deadline)

    async def aclose(self) -> None:
        """Close the connections; calls still under way end as `OutcomeUnknown`."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<BitrixClient {self._portal}>"

    async def _attempt(self, method: str, body: bytes, priority: Priority, deadline: float) -> Answer:
        await self._admit(priority, deadline)
        try:
            return await self._exchange(method, body, deadline)
        except NotSent as refusal:
            if refusal.code == RATE_LIMIT:
                self._limiter.penalize()
            raise

    async def _admit(self, priority: Priority, deadline: float) -> None:
        try:
            async with asyncio.timeout(None if math.isinf(deadline) else deadline - self._limiter.clock()):
                await self._limiter.acquire(priority)
        except TimeoutError:
            late = True
        else:
            late = False
        if late:
            raise NotSent("the call could not be sent in time")

    async def _exchange(self, method: str, body: bytes, deadline: float) -> Answer:
        url = f"{self._root.get_secret_value()}/{method}"
        # The problem is raised outside of `except`: the error of httpx holds the request, and with it the address.
        problem: BitrixError
        try:
            async with (
                asyncio.timeout(self._patience),
                self._http.stream("POST", url, content=body, timeout=self._timeouts(deadline)) as response,
            ):
                status, location = response.status_code, response.headers.get("location", "")
                content = await _content(response)
        except _NEVER_SENT as error:
            problem = NotSent(f"no connection to the portal: {error or type(error).__name__}")
        except TimeoutError:
            problem = OutcomeUnknown("the portal did not finish its answer in time")
        except (httpx.HTTPError, OSError) as error:
            problem = OutcomeUnknown(f"the answer was lost: {error or type(error).__name__}")
        else:
            return answers.read(status, content, location=location)
        raise problem

    def _timeouts(self, deadline: float) -> httpx.Timeout:
        left = max(0.0, deadline - self._limiter.clock())
        usual = self._timeout
        return httpx.Timeout(
            usual.read,
            connect=min(left, usual.connect or left),
            pool=min(left, usual.pool or left),
        )

    def _is_over(self, state: RetryCallState, *, deadline: float) -> bool:
        error = _error(state)
        tries = _TRIES_WHEN_LIMITED if isinstance(error, NotSent) and error.code == RATE_LIMIT else _TRIES
        return state.attempt_number >= tries or self._limiter.clock() + state.upcoming_sleep >= deadline


def _webhook(text: str) -> httpx.URL:
    try:
        url = httpx.URL(text.strip())
    except httpx.InvalidURL:
        url = httpx.URL()
    plain = not url.userinfo and not url.query and not url.fragment and _PATH.fullmatch(url.path)
    secure = url.scheme == "https" or (url.scheme == "http" and _LOOPBACK.fullmatch(url.host))
    if not (url.host and plain and secure):
        msg = "the webhook address must look like https://<portal>/rest/<user>/<code>/"
        raise ValueError(msg)
    return url


def _body(method: str, params: Mapping[str, Any]) -> bytes:
    """The request body. Keys keep their order: it is the order of commands in `cmd` and of sorting in `order`."""
    if not is_method_name(method):
        raise NotSent("the method name is not one plain dotted name")
    try:
        _refuse_not_a_number(params)
        return orjson.dumps(dict(params), option=_BODY)
    except (orjson.JSONEncodeError, RecursionError) as error:
        why = str(error)
    raise NotSent(f"the parameters are not plain JSON: {why}")


def _refuse_not_a_number(value: object) -> None:
    """Orjson would quietly write null for NaN and infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        msg = "NaN or infinity"
        raise orjson.JSONEncodeError(msg)
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        _refuse_not_a_number(item)


async def _content(response: httpx.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise OutcomeUnknown(f"the answer is longer than {MAX_ANSWER_BYTES} bytes", status=response.status_code, transient=False)
    return bytes(content)


def _error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _may_repeat(state: RetryCallState, *, repeatable: bool) -> bool:
    match _error(state):
        case NotSent():
            return True
        case OutcomeUnknown(transient=True):
            return repeatable
        case _:
            return False


def _pause(state: RetryCallState) -> float:
    error = _error(state)
    first = 1.0 if isinstance(error, NotSent) and error.code else 0.5
    return min(_LONGEST_PAUSE, first * 2.0 ** (state.attempt_number - 1))
