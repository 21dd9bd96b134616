"""Read-only access to the portal for commands that run beside the bot.

A `PortalProbe` renews no token, stores nothing, and calls only the methods in `READS`. The function `fetch_employee` does not use a probe,
and may renew and store tokens.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from bitrix.answers import Answer
from bitrix.client.client import BitrixClient
from bitrix.errors import NotSent, OutcomeUnknown
from bitrix.limits.limiter import Limiter
from bot.access.portal_auth import build_auth, build_portal_auth
from bot.settings.settings import Settings
from orchestrator.directory.reference_reads import read_user
from orchestrator.directory.rows import User
from state.clock import SystemClock
from state.journal.async_store import AsyncStore
from state.journal.store import StoreError
from state.sql import open_store
from state.stored import JsonObject

READS: Final = frozenset({"profile", "scope", "server.time", "user.get", "crm.currency.base.get", "app.info"})
NO_TOKEN: Final = "NO_STORED_TOKEN"  # noqa: S105 - an error code
"""Error code of a call that failed because the stored access token has expired and a probe may not request a new one."""


class ReadOnlyTokens:
    """A token store that can load the application's stored tokens but never replaces them."""

    def __init__(self, load: Callable[[str], str | None]) -> None:
        """Read tokens with `load`, which returns the text stored under a name, None if there is none."""
        self._load = load
        self.was_swap_wanted = False

    async def load(self, name: str) -> str | None:
        """Return the tokens stored as a text under `name`, None if there are none; raises OSError if they cannot be read."""
        try:
            return await asyncio.to_thread(self._load, name)
        except StoreError as error:
            raise OSError(type(error).__name__) from None

    async def swap(self, name: str, expected: str | None, text: str) -> bool:
        """Raise OSError instead of storing a token; never returns.

        The portal client calls this method before it asks the authorization server for a new token, so this error keeps it from asking.
        """
        del name, expected, text
        self.was_swap_wanted = True
        raise OSError("a look stores nothing")


class PortalProbe:
    """Calls the portal's read-only methods that `READS` lists; created by `open_portal_probe`."""

    def __init__(self, client: BitrixClient, tokens: ReadOnlyTokens, within: float) -> None:
        """Create a probe that makes its calls through `client`; a call fails if its answer takes longer than `within` seconds.

        `tokens` is the token store of `client`; it knows whether a call failed because a new access token was needed.
        """
        self._client, self._tokens, self._within = client, tokens, within

    @property
    def portal(self) -> str:
        """Host and port of the portal; not a secret."""
        return self._client.portal

    @property
    def is_application(self) -> bool:
        """Whether the credentials are an application's, not a webhook's."""
        return self._client.is_application

    async def ask(self, method: str, params: JsonObject | None = None) -> Answer:
        """Return the portal's answer to one of the methods in `READS`; raises BitrixError, and ValueError for any other method."""
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
    """Yield a probe of the configured portal, which is closed at the end of the block.

    `load` returns the text stored in the database under a name; each call may take `within` seconds. Raises SettingsError for missing or
    wrong settings.
    """
    tokens = ReadOnlyTokens(load)
    clock = SystemClock()
    auth = build_auth(settings, tokens, clock.now)
    async with BitrixClient(auth, limiter=Limiter(), read_timeout=within, now=clock.now) as client:
        yield PortalProbe(client, tokens, within)


_TIMEOUT = 15.0
"""Seconds that `fetch_employee` may take, since an administrator waits for the result."""


async def fetch_employee(settings: Settings, user_id: int) -> User | None:
    """Return the employee with this number from the portal, None if there is none. Raises BitrixError, SettingsError, StoreError.

    Unlike a `PortalProbe`, it may renew the application's tokens.
    """
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
