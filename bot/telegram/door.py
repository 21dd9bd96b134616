"""The Telegram door: taking updates in, storing, delivering, under one owner. Ring 3.

The command menu: one table, by scope and language. Ring 3.
"""

import asyncio
import contextlib
import logging
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from aiogram import Bot
from aiogram.client.default import DefaultBotProperties
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import AiogramError, ClientDecodeError
from aiogram.methods import Response
from aiogram.types import (
    BotCommand,
    BotCommandScopeAllGroupChats,
    BotCommandScopeAllPrivateChats,
    BotCommandScopeChat,
    BotCommandScopeDefault,
    Message,
    Update,
)
from aiogram.utils.token import TokenValidationError, validate_token
from fastapi import APIRouter

from bot.i18n.translate import Locale, Translator
from bot.telegram.intake.ingest import Poller, UpdateIntake
from bot.telegram.intake.people import ChatPeople
from bot.telegram.intake.queue_position import QueueNotices
from bot.telegram.intake.routed_updates import RestoreGuard
from bot.telegram.intake.router import OpenCard, ParsedUpdate, format_session, parse_update
from bot.telegram.intake.typed_answers import may_decide
from bot.telegram.intake.webhook import Webhook, build_webhook_router, drop_webhook, keep_webhook
from bot.telegram.leader_election import LeaderElection
from bot.telegram.outgoing.delivery import Delivery
from bot.telegram.outgoing.rate_limiter import RateLimiter
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.runtime.commands import ADMIN_COMMANDS, COMMANDS
from orchestrator.runtime.session import list_open_cards
from orchestrator.runtime.worker import Orchestrator
from state.clock import Clock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, StoreError, StoreUnwritable

log = logging.getLogger(__name__)

_STORE_TROUBLE = Notice(code="store-trouble")
_CACHED_RESPONSES = Response[Message], Response[bool], Response[list[dict[str, Any]]]
"""What answers are read with: pydantic forgets a model that nobody holds, and making it anew takes milliseconds a call."""


def build_bot(token: str, api_base: str) -> Bot:
    """A bot that talks to `api_base`; raises SettingsError for a token that cannot be one."""
    try:
        validate_token(token)
    except TokenValidationError:
        raise SettingsError("TELEGRAM_BOT_TOKEN: this is no bot token, it looks like 123456789:AA…") from None
    quiet = DefaultBotProperties(link_preview_is_disabled=True)  # a preview would fetch an address that nobody pressed
    return Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(api_base)), default=quiet)


