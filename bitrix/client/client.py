"""The client of one portal."""

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import orjson
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState

from bitrix import answers
from bitrix.answers import Answer
from bitrix.auth.auth import LOOPBACK, Auth, Grant, Webhook
from bitrix.catalogue.names import is_method_name
from bitrix.client.address import PortalAddress, PortalMoved
from bitrix.client.downloads import PortalFile, build_file_url, download
from bitrix.errors import RATE_LIMIT, TIME_LIMIT, BitrixError, NoAccess, NotSent, OutcomeUnknown, Refused
from bitrix.limits.askers import AskerGone, find_asker
from bitrix.limits.limiter import Limiter, Priority, SendResult
from bitrix.limits.plan import OperatingTime, extract_methods

__all__ = ["Answer", "BitrixClient"]

T = TypeVar("T")

MAX_ANSWER_BYTES = 20_000_000
USER_AGENT = "Sdelka/0.1 (Telegram copilot for Bitrix24)"
_TRIES = 3
_TRIES_WHEN_LIMITED = 6  # the portal's counter drains within seconds
_TRIES_OF_BULK = 20  # a method's time budget is freed minute by minute, within ten
_LONGEST_PAUSE = 8.0
LIMITS = httpx.Limits(max_connections=50, max_keepalive_connections=10, keepalive_expiry=4.0)
"""As many calls under way as the burst of the smaller plan: a few slow answers must not block all others."""
_BEFORE_SENDING = frozenset({"connection.connect_tcp.started", "http11.send_request_headers.started"})
"""What httpx tells of a request before a byte of it is sent."""
_EXPIRED = ("expired_token", 401)
_BODY = orjson.OPT_STRICT_INTEGER | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS

# Raised by httpx before the first byte of the request is written, and by nothing later: name lookup, connecting, the TLS handshake, a proxy
# that refuses the tunnel, no free connection. Every other error may come after the portal has read the request. That includes a reset on a
# kept-alive connection: the request was written into it, and nobody can tell whether the portal closed it before or after reading. Idle
# connections are closed after 4 s to make that rare.
_NEVER_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    body: bytes = field(repr=False)  # when signed, it holds the token
    methods: Mapping[str, str]
    repeatable: bool
    priority: Priority
    place: tuple[Priority, str]
    deadline: float
    share: float


def _utc_now() -> datetime:
    return datetime.now(UTC)


