"""The HTTP API as one part of the process: tokens, mailbox, routers. Ring 3; made before the orchestrator, which tells it how far it is."""

from collections.abc import Sequence

from fastapi import APIRouter

from bot.access import Access
from bot.http_api.answering import Chat
from bot.http_api.approvals import approvals
from bot.http_api.bodies import Reader
from bot.http_api.chat import chat_router
from bot.http_api.freeze import freeze_router
from bot.http_api.identity import Identity, networks
from bot.http_api.intake import Intake
from bot.http_api.mailbox import Mailbox
from bot.http_api.overrides import Overrides
from bot.http_api.tokens import Tokens, read_tokens
from bot.settings import Settings
from orchestrator.workers import Orchestrator
from state.clock import Clock
from state.worker import AsyncStore


class Api:
    """See the module docstring; `run` must run while it serves."""

    def __init__(self, settings: Settings, store: AsyncStore, access: Access, clock: Clock) -> None:
        """Raises SettingsError for tokens or proxies that are none."""
        self._settings, self._clock = settings, clock
        self.tokens = Tokens(read_tokens(settings.http_api_tokens, settings.agent_mode), access.token)
        self.mailbox = Mailbox(store)
        proxies = networks(settings.http_trusted_proxies)
        self.identity = Identity(self.tokens, per_minute=settings.http_rate_limit, proxies=proxies)

    def routers(self, orchestrator: Orchestrator) -> Sequence[APIRouter]:
        """All endpoints of the API over the one orchestrator (S004-67)."""
        settings = self._settings
        chat = Chat(
            orchestrator=orchestrator,
            mailbox=self.mailbox,
            overrides=Overrides(
                allowed=settings.http_allow_overrides,
                mode=settings.agent_mode,
                folders={"state_dir": settings.state_dir, "log_dir": settings.log_dir},
            ),
            clock=self._clock,
            answer_within=settings.http_answer_within.total_seconds(),
            reader=Reader(),
            intake=Intake(orchestrator.receive),
        )
        switch = orchestrator.tools.gate.means.switch
        return [chat_router(chat), *approvals(orchestrator, self._clock), freeze_router(switch, self._clock)]

    async def run(self) -> None:
        """Watch for answers until cancelled."""
        await self.mailbox.run()
