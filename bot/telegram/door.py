"""Connects one Telegram bot to the orchestrator. Of several processes only the leader polls, delivers and publishes menus.

It tells a person the queue position of a request that waits; the notice may get lost.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from aiogram import Bot
from aiogram.client.default import DefaultBotProperties
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import AiogramError, ClientDecodeError
from aiogram.methods import EditMessageText, Response, SendMessage, SendMessageDraft
from aiogram.types import Update
from aiogram.utils.token import TokenValidationError, validate_token

from bot.telegram.intake.ingest import Poller, RawUpdates, UpdateIntake
from bot.telegram.intake.people import ChatPeople
from bot.telegram.intake.routed_updates import IncomingUpdate, RestoreGuard, read_update
from bot.telegram.intake.router import OpenCard, ParsedUpdate, format_session, parse_update
from bot.telegram.intake.sent_items import SENT_TYPES
from bot.telegram.intake.typed_answers import may_decide
from bot.telegram.intake.webhook import Webhook, build_webhook_router, drop_webhook, keep_webhook
from bot.telegram.leader_election import LeaderElection
from bot.telegram.outgoing.delivery import Delivery
from bot.telegram.outgoing.effect_messages import EffectMessages
from bot.telegram.outgoing.menus import keep_menus
from bot.telegram.outgoing.rate_limiter import RateLimiter
from orchestrator.domain.address import is_run
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.inputs import REQUEST_KINDS, CardDecision, Command, FeatureClick
from orchestrator.domain.outputs import Notice
from orchestrator.reports.cards import list_shown_cards
from orchestrator.runtime.worker import Orchestrator
from orchestrator.turns.feature import Feature
from state.clock import Clock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.run_index import PREFIX as RUN
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow, StoreError, StoreUnwritable

if TYPE_CHECKING:
    from fastapi import APIRouter


NOTICE_DELAY: Final = 2.0
"""Seconds before the notice."""
MAX_WATCHED: Final = 256
"""Conversations watched at once."""

Tell = Callable[[str, Notice], Awaitable[None]]


class QueueNotices:
    """Watches the newest waiting request of each conversation."""

    def __init__(self, store: AsyncStore, tell: Tell, *, after: float = NOTICE_DELAY) -> None:
        """`tell` returns at once and may fail silently."""
        self._store = store
        self._tell = tell
        self._after = after
        self._watch_tasks: dict[str, asyncio.Task[None]] = {}

    def watch_requests(self, rows: Sequence[InboxRow], *, busy: bool) -> None:
        """`rows` are of one conversation; without `busy` nothing waits."""
        newest = next((row for row in reversed(rows) if row.kind in REQUEST_KINDS and row.lane == "turn"), None)
        if newest is None or not busy:
            return
        earlier = self._watch_tasks.pop(newest.session, None)
        if earlier is not None:
            earlier.cancel()
        if len(self._watch_tasks) < MAX_WATCHED:
            task = asyncio.ensure_future(self._tell_position(newest))
            self._watch_tasks[newest.session] = task
            task.add_done_callback(lambda done: self._discard_watch(newest.session, done))

    def close(self) -> None:
        for task in self._watch_tasks.values():
            task.cancel()

    def _discard_watch(self, session: str, task: asyncio.Task[None]) -> None:
        if self._watch_tasks.get(session) is task:
            del self._watch_tasks[session]

    async def _tell_position(self, row: InboxRow) -> None:
        await asyncio.sleep(self._after)
        with contextlib.suppress(StoreError):
            waiting = [item.id for item in await self._store.list_waiting_inbox(row.session, "turn")]
            if row.id in waiting[1:]:
                await self._tell(row.session, Notice(code="queued", args={"place": waiting.index(row.id) + 1}))


log = logging.getLogger(__name__)

_STORE_TROUBLE = Notice(code="store-trouble")
ANSWERED_OFTEN: Final = (RawUpdates, SendMessage, EditMessageText, SendMessageDraft)
_KEPT_RESPONSES: Final = tuple(Response[method.__returning__] for method in ANSWERED_OFTEN)  # type: ignore[name-defined]
"""Keeps these types alive: Python drops a generic pydantic model that nobody refers to, and building it again takes milliseconds a call."""


def build_bot(token: str, api_base: str) -> Bot:
    """Keeps these types alive: building a generic pydantic model again takes milliseconds a call."""
    try:
        validate_token(token)
    except TokenValidationError:
        raise SettingsError("TELEGRAM_BOT_TOKEN: this is no bot token, it looks like 123456789:AA…") from None
    quiet = DefaultBotProperties(link_preview_is_disabled=True)  # a preview would fetch an address that nobody clicked
    return Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(api_base)), default=quiet)


class TelegramDoor:
    def __init__(
        self,
        bot: Bot,
        store: AsyncStore,
        people: ChatPeople,
        clock: Clock,
        *,
        webhook: Webhook | None = None,
        pacer: RateLimiter | None = None,
        is_alone: bool = False,
    ) -> None:
        """Without `webhook` it polls. `is_alone`: no other process works with the database."""
        self.bot = bot
        self._election = LeaderElection(store, clock, f"door:telegram:{bot.id}", is_alone=is_alone)
        self.delivery = Delivery(bot, store, people, clock, may_send=lambda: self._election.is_leader, pacer=pacer)
        self.messages = EffectMessages(bot, store, self.delivery.chats, self.delivery.pacer, clock)
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
        """Raises TelegramUnauthorizedError, and TelegramConflictError if another program polls with the token."""
        self._orchestrator = orchestrator
        self.delivery.progress.set_guard(orchestrator.tools.guard)
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
        return self._election.is_leader

    def build_router(self) -> "APIRouter | None":
        """None if the bot polls. Every process may receive, only one delivers."""
        return build_webhook_router(self._webhook, self._accept_raw) if self._webhook is not None else None

    def close(self) -> None:
        """Telegram sends unconfirmed updates again after the next start."""
        self._is_closing = True
        if self._intake_task is not None:
            self._intake_task.cancel()

    async def _serve(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(keep_menus(self.bot, self._people.access, self._list_features()))
            group.create_task(self.delivery.run())
            self._intake_task = group.create_task(self._take_updates())
            if self._is_closing:
                self._intake_task.cancel()

    async def _take_updates(self) -> None:
        if self._webhook is not None:
            await keep_webhook(self.bot, self._webhook)
        await drop_webhook(self.bot)  # must come first: Telegram refuses polling while a webhook is set, as if another program polled
        await Poller(self.bot, self._intake, may_poll=self.is_delivering).run()

    async def _accept_raw(self, raw: object) -> None:
        if self._orchestrator is None or self._is_closing:
            raise StoreUnwritable("the door is not open")
        try:
            await self.bot.me()  # fetched once and cached: parsing must know which commands and mentions are for this bot
        except (AiogramError, ClientDecodeError):
            raise StoreUnwritable("it is not known yet who the bot is") from None
        await self._intake.take(raw)

    async def _accept(self, update: Update) -> None:
        """Raises StoreError if the update is not stored; a click that decides no card is answered in the background."""
        await self.delivery.chats.observe_update(update)
        update = self.delivery.chats.restore_origin_chat(update)
        routed = await self._restored.filter_update(update, await self._parse_update(update))
        if routed.rows:
            await self._store_rows(routed)
            await self._remove_duplicate_card(update, routed)
        if routed.callback_id and (not routed.rows or routed.rows[0].kind != CardDecision.KIND):
            text = self._people.build_translator(routed.session).translate_notice(routed.toast) if routed.toast else None
            self.delivery.reply_to_click(routed.callback_id, text)

    async def _parse_update(self, update: Update) -> ParsedUpdate:
        me, now = await self.bot.me(), self._clock.now()
        incoming = read_update(update, me)
        cards, awaited = await self._find_open_cards(incoming), await self._may_answer_run(incoming)
        routed = parse_update(incoming, self._people.access, me, cards, now, self._list_features(), may_answer_run=awaited)
        routed = await self._refuse_unknown_run(update, routed)
        return self._refuse_stale_click(update, replace(routed, rows=self._people.throttle_strangers(routed.rows, now)))

    async def _refuse_unknown_run(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        query, row = update.callback_query, next(iter(routed.rows), None)
        if query is None or row is None or not is_run(row.session):
            return routed
        if await self._store.list_runs(RunFilter(run_id=row.session.removeprefix(RUN))):
            return routed
        return ParsedUpdate(session=routed.session, callback_id=query.id, toast=Notice(code="card-outdated"))

    async def _may_answer_run(self, incoming: IncomingUpdate) -> bool:
        """Whether a contact, photo or document comes where a run waits for something."""
        message, content = incoming.update.message, incoming.content
        if message is None or content is None or content.type not in SENT_TYPES:
            return False
        return bool(await self._store.list_runs(RunFilter(home=format_session(message), statuses=("waiting", "paused"), limit=1)))

    def _list_features(self) -> Feature:
        return self._orchestrator.tools.features if self._orchestrator is not None else Feature()

    def _refuse_stale_click(self, update: Update, routed: ParsedUpdate) -> ParsedUpdate:
        query, row = update.callback_query, next(iter(routed.rows), None)
        if query is None or query.message is None or row is None or self._orchestrator is None:
            return routed
        stored_input = routed.said
        if isinstance(stored_input, FeatureClick) and stored_input.words[0] not in self._orchestrator.tools.features.buttons:
            return ParsedUpdate(session=routed.session, callback_id=query.id, toast=Notice(code="card-outdated"))
        stops = isinstance(stored_input, Command) and stored_input.name == "stop"
        if stops and self.delivery.progress.is_shown_elsewhere(row.session, query.message.message_id):
            return ParsedUpdate(session=routed.session, callback_id=query.id, toast=Notice(code="nothing-to-stop"))
        return routed

    async def _remove_duplicate_card(self, update: Update, routed: ParsedUpdate) -> None:
        """A card is shown twice if the process stopped before it recorded the message."""
        query, decision = update.callback_query, routed.said
        if query is None or query.message is None or not isinstance(decision, CardDecision):
            return
        sent_ref = ""
        with contextlib.suppress(StoreError):  # the decision is stored already; this is only cosmetic
            sent_ref = await self._store.find_sent_ref(routed.session, f"card:{decision.confirmation_id}")
        if sent_ref.isdecimal() and query.message.message_id < int(sent_ref):
            self.delivery.remove_buttons(routed.session, query.message.message_id)

    async def _store_rows(self, routed: ParsedUpdate) -> None:
        """Raises StoreError: the update must not be confirmed then. The person is told of the first failure only."""
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
        requests = [row for new, row in zip(fresh, routed.rows, strict=True) if new and row.kind in REQUEST_KINDS]
        if requests:
            self.delivery.progress.show_typing(routed.session)
            self._queue.watch_requests(requests, busy=busy)

    async def _find_open_cards(self, incoming: IncomingUpdate) -> tuple[OpenCard, ...]:
        """Empty if the update is no text that could decide a card."""
        message, content = incoming.update.message, incoming.content
        if message is None or content is None or not may_decide(message, content):
            return ()
        session, last = format_session(message), self.delivery.chats.find_last_message(message.chat.id)
        runs = await self._store.list_runs(RunFilter(home=session, statuses=("waiting", "paused")))
        cards = []
        for home in ("", *(f"{RUN}{one.run_id}" for one in runs)):
            for entry in await list_shown_cards(self._store, home or session):
                sent_ref = await self._store.find_sent_ref(session, f"card:{entry.confirmation_id}")
                card = OpenCard(
                    confirmation_id=entry.confirmation_id,
                    nonce=entry.nonce,
                    message_id=sent_ref,
                    call_class=entry.call_class,
                    taps=entry.taps,
                    home=home,
                    is_last=str(last) == sent_ref if last else None,
                )
                cards.append(card)
        return tuple(cards)

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
