"""Plays a dialogue through the real session over a fresh sandbox portal; the model answers what the file holds, everything else is real."""

import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx
from aiogram.types import InlineKeyboardMarkup, Message

from bot.i18n.translate import Translator
from bot.telegram.intake.callbacks import ActionClick, CardClick, CheckClick, ChoiceClick, DetailsClick, unpack
from bot.telegram.intake.message_content import list_linked_records
from bot.telegram.view.message_builder import build_message
from engines.bulk_changes.wiring import build_bulk
from engines.crm_agent.core.prompt import AFTER_CARDS
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BULK_ENGINE
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.runs.registry import Engines
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from state.sql.store import SqlStore
from tests.dialogues.recording import Asked
from tests.dialogues.scripts import Dialogue, Turn
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.runtime.ordinary_kit import PEOPLE
from tests.unit.spine_kit import NOW, Said, World, a_world, message
from tests.unit.spine_portal import Portal

NOTHING_LEFT = "THOUGHT:\nNothing is left.\nACTION:\n[]\nASSISTANT:\n"
UNWRITTEN = "THOUGHT:\n-\nACTION:\n[]\nASSISTANT:\n(no answer is written for this prompt)"
_BESIDE = ("history_", "task_history")
"""Kinds of rows that the portal writes beside each change."""
_KEPT_BY_PORTAL = {
    "DATE_MODIFY", "MODIFY_BY_ID", "MOVED_TIME", "MOVED_BY_ID", "LAST_ACTIVITY_TIME", "LAST_ACTIVITY_BY", "STAGE_SEMANTIC_ID",
}  # fmt: skip


@dataclass
class Shown:
    """A message that the person got: its text, its buttons as (label, callback data), and whether it replaced an earlier one."""

    kind: str
    text: str
    buttons: list[tuple[str, str]]
    replaces: bool = False
    records: tuple[str, ...] = ()
    """The records to which it links, such as "deal:481"."""


@dataclass
class PlayedTurn:
    """What came of one turn."""

    turn: Turn
    shown: list[Shown] = field(default_factory=list)
    cards: set[str] = field(default_factory=set)
    """The cards that waited for somebody, by id."""
    replaced: set[str] = field(default_factory=set)
    """The cards in whose place another stands now, by id."""
    sent: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    changed: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    """The fields that the turn changed in the portal, by record; None for a deleted one."""
    problems: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that was shown, with the labels of the buttons."""
        return "\n\n".join("\n".join([one.text, *(f"[{label}]" for label, _ in one.buttons)]) for one in self.shown)


@dataclass
class Played:
    """What came of a dialogue."""

    dialogue: Dialogue
    turns: list[PlayedTurn] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


class TalkingModel:
    """Gives the answers of the turn that is played, and keeps the prompts."""

    def __init__(self, played: Played) -> None:
        self._played = played
        self.answers: deque[str] = deque()

    async def stream_chat(self, payload: dict[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        """Answer the prompt; one for which nothing is written is a problem of its turn."""
        turn = len(self._played.turns)
        number = sum(one.turn == turn for one in self._played.asked) + 1
        self._played.asked.append(Asked(turn, number, payload["messages"]))
        text = self._find_answer(payload["messages"][-1]["content"])
        if on_delta is not None:
            await on_delta(text)
        return Said(text)

    def _find_answer(self, last: str) -> str:
        if self.answers:
            return self.answers.popleft()
        if last.endswith(AFTER_CARDS):
            return NOTHING_LEFT
        self._played.turns[-1].problems.append("no answer is written for a prompt")
        return UNWRITTEN


class Player:
    """One dialogue at play."""

    def __init__(self, dialogue: Dialogue, world: World, wire: Wire, store: Any, start_again: Callable[[], Awaitable[World]]) -> None:
        self.played = Played(dialogue)
        self._world, self._wire, self._store = world, wire, store
        self._start_again = start_again
        self._person = PEOPLE[dialogue.person]
        self._model = TalkingModel(self.played)
        self._messages: dict[str, Shown] = {}
        self._join_model()

    def _join_model(self) -> None:
        self._world.model.stream_chat = self._model.stream_chat  # type: ignore[method-assign]

    async def play(self) -> Played:
        """Play all turns and return what came of them."""
        for turn in self.played.dialogue.turns:
            await self._play_turn(turn)
        return self.played

    async def _play_turn(self, turn: Turn) -> None:
        now = PlayedTurn(turn)
        if turn.restart:
            time = self._world.clock.now()
            self._world = await self._start_again()
            self._world.clock.set_by(time - self._world.clock.now())
            self._join_model()
        self._world.clock.advance(timedelta(minutes=turn.wait))
        self.played.turns.append(now)
        for call in turn.meanwhile:
            await self._world.client.call(call.method, dict(call.params), repeatable=False)
        self._wire.instead = {one.method: httpx.Response(one.status, json=dict(one.body)) for one in turn.faults}
        self._wire.sent.clear()
        self._model.answers = deque(turn.answers)
        before = dict(self._read_records())
        row = self._build_input(turn, now)
        if row is not None:
            await self._world.work(row)
        after = dict(self._read_records())
        now.changed = {key: _compare(before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}
        now.sent = list(_unpack_batches(self._wire.sent))
        for one in self._world.outbox():
            self._show(one, now)
        if self._model.answers:
            now.problems.append(f"{len(self._model.answers)} answers were never asked for")

    def _build_input(self, turn: Turn, now: PlayedTurn) -> InboxRow | None:
        actor = PEOPLE[turn.by] if turn.by else self._person
        if turn.say:
            beside = {"quoted": turn.quoted} if turn.quoted else {}
            return message(
                turn.say, actor=actor, key=self.played.dialogue.chat, **beside, **(self._find_answered() if turn.replies else {})
            )
        fitting = [data for one in self._messages.values() for label, data in one.buttons if turn.press in label]
        if fitting:
            return _build_press(fitting[-1], actor, self.played.dialogue.chat)
        labels = [label for one in self._messages.values() for label, _ in one.buttons]
        now.problems.append(f"no button {turn.press!r} among {labels}")
        return None

    def _find_answered(self) -> Mapping[str, Any]:
        """Return what a reply to the bot's last message brings along; only a message with links names records."""
        last = [*self._messages.values()][-1]
        return {"answered": last.text, "answered_records": list(last.records)}

    def _show(self, row: OutboxRow, now: PlayedTurn) -> None:
        tr = Translator(self._person.locale)
        if row.kind == "toast":
            now.shown.append(Shown("toast", tr.translate_notice(Notice.model_validate(row.body["notice"])), []))
            return
        letter = build_message(row, tr)
        pieces = [*letter.pieces, *([letter.picture.caption] if letter.picture else [])]
        text = "\n".join([*(piece[0] for piece in pieces), *(f"<{one.name}>" for one in letter.files)])
        key = row.key or row.id
        links = Message.model_construct(entities=[entity for piece in pieces for entity in piece[1]], caption_entities=None)
        one = Shown(row.kind, text, list(_list_buttons(letter.markup)), key in self._messages, list_linked_records(links))
        self._messages.pop(key, None)
        self._messages[key] = one
        now.shown.append(one)
        if row.kind == "card" and row.body["status"] in {"requested", "superseded"}:
            (now.cards if row.body["status"] == "requested" else now.replaced).add(str(row.body["confirmation_id"]))

    def _read_records(self) -> Iterator[tuple[str, str]]:
        for kind, number, body in self._store.contents()[0]:
            if not kind.startswith(_BESIDE):
                yield f"{kind}:{number}", bytes(body).decode()


