"""Offers definitions that a person may start."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final
from uuid import uuid5

from orchestrator.domain.actor import Actor, Role
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Definition
from orchestrator.runs.listening import build_receipt, build_start, refuse_click
from orchestrator.runs.registry import Engines, may_choose
from orchestrator.runs.titles import LONGEST_TITLE, find_title
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.canonical import hash_text
from state.clock import UUID_NAMESPACE, generate_id
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow
from state.journal.stream_turn import STREAM
from state.stored import JsonObject

log = logging.getLogger(__name__)
OFFER: Final = "begin"
"""Buttons: ("begin", name of the offer, id of the list)."""
NO_SUMMARY: Final = "none"
LONGEST_SUMMARY: Final = 200
MOST_TOLD: Final = 20
"""Definitions of one engine that a model is told of."""
LOOK_EVERY: Final = 1.0
"""Seconds between looks for changes by other processes."""
_NAME_LENGTH: Final = 12
_LIST_LENGTH: Final = 8


async def list_offers(engine: str, command: str, actor: Actor, engines: Engines) -> Reply:
    choices = await _list_choices(actor, engine, engines)
    if not choices:
        return build_reply(Notice(code="run-offers-none", args={"command": command}))
    list_id = generate_id()[-_LIST_LENGTH:]
    lines, buttons = [], []
    for definition, title, summary in choices:
        lines.append(Notice(code="run-offer-line", args={"title": title, "summary": summary or NO_SUMMARY}))
        buttons.append(
            Action(words=(OFFER, _name_offer(engine, definition), list_id), label=Notice(code="run-offer", args={"title": title}))
        )
    return Reply(notices=(Notice(code="run-offers", args={"command": command}), *lines), actions=tuple(buttons))


class StartableOffers:
    """Keeps what models are told that people may start, until definitions change.

    Own changes are seen at the next prompt, those of other processes within `LOOK_EVERY` seconds. A start checks anew.
    """

    def __init__(self, engines: Engines, store: AsyncStore, clock: Callable[[], float] = time.monotonic) -> None:
        """One for a program: the store keeps it as a listener."""
        self._engines, self._store, self._clock = engines, store, clock
        self._kept: dict[Role, tuple[JsonObject, ...]] = {}
        """By role, which alone decides: see `may_start`."""
        self._head: tuple[int, str] | None = None
        """The last event of definitions for which `_kept` holds."""
        self._looked_at = 0.0
        self._told = 0
        self._seen = -1
        """Notices of the store, all and at the last look."""
        store.listeners.append(self._hear)

    async def list_startable(self, actor: Actor) -> Sequence[JsonObject]:
        """The same object while nothing has changed."""
        if actor.for_customers:
            return ()
        await self._drop_outdated()
        startable = self._kept.get(actor.role)
        if startable is None:
            head = self._head
            startable = tuple(await list_startable(actor, self._engines))
            if head == self._head:
                self._kept[actor.role] = startable
        return startable

    def _hear(self) -> None:
        """Some process has stored something."""
        self._told += 1

    async def _drop_outdated(self) -> None:
        now = self._clock()
        if self._seen == self._told and now - self._looked_at < LOOK_EVERY:
            return
        notice_count = self._told
        head = await self._store.read_head(STREAM)
        if head != self._head:
            self._kept.clear()
        self._head, self._seen, self._looked_at = head, notice_count, now


async def list_startable(actor: Actor, engines: Engines) -> list[JsonObject]:
    """{kind, name, title, does, words, is_offered} of each, for a model; none for customers.

    `kind` is the engine, of which at most `MOST_TOLD` are named; `words` are those of the button but for the last.
    """
    engine_names = [
        name for name, registered in engines.runs.items() if any(not command.definition for command in registered.commands.values())
    ]
    startable: list[JsonObject] = []
    for engine in engine_names if not actor.for_customers else ():
        registered = engines.runs[engine]
        for definition, title, does in (await _list_choices(actor, engine, engines))[:MOST_TOLD]:
            words = [OFFER, _name_offer(engine, definition)]
            offer = {"kind": engine, "name": definition.key, "title": title, "does": does, "words": words}
            startable.append({**offer, "is_offered": registered.is_offered})
    return startable


async def _list_choices(actor: Actor, engine: str, engines: Engines) -> list[tuple[Definition, str, str]]:
    registered, choices = engines.runs[engine], list[tuple[Definition, str, str]]()
    for definition in await engines.definitions.list_all(engine):
        try:
            if may_choose(actor, registered, definition.document):
                title, summary = (
                    find_title(definition.document, registered) or definition.key[:LONGEST_TITLE],
                    registered.describe(definition.document)[1],
                )
                choices.append((definition, title, " ".join(summary.split())[:LONGEST_SUMMARY]))
        except Exception:  # an engine that cannot read its own definition hides no other, and stops no turn
            log.exception("a definition cannot be offered", extra={"action": "choice_failed", "definition": definition.key})
    return choices


def _name_offer(engine: str, definition: Definition) -> str:
    """Short, as a button of Telegram carries 64 bytes."""
    return hash_text(f"{engine}/{definition.key}")[:_NAME_LENGTH]


async def take_offer(row: InboxRow, session: Session, tools: Tools, *, engines: Engines) -> None:
    """A second press on the same button starts no other run."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, name, list_id, *_ = (*FeatureClick.model_validate(row.body).words, "", "", "")
    chosen = await _find_offer(name, actor, engines)
    if chosen is None:
        await session.commit(actor=actor.key, outbox=refuse_click(row, session, "choice-outdated"), inbox_done=[row.id])
        return
    engine, definition = chosen
    run_id = str(uuid5(UUID_NAMESPACE, f"{session.key}/{list_id}/{name}/{actor.key}"))
    args = {"text": Value("", frozenset({"person"}))}
    start = build_start(engine, definition.key, args, actor=actor, home=session.key, session=session, run_id=run_id)
    receipt = build_receipt(
        "run-started", start.session, session, definition=find_title(definition.document, engines.runs[engine]) or definition.key
    )
    outbox_rows = receipt or build_click_toasts(row, session, Notice(code="toast-doing"))  # without an answer the button goes on turning
    await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id], inbox_new=[start])


async def _find_offer(name: str, actor: Actor, engines: Engines) -> tuple[str, Definition] | None:
    for engine, registered in engines.runs.items():
        for definition in await engines.definitions.list_all(engine):
            if _name_offer(engine, definition) == name and may_choose(actor, registered, definition.document):
                return engine, definition
    return None