class TelegramDoor:
    """Runs until cancelled; `delivery` is also the way to reach a chat when nothing can be stored."""

    def __init__(
        self,
        bot: Bot,
        store: AsyncStore,
        people: ChatPeople,
        clock: Clock,
        *,
        webhook: Webhook | None = None,
        pacer: RateLimiter | None = None,
    ) -> None:
        """The orchestrator is given to `run`, since it needs `delivery` first. Without a webhook the door polls."""
        self.bot = bot
        self._election = LeaderElection(store, clock, f"door:telegram:{bot.id}")
        self.delivery = Delivery(bot, store, people, clock, may_send=lambda: self._election.is_leader, pacer=pacer)
        self._store = store
        self._people = people
        self._clock = clock
        self._webhook = webhook
        self._queue = QueueNotices(store, self.delivery.report_trouble)
        self._intake = UpdateIntake(bot, self._accept, self._quarantine)
        self._orchestrator: Orchestrator | None = None
        self._intake_task: asyncio.Task[None] | None = None
        self._is_closing = False
        self._is_trouble_reported = False
        self._restored = RestoreGuard(store)

    async def run(self, orchestrator: Orchestrator) -> None:
        """Take in and deliver whenever no other process of ours does, until cancelled; raises at a wrong token or a stranger who polls."""
        self._orchestrator = orchestrator
        self.delivery.progress.set_hosts(orchestrator.tools.allowed_hosts)
        orchestrator.listeners.append(self.delivery.wake)
        self._store.listeners.append(self.delivery.wake)
        try:
            async with asyncio.TaskGroup() as group:
                showing = group.create_task(self.delivery.progress.run())
                try:
                    await self._election.run(self._serve)
                finally:
                    showing.cancel()
        finally:
            self._queue.close()
            await self.bot.session.close()

    def is_delivering(self) -> bool:
        """Whether this process serves Telegram now; of several one does."""
        return self._election.is_leader

    def build_router(self) -> APIRouter | None:
        """What the HTTP door serves for the webhook; every process may take updates, one delivers. None while polling."""
        return build_webhook_router(self._webhook, self._accept_raw) if self._webhook is not None else None

    def close(self) -> None:
        """Take nothing more in: the program stops. What is not taken is not confirmed, and comes again after the start."""
        self._is_closing = True
        if self._intake_task is not None:
            self._intake_task.cancel()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(publish_menus(self.bot, self._people.list_admins()))
            group.create_task(self.delivery.run())
            self._intake_task = group.create_task(self._take_updates())
            if self._is_closing:
                self._intake_task.cancel()

    async def _take_updates(self) -> None:
        if self._webhook is not None:
            await keep_webhook(self.bot, self._webhook)
        await drop_webhook(self.bot)  # until it is: a poll beside a webhook is refused as if somebody else polled
        await Poller(self.bot, self._intake).run()

    async def _accept_raw(self, raw: Mapping[str, Any]) -> None:
        """One update of the webhook. Raises StoreError: Telegram repeats it."""
        if self._orchestrator is None or self._is_closing:
            raise StoreUnwritable("the door is not open")
        try:
            await self.bot.me()  # asked once and kept: whoever accepts must know which commands and mentions are for this bot
        except (AiogramError, ClientDecodeError):
            raise StoreUnwritable("it is not known yet who the bot is") from None
        await self._intake.take(raw)

    async def _accept(self, update: Update) -> None:
        """Store what the update means; raises StoreError, then it is not taken. Nobody waits for Telegram here."""
        await self.delivery.chats.observe_update(update)
        update = self.delivery.chats.restore_origin_chat(update)
        routed = await self._restored.filter_update(update, await self._parse_update(update))
        if routed.rows:
            await self._store_rows(routed)
            await self._remove_duplicate_card(update, routed)
        if routed.callback_id and (not routed.rows or routed.rows[0].kind != "decision"):
            text = self._people.build_translator(routed.session).translate_notice(routed.toast) if routed.toast else None
            self.delivery.reply_to_click(routed.callback_id, text)
        if routed.say is not None and routed.session:
            await self.delivery.report_trouble(routed.session, routed.say)

    async def _parse_update(self, update: Update) -> ParsedUpdate:
        me, now = await self.bot.me(), self._clock.now()
        routed = parse_update(update, self._people.access, me, await self._find_open_cards(update), now)
        rows, said = self._people.throttle_strangers(routed.rows, routed.say, now)
        return self._refuse_stale_click(update, replace(routed, rows=rows, say=said))

    def _refuse_stale_click(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        """A press that nobody here would work is answered at once: a button of another version, or «Stop» of a turn that is over."""
        query, row = update.callback_query, next(iter(routed.rows), None)
        if query is None or query.message is None or row is None or self._orchestrator is None:
            return routed
        if row.kind == "press" and row.body["words"][0] not in self._orchestrator.tools.handlers.buttons:
            return ParsedUpdate(session=routed.session, callback_id=query.id, toast=Notice(code="card-outdated"))
        stops = row.kind == "command" and row.body["name"] == "stop"
        if stops and self.delivery.progress.is_shown_elsewhere(row.session, query.message.message_id):
            return ParsedUpdate(session=routed.session, callback_id=query.id, toast=Notice(code="nothing-to-stop"))
        return routed

    async def _remove_duplicate_card(self, update: Update, routed: ParsedUpdate) -> None:
        """A second message of a card, left by a stop between its delivery and the note of it: pressed once, it points to the other one."""
        query = update.callback_query
        if query is None or query.message is None or routed.rows[0].kind != "decision":
            return
        shown = ""
        with contextlib.suppress(StoreError):  # the decision is stored, and this is for the eye
            shown = await self._store.find_sent_ref(routed.session, f"card:{routed.rows[0].body['confirmation_id']}")
        if shown.isdecimal() and query.message.message_id < int(shown):
            self.delivery.remove_buttons(routed.session, query.message.message_id)

    async def _store_rows(self, routed: ParsedUpdate) -> None:
        """Durably: an update that is not stored must not be confirmed. The person is told once for each time the store gives out."""
        if self._orchestrator is None:
            msg = "the door is not running"
            raise RuntimeError(msg)
        busy = routed.session in self._orchestrator.tools.running
        try:
            fresh = await self._orchestrator.receive(routed.rows)
        except StoreError:
            if not self._is_trouble_reported:
                self._is_trouble_reported = True
                await self.delivery.report_trouble(routed.session, _STORE_TROUBLE)
            raise
        self._is_trouble_reported = False
        requests = [row for new, row in zip(fresh, routed.rows, strict=True) if new and row.kind in {"message", "voice"}]
        if requests:
            self.delivery.progress.show_typing(routed.session)
            self._queue.watch_requests(requests, busy=busy)

    async def _find_open_cards(self, update: Update) -> tuple[OpenCard, ...]:
        """The open cards of the chat, only looked up for texts that could be an answer."""
        message = update.message
        if message is None or not may_decide(message):
            return ()
        session, last = format_session(message), self.delivery.chats.find_last_message(message.chat.id)
        found = []
        for entry in await list_open_cards(self._store, session):
            shown = await self._store.find_sent_ref(session, f"card:{entry['confirmation_id']}")
            card = OpenCard(
                confirmation_id=entry["confirmation_id"],
                nonce=entry["nonce"],
                message_id=shown,
                call_class=entry["call_class"],
                taps=entry["taps"],
                is_last=str(last) == shown if last else None,
            )
            found.append(card)
        return tuple(found)

    async def _quarantine(self, update_id: int, why: str) -> None:
        row = InboxRow(
            id=generate_id(),
            source=f"telegram:{(await self.bot.me()).id}:{update_id}",
            session="tg:0",
            lane="turn",
            kind="unreadable",
            actor={},
            body={"why": why},
            received_at=self._clock.now(),
        )
        await self._store.put_inbox([row])


IN_GROUPS: Final = ("help", "pending", "stop", "new", "history", "status")
"""What is of use where several read along; the others are for a private chat."""
_LANGUAGES: Final[tuple[tuple[Locale, str | None], ...]] = (("ru", None), ("en", "en"))
"""Russian for everybody whose client speaks no language of ours."""
_LONGEST: Final = 256

Scope = BotCommandScopeDefault | BotCommandScopeAllPrivateChats | BotCommandScopeAllGroupChats | BotCommandScopeChat


def list_menus(admins: Collection[int] = ()) -> list[tuple[Scope, tuple[str, ...]]]:
    """Each scope with its commands, in the order in which they are shown; an administrator's own chat has some more."""
    return [
        (BotCommandScopeDefault(), ("start", "help")),
        (BotCommandScopeAllPrivateChats(), COMMANDS),
        (BotCommandScopeAllGroupChats(), IN_GROUPS),
        *((BotCommandScopeChat(chat_id=number), (*COMMANDS, *ADMIN_COMMANDS)) for number in admins),
    ]


async def publish_menus(bot: Bot, admins: Collection[int] = ()) -> None:
    """Set every menu; one that Telegram does not take is not worth stopping for."""
    for locale, code in _LANGUAGES:
        tr = Translator(locale)
        for scope, names in list_menus(admins):
            commands = [BotCommand(command=name, description=tr.translate(f"menu-{name}")[:_LONGEST]) for name in names]
            with contextlib.suppress(AiogramError):
                await bot.set_my_commands(commands, scope=scope, language_code=code)
