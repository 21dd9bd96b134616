"""The Telegram door: polling, storing, delivering, under one owner. Ring 3."""

import asyncio
import contextlib
import logging

from aiogram import Bot
from aiogram.client.default import DefaultBotProperties
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import AiogramError
from aiogram.types import BotCommand, Update
from aiogram.utils.token import TokenValidationError, validate_token

from bot.i18n.translate import Translator
from bot.leading import Lead
from bot.telegram.delivery import Delivery
from bot.telegram.ingest import Poller
from bot.telegram.people import People
from bot.telegram.router import Card, Routed, route, session_of
from orchestrator.commands import NAMES
from orchestrator.errors import SettingsError
from orchestrator.messages import Notice
from orchestrator.queries import open_cards
from orchestrator.workers import Orchestrator
from state.clock import Clock, new_id
from state.store import InboxRow, StoreError
from state.worker import AsyncStore

log = logging.getLogger(__name__)

_STORE_TROUBLE = Notice(code="store-trouble")


def make_bot(token: str, api_base: str) -> Bot:
    """A bot that talks to `api_base`; raises SettingsError for a token that cannot be one."""
    try:
        validate_token(token)
    except TokenValidationError:
        raise SettingsError("TELEGRAM_BOT_TOKEN: this is no bot token, it looks like 123456789:AA…") from None
    quiet = DefaultBotProperties(link_preview_is_disabled=True)  # a preview would fetch an address that nobody pressed
    return Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(api_base)), default=quiet)


class TelegramDoor:
    """Runs until cancelled; `delivery` is also the way to reach a chat when nothing can be stored."""

    def __init__(self, bot: Bot, store: AsyncStore, people: People, clock: Clock) -> None:
        """The orchestrator is given to `run`, since it needs `delivery` first."""
        self.bot = bot
        self._lead = Lead(store, clock, f"door:telegram:{bot.id}")
        self.delivery = Delivery(bot, store, people, clock, may_send=lambda: self._lead.held)
        self._store = store
        self._people = people
        self._clock = clock
        self._orchestrator: Orchestrator | None = None

    async def run(self, orchestrator: Orchestrator) -> None:
        """Poll and deliver whenever no other process of ours does, until cancelled; raises when the token is wrong or a stranger polls."""
        self._orchestrator = orchestrator
        orchestrator.listeners.append(self.delivery.wake)
        self._store.listeners.append(self.delivery.wake)
        try:
            await self._lead.run(self._serve)
        finally:
            await self.bot.session.close()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._introduce())
            group.create_task(self.delivery.run())
            group.create_task(Poller(self.bot, self._accept, self._quarantine).run())

    async def _introduce(self) -> None:
        """Set the command menu in both languages; not worth stopping for."""
        with contextlib.suppress(AiogramError):
            for locale in ("ru", "en"):
                tr = Translator(locale)
                commands = [BotCommand(command=name, description=tr.say(f"menu-{name}")) for name in NAMES]
                await self.bot.set_my_commands(commands, language_code=locale if locale == "en" else None)

    async def _accept(self, update: Update) -> None:
        routed = route(update, self._people.access, await self.bot.me(), await self._cards(update), self._clock.now())
        if routed.rows:
            await self._store_rows(routed)
        if routed.callback_id and (not routed.rows or routed.rows[0].kind != "decision"):
            with contextlib.suppress(AiogramError):
                text = self._people.translator(routed.session).notice(routed.toast) if routed.toast else None
                await self.bot.answer_callback_query(routed.callback_id, text=text)
        if routed.say is not None and routed.session:
            await self.delivery.trouble(routed.session, routed.say)

    async def _store_rows(self, routed: Routed) -> None:
        """Store durably, however long it takes: an update that is not stored must not be confirmed."""
        if self._orchestrator is None:
            msg = "the door is not running"
            raise RuntimeError(msg)
        told = False
        while True:
            try:
                await self._orchestrator.receive(routed.rows)
            except StoreError:
                log.exception("an update cannot be stored", extra={"action": "store_trouble"})
                if not told:
                    await self.delivery.trouble(routed.session, _STORE_TROUBLE)
                    told = True
                await asyncio.sleep(1)
            else:
                return

    async def _cards(self, update: Update) -> tuple[Card, ...]:
        """The open cards of the chat, only looked up for short texts that could be an answer."""
        message = update.message
        if message is None or not message.text or len(message.text) > 20:  # noqa: PLR2004 - «подтверждаю!» is shorter
            return ()
        session = session_of(message)
        found = [
            Card(
                confirmation_id=entry["confirmation_id"],
                nonce=entry["nonce"],
                message_id=await self._store.sent_ref(session, f"card:{entry['confirmation_id']}"),
                call_class=entry["call_class"],
                taps=entry["taps"],
            )
            for entry in await open_cards(self._store, session)
        ]
        return tuple(found)

    async def _quarantine(self, update_id: int, why: str) -> None:
        row = InboxRow(
            id=new_id(),
            source=f"telegram:{(await self.bot.me()).id}:{update_id}",
            session="tg:0",
            lane="turn",
            kind="unreadable",
            actor={},
            body={"why": why},
            received_at=self._clock.now(),
        )
        await self._store.put_inbox([row])
