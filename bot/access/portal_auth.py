"""The portal credentials: an application's if BITRIX_OAUTH_CLIENT_ID is set, else a webhook; and read-only access with them.

A `PortalProbe` calls only `READS` and renews no token; `fetch_employee` may.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime
from typing import Final

from pydantic import SecretStr

from bitrix.answers import Answer
from bitrix.auth.auth import Auth, Webhook
from bitrix.auth.oauth import Application, TokenServer, TokenStore
from bitrix.client.client import BitrixClient
from bitrix.errors import NotSent, OutcomeUnknown
from bitrix.limits.limiter import Limiter
from bot.settings.faults import check_required
from bot.settings.settings import Settings, list_portal_settings
from orchestrator.directory.answers import User
from orchestrator.directory.reference_reads import read_user
from orchestrator.domain.errors import SettingsError
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.journal.store import StoreError
from state.sql import open_store
from state.stored import JsonObject

READS: Final = frozenset(
    {
        "profile",
        "scope",
        "server.time",
        "user.get",
        "crm.currency.base.get",
        "crm.currency.list",
        "crm.stagehistory.list",
        "voximplant.statistic.get",
        "app.info",
    }
)
NO_TOKEN: Final = "NO_STORED_TOKEN"  # noqa: S105 - an error code
"""A probe may not request a new token."""


class ReadOnlyTokens:
    """Never replaces tokens."""

    def __init__(self, load: Callable[[str], str | None]) -> None:
        self._load = load
        self.was_swap_wanted = False

    async def load(self, name: str) -> str | None:
        """None if there are none; raises OSError."""
        try:
            return await asyncio.to_thread(self._load, name)
        except StoreError as error:
            raise OSError(type(error).__name__) from None

    async def swap(self, name: str, expected: str | None, text: str) -> bool:
        """Raises OSError: the client calls this before it asks for a token."""
        del name, expected, text
        self.was_swap_wanted = True
        raise OSError("a look stores nothing")


class PortalProbe:
    def __init__(self, client: BitrixClient, tokens: ReadOnlyTokens, within: float) -> None:
        """`within` is in seconds."""
        self._client, self._tokens, self._within = client, tokens, within

    @property
    def portal(self) -> str:
        """Host and port; not a secret."""
        return self._client.portal

    @property
    def is_application(self) -> bool:
        return self._client.is_application

    async def ask(self, method: str, params: JsonObject | None = None) -> Answer:
        """Raises BitrixError, and ValueError for other methods than `READS`."""
        if method not in READS:
            msg = f"{method} is none of the reads"
            raise ValueError(msg)
        try:
            async with asyncio.timeout(self._within):
                return await self._client.call(method, params or {})
        except TimeoutError:
            raise NotSent(f"the portal does not answer within {self._within:g} s") from None
        except NotSent:
            if self._tokens.was_swap_wanted:
                raise NotSent("a new access token is needed, and a look asks for none", code=NO_TOKEN) from None
            raise


@contextlib.asynccontextmanager
async def open_portal_probe(settings: Settings, load: Callable[[str], str | None], *, within: float) -> AsyncIterator[PortalProbe]:
    """`within` is in seconds. Raises SettingsError."""
    tokens = ReadOnlyTokens(load)
    clock = SystemClock()
    auth = build_auth(settings, tokens, clock.now)
    async with BitrixClient(auth, limiter=Limiter(), read_timeout=within, now=clock.now) as client:
        yield PortalProbe(client, tokens, within)


_TIMEOUT = 15.0
"""Seconds; an administrator waits."""


async def fetch_employee(settings: Settings, user_id: int) -> User | None:
    """May renew tokens. Raises BitrixError, SettingsError, StoreError."""
    opened = open_store(settings.database.get_secret_value())  # an application keeps its tokens there
    store, clock = AsyncStore(opened, threads=opened.threads), SystemClock()
    try:
        auth = build_portal_auth(settings, store, clock.now)
        async with BitrixClient(auth, limiter=Limiter(), read_timeout=_TIMEOUT, now=clock.now) as client, asyncio.timeout(_TIMEOUT):
            return await read_user(client, user_id)
    except TimeoutError:
        raise NotSent("the portal does not answer") from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise OutcomeUnknown("the portal's answer cannot be understood") from None
    finally:
        await store.aclose()


def build_portal_auth(settings: Settings, store: AsyncStore, now: Callable[[], datetime]) -> Auth:
    """Raises SettingsError naming each missing or wrong setting."""
    return build_auth(settings, OAuthStore(store), now)


def build_auth(settings: Settings, tokens: TokenStore, now: Callable[[], datetime]) -> Auth:
    """Raises SettingsError naming each missing or wrong setting."""
    check_required(settings, *list_portal_settings(settings))
    if settings.bitrix_oauth_client_id is None:
        return _build_webhook(settings.bitrix_webhook_url or SecretStr(""))
    return _build_application(settings, settings.bitrix_oauth_client_id, tokens, now)


def _build_webhook(address: SecretStr) -> Webhook:
    try:
        return Webhook(address)
    except ValueError as error:
        raise SettingsError(f"BITRIX_WEBHOOK_URL: {error}") from None


def _build_application(settings: Settings, client_id: str, tokens: TokenStore, now: Callable[[], datetime]) -> Application:
    try:
        server = TokenServer(client_id, settings.bitrix_oauth_client_secret or SecretStr(""), base=settings.bitrix_oauth_base)
    except ValueError as error:
        raise SettingsError(f"BITRIX_OAUTH_BASE: {error}") from None
    first = settings.bitrix_oauth_refresh_token or SecretStr("")
    try:
        return Application(settings.bitrix_portal or "", first, server=server, store=tokens, now=now)
    except ValueError as error:
        raise SettingsError(f"BITRIX_PORTAL: {error}") from None


class OAuthStore:
    """Implements `bitrix.auth.oauth.TokenStore`."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def load(self, name: str) -> str | None:
        """None if there are none; raises OSError."""
        with _translate_errors():
            return await self._store.get_value(name)

    async def swap(self, name: str, expected: str | None, text: str) -> bool:
        """False if another text than `expected` is stored. Raises OSError."""
        with _translate_errors():
            return await self._store.swap_value(name, expected, text)


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """A StoreError may quote the token."""
    try:
        yield
    except StoreError as error:
        raise OSError(type(error).__name__) from None