class BitrixClient:
    def __init__(  # noqa: PLR0913 - each has a usual value, and says one thing about how this portal is called
        self,
        auth: Auth | SecretStr | str,
        *,
        limiter: Limiter,
        transport: httpx.AsyncBaseTransport | None = None,
        connect_timeout: float = 3.05,
        read_timeout: float = 65.0,
        operating_limit: float = 480.0,
        now: Callable[[], datetime] = _utc_now,
        headers: Callable[[], Mapping[str, str]] = dict,
        heard: Callable[[BitrixError | None], None] = lambda _: None,
    ) -> None:
        """`operating_limit` in seconds. `heard` gets each request's error or None, and must not raise."""
        self._auth: Auth = Webhook(auth) if isinstance(auth, SecretStr | str) else auth
        self._home = PortalAddress(self._auth.root, setting=self._auth.setting)
        self.now = now
        self._headers = headers
        self._heard = heard
        self._limiter = limiter
        self._operating = OperatingTime(operating_limit, clock=limiter.clock, now=now)
        self._timeout = httpx.Timeout(read_timeout, connect=connect_timeout, pool=connect_timeout)
        # A slow trickle of bytes never triggers the read timeout. By this time connecting has long ended, so the request counts as sent.
        self._patience = read_timeout + 3 * connect_timeout
        self._http = httpx.AsyncClient(
            transport=transport,
            limits=LIMITS,
            follow_redirects=False,
            trust_env=not LOOPBACK.fullmatch(httpx.URL(self._auth.base_url).host),
            # A session cookie would make the portal run our requests one after another, and would be a second identity.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={"User-Agent": USER_AGENT, "Accept": "application/json", "Content-Type": "application/json"},
        )

    def list_spent_times(self) -> dict[str, float]:
        """Seconds by method; infinite for a method that was refused."""
        return self._operating.list_spent()

    @property
    def portal(self) -> str:
        """Host and port by the settings, in lower case."""
        return self._auth.portal

    @property
    def base_url(self) -> str:
        return self._auth.base_url

    @property
    def is_application(self) -> bool:
        return self._auth.is_application

    async def call(
        self,
        method: str,
        params: Mapping[str, Any],
        *,
        repeatable: bool = False,
        priority: Priority = Priority.INTERACTIVE,
        send_within: float | None = None,
    ) -> Answer:
        """Raises only `NotSent`, `Refused` or `OutcomeUnknown`; a cancelled call's outcome is unknown.

        A write (`repeatable=False`) is sent again only if nothing was executed. `send_within` bounds the start of the last try, in
        seconds. If a method's time budget is used up, bulk work waits, an interactive call raises `NotSent` with `free_at`.
        """
        body = _encode_body(method, params)
        deadline = self._limiter.clock() + (math.inf if send_within is None else send_within)
        asker = find_asker()
        place = (max(priority, asker.urgency) if repeatable else priority, asker.source)
        request = _Request(method, body, extract_methods(method, params), repeatable, priority, place, deadline, asker.share)
        attempts = AsyncRetrying(
            retry=partial(_may_repeat, request),
            stop=partial(self._is_over, request),
            wait=partial(self._pause, request),
            sleep=self._limiter.sleep,
            reraise=True,
        )
        if not repeatable:
            return await attempts(self._try_once, request)
        with contextlib.suppress(AskerGone):
            async with asker.stay():
                return await attempts(self._try_once, request)
        raise NotSent("nobody waits for the answer any more")

    async def read_file(self, address: str, *, at_most: int, within: float) -> PortalFile:
        """What is behind an address of a file that this portal gave; `within` in seconds. Tried once. Raises BitrixError."""
        url = build_file_url(address, self._home.origin)
        self._check_open()
        await self._wait_until(self._limiter.acquire(Priority.INTERACTIVE, find_asker().source), self._limiter.clock() + within)
        fate, why = SendResult.UNHEARD, ""
        try:
            async with asyncio.timeout(within):
                content = await download(self._http, url, self._headers(), at_most=at_most)
            fate = SendResult.PASSED
        except BitrixError as error:
            fate = _to_fate(error)
            raise
        except (TimeoutError, httpx.HTTPError, OSError, RuntimeError) as error:
            why = type(error).__name__  # the error of httpx holds the request, and with it the address
        finally:
            self._limiter.settle(fate)
        if why:
            raise OutcomeUnknown(f"the file could not be read: {why}")
        return content

    async def aclose(self) -> None:
        await self._http.aclose()
        await self._auth.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<BitrixClient {self.portal}>"

    async def _try_once(self, request: _Request) -> Answer:
        """A token that the portal calls expired has executed nothing: even a write is sent once more."""
        grant = await self._wait_until(self._auth.fetch_grant(), request.deadline)
        new = not self.is_application
        while True:
            try:
                return await self._send(request, grant)
            except Refused as refusal:
                if new or (refusal.code, refusal.status) != _EXPIRED:
                    raise
            grant = await self._wait_until(self._auth.renew(grant), request.deadline)
            new = grant.new

    async def _send(self, request: _Request, grant: Grant) -> Answer:
        signed = replace(request, body=grant.sign(request.body))
        for _ in range(2):
            with contextlib.suppress(PortalMoved):
                return await self._attempt(signed)
        raise OutcomeUnknown("the portal redirects from one name to another and on", transient=False)

    async def _attempt(self, request: _Request) -> Answer:
        self._check_open()
        free_at = self._operating.find_free_time(request.methods.values(), share=request.share)
        if free_at is not None:
            raise NotSent("Method is blocked due to operation time limit", code=TIME_LIMIT, free_at=free_at)
        if request.share < 1:
            self._operating.begin_probe(request.methods.values(), share=request.share)
        await self._admit(request)
        fate = SendResult.UNHEARD
        try:
            answer = await self._exchange(request)
            fate = SendResult.PASSED
            self._heard(None)
        except BitrixError as error:
            fate = _to_fate(error)
            self._heard(error)
            if isinstance(error, NotSent) and error.code == TIME_LIMIT:
                self._operating.suspend(request.method, error.free_at)
                error.free_at = self._operating.find_free_time([request.method])
            raise
        finally:
            self._limiter.settle(fate)
        self._operating.record_answer(request.methods, answer)
        return answer

    async def _admit(self, request: _Request) -> None:
        await self._wait_until(self._limiter.acquire(*request.place), request.deadline)

    async def _wait_until(self, wait: Awaitable[T], deadline: float) -> T:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if math.isinf(deadline) else deadline - self._limiter.clock()):
                return await wait
        raise NotSent("the call could not be sent in time")

    def _check_open(self) -> None:
        if self._http.is_closed:
            raise NotSent("the client is closed")

    async def _refuse_if_closed(self, event: str, _: object) -> None:
        """Refuse a request that waited for a connection while the client was closed."""
        if event in _BEFORE_SENDING and self._http.is_closed:
            raise httpx.PoolTimeout("the client is closed")

    async def _exchange(self, request: _Request) -> Answer:
        self._check_open()  # again: waiting for the limiter may have taken long
        if self._limiter.clock() > request.deadline:  # no timer ends a wait while the machine is suspended
            raise NotSent("the call could not be sent in time")
        url = self._home.build_url(request.method)
        # The problem is raised outside of `except`: the error of httpx holds the request, and with it the address.
        problem: BitrixError
        try:
            async with (
                asyncio.timeout(self._patience),
                self._http.stream(
                    "POST",
                    url,
                    content=request.body,
                    headers=dict(self._headers()),
                    timeout=self._build_timeouts(request.deadline),
                    extensions={"trace": self._refuse_if_closed},
                ) as response,
            ):
                status, location = response.status_code, response.headers.get("location", "")
                content = await _read_content(response)
        except _NEVER_SENT as error:
            problem = NotSent(f"no connection to the portal: {error or type(error).__name__}")
        except TimeoutError:
            problem = OutcomeUnknown("the portal did not finish its answer in time")
        except (httpx.HTTPError, OSError, RuntimeError) as error:  # RuntimeError: the connection was closed during the request
            problem = OutcomeUnknown(f"the answer was lost: {error or type(error).__name__}")
        else:
            if self._home.accept_redirect(url, status, location):
                raise PortalMoved(status=status)
            return answers.parse(status, content, location=location, setting=self._auth.setting)
        raise problem

    def _build_timeouts(self, deadline: float) -> httpx.Timeout:
        left = max(0.0, deadline - self._limiter.clock())
        usual = self._timeout
        return httpx.Timeout(
            usual.read,
            connect=min(left, usual.connect or left),
            pool=min(left, usual.pool or left),
        )

    def _is_over(self, request: _Request, state: RetryCallState) -> bool:
        tries = _count_tries(_find_error(state), request.priority)
        return state.attempt_number >= tries or self._http.is_closed or self._limiter.clock() + state.upcoming_sleep >= request.deadline

    def _pause(self, request: _Request, state: RetryCallState) -> float:
        error = _find_error(state)
        code = error.code if isinstance(error, NotSent) else ""
        if code == TIME_LIMIT:
            return self._operating.wait(request.methods.values(), share=request.share)
        return min(_LONGEST_PAUSE, (1.0 if code else 0.5) * 2.0 ** (state.attempt_number - 1))