def _compare(before: str | None, after: str | None) -> Mapping[str, Any] | None:
    """Return the fields of a record that have another value than before, without those that the portal keeps by itself."""
    if after is None:
        return None
    was = json.loads(before) if before else {}
    return {name: value for name, value in json.loads(after).items() if value != was.get(name) and name not in _KEPT_BY_PORTAL}


def _list_buttons(markup: Any) -> Iterator[tuple[str, str]]:
    if isinstance(markup, InlineKeyboardMarkup):
        yield from ((one.text, one.callback_data) for line in markup.inline_keyboard for one in line if one.callback_data)


def _build_press(data: str, actor: Actor, chat: str) -> InboxRow:
    """Return the input that the bot makes of a click on a button with that data."""
    made = generate_id()
    kind, body = "press", cast("dict[str, Any]", {})
    match unpack(data):
        case CardClick() as click:
            given = {"confirmation_id": click.confirmation_id, "nonce": click.nonce, "approve": click.approve}
            kind, body = "decision", {**given, "via": "button", "callback_id": made}
        case ChoiceClick() as click:
            return message("", actor=actor, key=chat, answers=click.question_id, option=click.option, origin="choice")
        case ActionClick() as click:
            body = {"words": list(click.words), "callback_id": made, "message_id": 77}
        case DetailsClick() as click:
            kind, body = "command", {"name": "details", "confirmation_id": click.confirmation_id}
        case CheckClick() as click:
            kind, body = "command", {"name": "check", "confirmation_id": click.confirmation_id}
        case other:
            msg = f"the player cannot press {other}"
            raise ValueError(msg)
    who = actor.model_dump(mode="json")
    return InboxRow(
        id=made, source=f"test:{made}", session=chat, lane="express", kind=kind, actor=who, body=body, received_at=NOW
    )  # fmt: skip


def _unpack_batches(sent: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the calls, and for each batch its commands as (method, query text) too."""
    for method, params in sent:
        yield method, params
        commands = params.get("cmd") if method == "batch" else None
        for line in commands.values() if isinstance(commands, dict) else commands or ():
            name, _, query = str(line).partition("?")
            yield name, dict(httpx.QueryParams(query))


async def play_dialogue(dialogue: Dialogue, folder: Path) -> Played:
    """Play a dialogue to its end, in a folder of its own."""
    async with _a_portal(dialogue, folder) as (world, wire, store, start_again):
        for call in dialogue.given:
            await world.client.call(call.method, dict(call.params), repeatable=False)
        return await Player(dialogue, world, wire, store, start_again).play()


@contextlib.asynccontextmanager
async def _a_portal(dialogue: Dialogue, folder: Path) -> AsyncIterator[tuple[World, Wire, Any, Callable[[], Awaitable[World]]]]:
    """The product with the shipped rules over a fresh sandbox, with its portal card; and what starts it again over the same store."""
    app = create_app(Settings(bucket=None, clock=clock))
    wire = Wire(httpx.ASGITransport(app))
    policy = {"sum_jump": 10, **dialogue.policy}
    engines = Engines(runs={BULK_ENGINE: build_bulk()})
    people = [*{one.key: one for one in (*PEOPLE.values(), PEOPLE[dialogue.person])}.values()]
    async with contextlib.AsyncExitStack() as worlds:

        async def start(store: SqlStore | None = None) -> World:
            made = a_world(folder, portal=cast("Portal", wire), policy=policy, store=store, card=True, people=people, engines=engines)
            return await worlds.enter_async_context(made)

        world = await start()

        async def start_again() -> World:
            return await start(world.sql)

        yield world, wire, app.state.portal.store, start_again
    await app.state.portal.events.aclose()
    app.state.portal.close()
