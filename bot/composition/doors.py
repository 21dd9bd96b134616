"""Builds the doors of a process (Telegram, HTTP API) and the people as these know them."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from bot.access.access import Access
from bot.composition.console_door import build_link_signer
from bot.composition.people import People
from bot.http_api.api import Api
from bot.http_api.server.tokens import PREFIX
from bot.settings.settings import Settings, parse_webhook
from bot.telegram.lazy_aiogram import import_aiogram
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.turns.feature import Files
from state.clock import Clock
from state.journal.async_store import AsyncStore

if TYPE_CHECKING:
    from bot.telegram.door import TelegramDoor


@dataclass(frozen=True, kw_only=True)
class Doors:
    """At least one of `telegram` and `api` is there."""

    access: Access
    telegram: "TelegramDoor | None"
    api: Api | None
    files: Files | None = None

    async def report_partial(self, session: str, what: str | Notice) -> None:
        """To the session's door: text so far, or a notice."""
        if self.api is not None and session.startswith(PREFIX):
            await self.api.mailbox.report_partial(session, what)
        elif self.telegram is not None:
            await self.telegram.delivery.report_partial(session, what)

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Tell the session's door that nothing can be stored."""
        if self.api is not None and session.startswith(PREFIX):
            await self.api.mailbox.report_trouble(session, notice)
        elif self.telegram is not None:
            await self.telegram.delivery.report_trouble(session, notice)

    def build_people(self, settings: Settings) -> People:
        """Raises SettingsError for an invalid address of the console."""
        return People(
            report_trouble=self.report_trouble,
            show_partial=self.report_partial,
            refresh_actor=self.refresh_actor,
            audience=self.access,
            members=self.access,
            files=self.files,
            messenger=self.telegram.messages if self.telegram is not None else None,
            sign_link=build_link_signer(settings),
        )

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """None if access was lost."""
        if actor.key.startswith(PREFIX):
            return self.api.tokens.refresh_actor(actor) if self.api is not None else None
        return self.access.refresh_actor(actor)


def build_doors(settings: Settings, store: AsyncStore, access: Access, clock: Clock) -> Doors:
    """Telegram with a bot token, the HTTP API with API tokens. Raises SettingsError."""
    api = Api(settings, store, access, clock) if settings.http_api_tokens is not None else None
    token = settings.telegram_bot_token
    if token is None:
        return Doors(access=access, telegram=None, api=api)
    hook = parse_webhook(settings.telegram_webhook_url, settings.telegram_webhook_secret)
    import_telegram(settings)
    from bot.telegram.door import TelegramDoor, build_bot  # noqa: PLC0415 - see import_telegram
    from bot.telegram.intake.files import TelegramFiles  # noqa: PLC0415 - as above
    from bot.telegram.intake.people import ChatPeople  # noqa: PLC0415 - as above

    bot = build_bot(token.get_secret_value(), settings.telegram_api_base)
    telegram = TelegramDoor(bot, store, ChatPeople(access), clock, webhook=hook, is_alone=settings.database_url is None)
    return Doors(access=access, telegram=telegram, files=TelegramFiles(bot), api=api)


def import_telegram(settings: Settings) -> None:
    """Only with a bot token: they are a third of the program."""
    if settings.telegram_bot_token is not None:
        import_aiogram()
        import_module("bot.telegram.door")
