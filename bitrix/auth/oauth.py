"""Authenticates calls as a local application of the portal."""

import asyncio
import contextlib
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Protocol, TypeGuard

import httpx
import orjson
from pydantic import SecretStr

from bitrix.auth.auth import Grant, is_loopback, read_url
from bitrix.errors import NoAccess, NotSent

PUBLIC_SERVER = "https://oauth.bitrix.info"
TIMEOUT_SECONDS = 15.0
_TOKEN = re.compile(r"[\x21-\x7e]{1,2000}", re.ASCII)
_ASK_LATER = frozenset({httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS})
_WHAT_TO_DO = {
    "invalid_grant": "the application must be authorized anew: put its new refresh token into BITRIX_OAUTH_REFRESH_TOKEN",
    "invalid_client": "the application is not known: check BITRIX_OAUTH_CLIENT_ID, BITRIX_OAUTH_CLIENT_SECRET and that the portal has it",
    "invalid_request": "the authorization server did not understand the request: check the BITRIX_OAUTH_ settings",
    "invalid_scope": "the application asks for more rights than its card on the portal names",
    "insufficient_scope": "the application asks for more rights than its card on the portal names",
    "payment_required": "the subscription of the application or the plan of the portal has run out",
}


@dataclass(frozen=True, slots=True)
class TokenPair:
    access: SecretStr
    refresh: SecretStr


class TokenServer:
    """Renews the tokens of one application. Raises ValueError if `base` is neither https nor http on loopback."""

    def __init__(
        self,
        client_id: str,
        client_secret: SecretStr,
        *,
        base: str = PUBLIC_SERVER,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        url = read_url(base)
        if url is None:
            msg = "the authorization server's address must look like https://<host>"
            raise ValueError(msg)
        self.client_id = client_id
        self._secret = client_secret
        self._address = f"{str(url).rstrip('/')}/oauth/token/"
        self._http = httpx.AsyncClient(
            transport=transport,
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=5.0),
            follow_redirects=False,
            trust_env=not is_loopback(url),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
            headers={"Accept": "application/json"},
        )

    async def refresh(self, token: SecretStr) -> TokenPair:
        params = {
            "grant_type": "refresh_token",
            "client_id": self.client_id,
            "client_secret": self._secret.get_secret_value(),
            "refresh_token": token.get_secret_value(),
        }
        # Raised outside of `except`: the error of httpx holds the request, whose address contains the secrets.
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                response = await self._http.get(self._address, params=params)
        except TimeoutError:
            why = "no answer in time"
        except (httpx.HTTPError, OSError, RuntimeError) as error:
            why = str(error) or type(error).__name__
        else:
            return _parse_pair(response)
        raise NotSent(f"the access could not be renewed, the authorization server was not reached: {why}")

    async def aclose(self) -> None:
        await self._http.aclose()

    def __repr__(self) -> str:
        return f"<TokenServer {httpx.URL(self._address).host}>"


def _parse_pair(response: httpx.Response) -> TokenPair:
    status = response.status_code
    data = _parse_object(response.content)
    access, refresh = data.get("access_token"), data.get("refresh_token")
    if status == httpx.codes.OK and _is_token(access) and _is_token(refresh):
        return TokenPair(SecretStr(access), SecretStr(refresh))
    code = data.get("error")
    if isinstance(code, str) and code and status < httpx.codes.INTERNAL_SERVER_ERROR and status not in _ASK_LATER:
        known = _WHAT_TO_DO.get(code.lower())
        raise NoAccess(known or "the authorization server refuses to renew the access of the application", code=code, status=status)
    raise NotSent("the access could not be renewed: the authorization server's answer holds no pair of tokens", status=status)


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def _parse_object(content: bytes) -> dict[str, Any]:
    try:
        data = orjson.loads(content)
    except orjson.JSONDecodeError:
        return {}
    return data if isinstance(data, dict) else {}


log = logging.getLogger(__name__)

CLAIM = timedelta(seconds=2 * TIMEOUT_SECONDS)
"""How long others wait for the process that claimed a renewal; one that takes longer must have died."""
RENEWAL_PAUSE = timedelta(minutes=1)
"""How long `NoAccess` is raised without asking the server again: a request at every call may get the application blocked."""
_SKEW = timedelta(seconds=5)
_POLL = 0.25
_CLOSED = "the client is closed"


class TokenStore(Protocol):
    """A durable store that all processes share. Each method raises OSError on failure."""

    async def load(self, name: str) -> str | None: ...

    async def swap(self, name: str, expected: str | None, text: str) -> bool:
        """Store `text` only if the stored text equals `expected` (None: nothing is stored)."""


@dataclass(frozen=True, slots=True)
class StoredPair:
    """The current pair of tokens, None until the first, and until when one process has claimed its renewal."""

    pair: TokenPair | None = None
    claimed_until: datetime | None = None

    def to_text(self) -> str:
        pair = self.pair and {
            "access_token": self.pair.access.get_secret_value(),
            "refresh_token": self.pair.refresh.get_secret_value(),
        }
        return orjson.dumps({"pair": pair, "claimed_until": self.claimed_until}).decode()

    @classmethod
    def read(cls, text: str | None) -> "StoredPair":
        try:
            data = orjson.loads(text or "{}")
            pair, until = data.get("pair"), data.get("claimed_until")
            return cls(
                pair and TokenPair(SecretStr(pair["access_token"]), SecretStr(pair["refresh_token"])),
                until and datetime.fromisoformat(until),
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError):
            return cls()


