"""The tokens, mailbox and routers of one process; made before the orchestrator, which reports progress to the mailbox."""

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
    """The task `run` must be running while requests are served."""

    def __init__(self, settings: Settings, store: AsyncStore, access: Access, clock: Clock) -> None:
        """Raises SettingsError for malformed tokens or proxies."""
        self._settings, self._clock = settings, clock
        self.tokens = Tokens(read_tokens(settings.http_api_tokens, settings.agent_mode), access.find_grant)
        self.mailbox = Mailbox(store)
        proxies = parse_networks(settings.http_trusted_proxies)
        self.identity = Authenticator(self.tokens, per_minute=settings.http_rate_limit, proxies=proxies)

    def build_routers(self, orchestrator: Orchestrator, engines: Engines) -> "Sequence[APIRouter]":
        """Imports FastAPI, which takes half a second with them."""
        from bot.http_api.routers import build_api_routers  # noqa: PLC0415 - not needed for the start

        return build_api_routers(self._settings, orchestrator, self.mailbox, self._clock, engines)

    async def run(self) -> None:
        """Wakes requests as answers come, until cancelled."""
        await self.mailbox.run()