def _encode_body(method: str, params: Mapping[str, Any]) -> bytes:
    """Keys keep their order, in which the portal executes `cmd`."""
    if not is_method_name(method):
        raise NotSent("the method name is not one plain dotted name")
    if "auth" in params:  # a second `auth` would win over the one that `Grant.sign` puts first
        raise NotSent("the parameters may not hold `auth`")
    try:
        _refuse_not_a_number(params)
        return orjson.dumps(dict(params), option=_BODY)
    except (orjson.JSONEncodeError, RecursionError) as error:
        why = str(error)
    raise NotSent(f"the parameters are not plain JSON: {why}")


def _refuse_not_a_number(value: object) -> None:
    """Orjson would silently write NaN and infinity as null."""
    if isinstance(value, float) and not math.isfinite(value):
        msg = "NaN or infinity"
        raise orjson.JSONEncodeError(msg)
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        _refuse_not_a_number(item)


async def _read_content(response: httpx.Response) -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_ANSWER_BYTES:
            raise OutcomeUnknown(f"the answer is longer than {MAX_ANSWER_BYTES} bytes", status=response.status_code, transient=False)
    return bytes(content)


def _find_error(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _to_fate(error: BitrixError) -> SendResult:
    if isinstance(error, NotSent) and error.code == RATE_LIMIT:
        return SendResult.REFUSED
    return SendResult.UNHEARD if error.status is None else SendResult.PASSED


def _may_repeat(request: _Request, state: RetryCallState) -> bool:
    match _find_error(state):
        case NoAccess():
            return False
        case NotSent(code=code):
            return code != TIME_LIMIT or request.priority is Priority.BULK
        case OutcomeUnknown(transient=True):
            return request.repeatable
        case _:
            return False


def _count_tries(error: BaseException | None, priority: Priority) -> int:
    match error:
        case NotSent(code=code) if code in {RATE_LIMIT, TIME_LIMIT}:
            return _TRIES_OF_BULK if priority is Priority.BULK else _TRIES_WHEN_LIMITED
        case _:
            return _TRIES