class Application:
    """A local application with OAuth tokens (S004-73 to S004-76).

    `first` is the refresh token from the settings; each renewal gives the next.
    """

    is_application = True
    setting = "BITRIX_PORTAL"

    def __init__(
        self,
        portal: str,
        first: SecretStr,
        *,
        server: TokenServer,
        store: TokenStore,
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        url = read_url(portal if "://" in portal else f"https://{portal}")
        if url is None or url.path != "/":
            msg = "the portal must look like company.bitrix24.ru"
            raise ValueError(msg)
        self.portal = url.netloc.decode().lower()
        self.base_url = f"{url.scheme}://{self.portal}"
        self.root = SecretStr(f"{self.base_url}/rest")
        self._first = first
        self._name = _build_name(self.portal, server.client_id, first)
        self._server, self._store = server, store
        self._now, self._sleep = now, sleep
        self._grant: Grant | None = None
        self._flight: asyncio.Task[Grant | NotSent] | None = None
        self._unsaved: tuple[SecretStr, TokenPair] | None = None
        self._refused: tuple[NoAccess, datetime] | None = None
        self._closed = False

    async def fetch_grant(self) -> Grant:
        """Raises `NotSent`, or its subclass `NoAccess` if a person must act."""
        return self._grant or await self._join_renewal()

    async def renew(self, stale: Grant) -> Grant:
        """Concurrent callers share one renewal."""
        return await self._join_renewal() if self._grant in (None, stale) else self._grant or stale

    async def aclose(self) -> None:
        self._closed = True
        if self._flight is not None:
            await asyncio.wait({self._flight})
        await self._server.aclose()

    def __repr__(self) -> str:
        return f"<Application {self.portal}>"

    async def _join_renewal(self) -> Grant:
        if self._flight is None or self._flight.done():
            self._flight = asyncio.create_task(self._obtain(self._grant))
        got = await asyncio.shield(self._flight)
        if isinstance(got, NotSent):
            raise type(got)(got.detail, code=got.code, status=got.status)
        return got

    async def _obtain(self, stale: Grant | None) -> Grant | NotSent:
        try:
            self._grant = await self._find_next(stale)
        except NotSent as fault:
            return fault
        except OSError:
            return NotSent("the tokens of the application cannot be read from the database or stored in it")
        return self._grant

    async def _find_next(self, stale: Grant | None) -> Grant:
        while not self._closed:
            text = await self._store.load(self._name)
            stored_pair = StoredPair.read(text)
            if stored_pair.pair is not None and (stale is None or stored_pair.pair.access != stale.access):
                return Grant(stored_pair.pair.access)  # stored by another process, or before this one started
            if self._unsaved is not None:
                return await self._save(*self._unsaved)
            if self._refused is not None and self._is_ahead(self._refused[1], RENEWAL_PAUSE):
                raise self._refused[0]
            if stored_pair.claimed_until is not None and self._is_ahead(stored_pair.claimed_until, CLAIM + _SKEW):
                await self._sleep(_POLL)
                continue
            grant = await self._claim_and_renew(text, stored_pair)
            if grant is not None:
                return grant
        raise NotSent(_CLOSED)

    def _is_ahead(self, until: datetime, at_most: timedelta) -> bool:
        """False for a time beyond `at_most`: it comes from a wrong clock."""
        now = self._now()
        return now < until <= now + at_most

    async def _claim_and_renew(self, text: str | None, stored_pair: StoredPair) -> Grant | None:
        """None if another process renewed meanwhile: read the store again."""
        claim = StoredPair(stored_pair.pair, self._now() + CLAIM).to_text()
        if not await self._store.swap(self._name, text, claim):
            return None
        spent = self._pick_refresh_token(stored_pair)
        try:
            fresh = await self._server.refresh(spent)
        except NotSent as fault:
            with contextlib.suppress(OSError):
                await self._store.swap(self._name, claim, stored_pair.to_text())
            if isinstance(fault, NoAccess):
                await self._sleep(_POLL)  # a process whose claim expired may be storing its pair right now
            if await self._is_overtaken(spent):
                return None
            if isinstance(fault, NoAccess):
                self._refused = (fault, self._now() + RENEWAL_PAUSE)
                log.error("the application lost its access to %s: %s", self.portal, fault, extra={"action": "oauth.refused"})  # noqa: TRY400 - a traceback says nothing more
            raise
        return await self._save(spent, fresh)

    async def _save(self, spent: SecretStr, fresh: TokenPair) -> Grant:
        self._unsaved = (spent, fresh)  # kept for the next try if the database fails: `spent` will not work again
        while True:
            text = await self._store.load(self._name)
            stored_pair = StoredPair.read(text)
            if stored_pair.pair is not None and self._pick_refresh_token(stored_pair) != spent:
                self._unsaved = None
                return Grant(stored_pair.pair.access)
            if await self._store.swap(self._name, text, StoredPair(fresh).to_text()):
                self._unsaved = None
                return Grant(fresh.access, new=True)

    async def _is_overtaken(self, spent: SecretStr) -> bool:
        return self._pick_refresh_token(StoredPair.read(await self._store.load(self._name))) != spent

    def _pick_refresh_token(self, stored_pair: StoredPair) -> SecretStr:
        """Each refresh token works only once."""
        return stored_pair.pair.refresh if stored_pair.pair is not None else self._first


def _build_name(portal: str, client_id: str, first: SecretStr) -> str:
    seed = f"{portal}\n{client_id}\n{first.get_secret_value()}"
    return f"bitrix.auth.oauth.{hashlib.sha256(seed.encode()).hexdigest()[:32]}"
