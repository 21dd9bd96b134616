"""`sdelka chat`: y approves a card, n denies it. It decides nothing: the gate checks who may decide, and whether the card is open."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Literal

from bot.composition.bootstrap import open_orchestrator
from bot.composition.database import open_async_store
from bot.composition.engines import open_lifetimes
from bot.composition.installation import build_installation
from bot.composition.people import People
from bot.composition.tool_services import open_documents
from bot.i18n.translate import Translator
from bot.plugins.building import load_installed_engines
from bot.rendering.kinds import render_message
from bot.rendering.spans import to_plain_text
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import BULK_VERB, CardView, Preview
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.gate.approve.confirmations import calculate_second_nonce
from orchestrator.gate.preview.old_texts import is_shortened
from orchestrator.gate.preview.whole_file import add_records
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.request_words import normalize_words
from orchestrator.reports.cards import load_cards
from orchestrator.runtime.commands import parse_command
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from orchestrator.turns.feature import Feature
from state.canonical import to_storable_text
from state.clock import SystemClock, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, Lane, OutboxRow
from state.stored import JsonObject

ReadLine = Callable[[str], Awaitable[str | None]]
Show = Callable[[str], None]
_POLL_INTERVAL = 0.05
_WORDS = load_lexicon("answers")


class Terminal:
    """Tests replace `read_line` and `show`."""

    def __init__(self, store: AsyncStore, actor: Actor, session: str, *, read_line: ReadLine, show: Show) -> None:
        """`read_line` returns None at the end of input."""
        self._store = store
        self._actor = actor
        self._session = session
        self._read_line = read_line
        self._show = show
        self._tr = Translator(actor.locale, actor.time_zone)
        self._clock = SystemClock()
        self._choices: list[str] = []
        self._buttons: dict[str, tuple[str, ...]] = {}
        """By their words in small letters without signs: the next line may be one of them."""

    async def run(self, orchestrator: Orchestrator) -> None:
        """Until the end of input; shows the answer to each line."""
        await self._drain(orchestrator)
        while (line := await self._read_line("> ")) is not None:
            text = to_storable_text(line).strip()
            if text:
                row = self._parse_line(text, orchestrator.tools.features)
                self._buttons.clear()
                await orchestrator.receive([row])
                await self._drain(orchestrator)

    def _parse_line(self, text: str, features: Feature) -> InboxRow:
        """A command ("/new"), the number of an offered choice, the words on a button, or a message."""
        if text.startswith("/"):
            name, *args = text[1:].split(maxsplit=1) or [""]
            command, lane = parse_command(name, "".join(args), features)
            return self._build_row(command.KIND, lane, command.to_json())
        if text.isdecimal() and 0 < int(text) <= len(self._choices):
            question, _, option = self._choices[int(text) - 1].rpartition(":")
            return self._build_row("message", "turn", {"answers": question, "option": int(option), "origin": "choice"})
        if words := self._buttons.get(normalize_words(text)):
            return self._build_row(FeatureClick.KIND, "express", FeatureClick(words=words).to_json())
        return self._build_row("message", "turn", {"text": text, "origin": "typed"})

    def _build_row(self, kind: str, lane: Lane, body: dict[str, object]) -> InboxRow:
        row_id = generate_id()
        return InboxRow(
            id=row_id,
            source=f"cli:{row_id}",
            session=self._session,
            lane=lane,
            kind=kind,
            actor=self._actor.model_dump(mode="json"),
            body=body,
            received_at=self._clock.now(),
        )

    async def _drain(self, orchestrator: Orchestrator) -> None:
        """Until the orchestrator is idle; asks about a card that waits for a decision."""
        while True:
            was_idle = await orchestrator.is_idle()  # before the look: what a turn stores as its last thing is not overlooked
            rows = await self._store.list_due_outbox("cli", self._clock.now())
            mine = [row for row in rows if row.session == self._session]
            for row in mine:
                await self._deliver(row, orchestrator)
            if was_idle and not mine:
                return
            await asyncio.sleep(_POLL_INTERVAL)

    async def _deliver(self, row: OutboxRow, orchestrator: Orchestrator) -> None:
        await self._store.mark_outbox_sent(row.id, row.id)
        match row.kind:
            case "reply":
                self._show_reply(row)
            case kind:  # a terminal has room for the whole of a card
                body = await self._add_records(row.body, orchestrator) if kind == "card" else row.body
                self._show(to_plain_text(render_message(kind, {**body, "is_cut": False}, self._tr)))
                if kind == "card" and _hides_old_text(CardView.from_body(row.body)):
                    self._show(to_plain_text(render_message("details", row.body, self._tr)))
        if row.kind == "card" and (view := CardView.from_body(row.body)).card.is_waiting and not view.is_waiting_for_lead:
            await self._ask(view, orchestrator)

    async def _add_records(self, body: JsonObject, orchestrator: Orchestrator) -> JsonObject:
        """Of a change of many records that waits, with every one of them: whoever answers has read all that the card stands for."""
        view = CardView.from_body(body)
        if view.preview.verb != BULK_VERB or not view.card.is_waiting:
            return body
        cards = {card.entry.confirmation_id: card.entry for card in await load_cards(self._store, self._session)}
        card = cards.get(view.card.confirmation_id, view.card)
        return {**body, "preview": (await add_records(card, orchestrator.tools.gate.deps.bulk)).preview}

    def _show_reply(self, row: OutboxRow) -> None:
        reply = Reply.model_validate(row.body)
        self._choices = [choice.token for choice in reply.choices]
        text = to_plain_text(render_message(row.kind, row.body, self._tr))
        labels = [self._tr.translate_notice(action.label) for action in reply.actions]
        self._buttons |= {normalize_words(label): action.words for label, action in zip(labels, reply.actions, strict=True)}
        lines = [f"  {number}. {choice.label}" for number, choice in enumerate(reply.choices, start=1)]
        lines += [f"  [{label}]" for label in labels]
        if text or lines:  # a card that says everything comes without a text before it
            self._show("\n".join([text, *lines]) if text else "\n".join(lines))

    async def _ask(self, view: CardView, orchestrator: Orchestrator) -> None:
        """Typing y approves, n denies, anything else leaves the card open."""
        answer = (await self._read_line("[y/n] ") or "").strip().lower()
        approve = answer in _WORDS.read_words("terminal", "yes")
        if not approve and answer not in _WORDS.read_words("terminal", "no"):
            return
        second = approve and view.is_second_tap_due
        nonce = calculate_second_nonce(view.card.nonce) if second else view.card.nonce
        body = {"confirmation_id": view.card.confirmation_id, "nonce": nonce, "approve": approve, "via": "cli"}
        await orchestrator.receive([self._build_row("decision", "express", body)])


async def run_chat(settings: Settings, *, name: str, user: int | None, language: Literal["ru", "en"]) -> None:
    """The conversation `cli:<name>`; `user` is the employee number in the portal."""
    actor = Actor(key=f"cli:{name}", name=name, role="admin", sees="all", bitrix_user_id=user, locale=language)
    async with open_async_store(settings) as store, AsyncExitStack() as stack:
        open_lifetimes(settings, stack)
        documents = await open_documents(settings, stack, ATTACHED_MODELS)
        engines = load_installed_engines()
        installation = build_installation(settings, store, SystemClock(), engines)
        people = People(report_trouble=_build_trouble_reporter(actor), show_partial=_discard)
        orchestrator = await stack.enter_async_context(open_orchestrator(installation, people, engines, documents=documents))
        orchestrator.serves = is_served
        terminal = Terminal(store, actor, actor.key, read_line=_read_line, show=_show)
        working = asyncio.ensure_future(orchestrator.run())
        await terminal.run(orchestrator)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


def is_served(key: str) -> bool:
    """Other doors' conversations are left to the bot: the rights of their people are not known here."""
    return Address.parse(key).channel not in {"tg", "http"}


async def _read_line(prompt: str) -> str | None:
    try:
        return await asyncio.to_thread(input, prompt)
    except EOFError:
        return None


def _hides_old_text(view: CardView) -> bool:
    """Only the beginning and end of an old text are shown."""
    return any(is_shortened(Preview.model_validate(card.preview or {})) for card in view.members or (view.card,) if card.is_waiting)


def _show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _build_trouble_reporter(actor: Actor) -> Callable[[str, Notice], Awaitable[None]]:
    async def tell(session: str, notice: Notice) -> None:
        del session
        _show(Translator(actor.locale).translate_notice(notice))

    return tell


async def _discard(session: str, text: object) -> None:
    del session, text
