"""The HTTP API of one process: its tokens, the mailbox (which wakes requests that wait for an answer) and its routers.

The `Api` is created before the orchestrator, because the orchestrator reports the progress of turns to its mailbox.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bot.access.access import Access
from bot.http_api.chat.mailbox import Mailbox
from bot.http_api.server.authentication import Authenticator, parse_networks
from bot.http_api.server.tokens import Tokens, read_tokens
from bot.settings.settings import Settings
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock
from state.journal.async_store import AsyncStore

if TYPE_CHECKING:
    from fastapi import APIRouter


class Api:
    """The HTTP API of one process; the task `run` must be running while requests are served."""

    def __init__(self, settings: Settings, store: AsyncStore, access: Access, clock: Clock) -> None:
        """Read the tokens and the trusted proxies from `settings`; raises SettingsError for malformed ones."""
        self._settings, self._clock = settings, clock
        self.tokens = Tokens(read_tokens(settings.http_api_tokens, settings.agent_mode), access.find_grant)
        self.mailbox = Mailbox(store)
        proxies = parse_networks(settings.http_trusted_proxies)
        self.identity = Authenticator(self.tokens, per_minute=settings.http_rate_limit, proxies=proxies)

    def build_routers(self, orchestrator: Orchestrator, engines: Engines) -> "Sequence[APIRouter]":
        """Return the routers of all endpoints, as `build_api_routers` does; imports FastAPI, which takes half a second with them."""
        from bot.http_api.routers import build_api_routers  # noqa: PLC0415 - not needed for the start

        return build_api_routers(self._settings, orchestrator, self.mailbox, self._clock, engines)

    async def run(self) -> None:
        """Watch the database for answers and wake the requests that wait for them, until cancelled."""
        await self.mailbox.run()
