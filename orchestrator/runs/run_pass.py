import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.errors import RunOver
from orchestrator.domain.outputs import Notice
from orchestrator.engines.runs import Ask, Heard, RunFailed, RunInfo, RunSuspended, RunUpdate
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runs.limits import LimitedBudget
from orchestrator.runs.memo import Memo
from orchestrator.runs.nodes import NodeNames, check_ask, plays_node
from orchestrator.runs.questions import build_answer, build_question_row, close_question, mark_choice, name_message, open_question
from orchestrator.runs.reminders import build_reminder_timer
from orchestrator.sessions import outbox
from orchestrator.sessions.audit import PlayedNode
from orchestrator.sessions.session import Session
from orchestrator.sessions.steps import SETTLED, build_play_row, move_to_blob
from orchestrator.turns.feature import Tools
from state.clock import format_iso
from state.events.base import Event
from state.events.runs import NodeDone, RunWaits, RunWoken
from state.journal.store import InboxRow, OutboxRow, Timer

log = logging.getLogger(__name__)


class Drafts:
    """Of one run; a chat shows one draft at a time."""

    def __init__(self, key: str, home: str, tools: Tools, *, locale: str) -> None:
        """`locale` is for words that the program puts in."""
        self._key, self._home, self._tools, self._locale = key, home, tools, locale
        self._is_shown = False
        self._streamed = ""
        """The node whose model answer is the draft; "" for none."""

    async def show(self, update: RunUpdate) -> None:
        progress = self._tools.progress
        for picture, put in ((update.snapshot, progress.show_snapshot), (update.patch, progress.show_patch)):
            if picture is not None and not put(self._key, self._tools.guard.clean_data(picture, locale=self._locale)):
                log.warning("a picture of a run was too large", extra={"action": "run_picture_dropped", "run": self._key})
        if update.text:
            await self.show_text(update.text)

    async def show_text(self, content: str | Notice) -> None:
        """Stays as the draft until `end`."""
        wire = content if isinstance(content, str) else content.model_dump(mode="json")
        self._is_shown = True
        await self._tools.show_partial(self._home, Notice(code="run-shows", args={"run": self._key, "said": wire}))

    async def end(self) -> None:
        if self._is_shown:
            self._is_shown = False
            await self._tools.show_partial(self._home, Notice(code="run-shown", args={"run": self._key}))

    def build_streamer(self, node: str) -> "Streamer":
        """Of several nodes one is shown at a time."""
        return Streamer(self, node)

    async def show_answer(self, node: str, beginning: str) -> None:
        """Unless another node's answer is shown."""
        if self._streamed in {"", node}:
            self._streamed = node
            self._tools.progress.show_draft(self._key, node, beginning)
            await self.show_text(beginning)

    async def end_stream(self, node: str) -> None:
        if self._streamed == node:
            self._streamed = ""
            self._tools.progress.show_draft(self._key, node, "")
            await self.end()


class Streamer:
    def __init__(self, drafts: Drafts, node: str) -> None:
        self._drafts, self._node = drafts, node
        self._shown = ""

    async def show_delta(self, delta: str) -> None:
        self._shown += delta
        await self._drafts.show_answer(self._node, self._shown)

    async def begin_anew(self) -> None:
        """Another model begins the answer; the next piece replaces what is shown."""
        self._shown = ""


MAX_UNWRITTEN: Final = 4_000_000
"""Characters of large values that may wait in memory."""
SLEEP: Final = "run_sleep"
TIMEOUT: Final = "run_timeout"
"""Timers of a sleeping node, and of a question not answered in time."""


class RunPass:
    """One pass through a run: its stream, its services, and what is known of its nodes."""

    def __init__(self, session: Session, row: InboxRow, tools: Tools, *, run: RunInfo, actor: Actor, mode: Mode, memo: Memo) -> None:
        """`row` is the input that plays the run; `memo` holds what its nodes gave before."""
        self.run, self.actor, self.mode = run, actor, mode
        self.known = memo
        self.names = NodeNames(memo.done, memo.woken)
        self.records: list[PlayedNode] = []
        """Not in the audit log yet."""
        self._unwritten = 0
        """Characters stored since the audit log was last written."""
        self._session, self._row, self._tools = session, row, tools
        self._is_counted = True
        """Nothing new was stored in this attempt yet, so it counts."""
        self._flushing: asyncio.Task[None] | None = None
        self.foreign = ForeignTexts(run.definition.document, run.args.values())
        self.model_budget = LimitedBudget(tools.model_budget, memo.usage, lambda: tools.gate.policy.budget)
        """In front of the person's budget."""
        self.drafts = Drafts(session.key, run.home, tools, locale=actor.locale)

    @property
    def session(self) -> Session:
        return self._session

    @property
    def tools(self) -> Tools:
        return self._tools

    @property
    def now(self) -> datetime:
        return self._session.now

    def is_waiting(self, node: str) -> bool:
        """Also if what it waited for has come since the memo was read: it must not wait again."""
        run = self._session.state.run
        return node in self.known.waited or (run is not None and node in run.waits)

    @plays_node("input")
    async def wait_input(self, node: str, ask: Ask) -> Heard:
        check_ask(node, ask)
        woken = self.known.woken.get(node)
        if woken is not None:
            heard = mark_choice(build_answer(woken, ask), ask, self.foreign)
            self.foreign.add(heard.value)
            if (closing := f"{node}/closed") not in self.known.done:
                self.check_going_on(closing)
                reply = self._tools.guard.clean_reply(close_question(ask, heard), "", locale=self.actor.locale)
                reply_row = outbox.build_reply_row(self._session.key, reply, self.now, key=self._name_message(node))
                await self.store(NodeDone(node=closing, kind="input"), outbox=[reply_row])
                self.records.append(PlayedNode(node=node, what="input", text=heard.kind))
            return heard
        self.check_going_on(node)
        if not self.is_waiting(node):
            question = open_question(self._session.key, node, ask, owner=self.run.owner, home=self.run.home, now=self.now)
            reply = self._tools.guard.clean_reply(question.reply, "", locale=self.actor.locale)
            reply_row = outbox.build_reply_row(self._session.key, reply, self.now, key=self._name_message(node))
            listen = [build_question_row(self._session.key, self.run.home, question, now=self.now)] if ask.takes else []
            remind = build_reminder_timer(self._session.key, node, question.question_id, self.now)
            timers = [*self.build_timers(node, TIMEOUT, question.until), remind]
            await self.store(question.event, outbox=[reply_row], timers=timers, inbox_new=listen)
        raise RunSuspended(node)

    def _name_message(self, node: str) -> str:
        return name_message(self._session.key, node, self.known.shown.get(node, 0))

    def build_timers(self, node: str, kind: str, until: datetime | None) -> list[Timer]:
        if until is None:
            return []
        key = self._session.key
        return [Timer(id=f"{key}/{node}", due_at=until, session=key, kind=kind, body={"node": node})]

    async def wait_for_effect(self, node: str, effect_id: str, *, outbox: Sequence[OutboxRow] = ()) -> None:
        """An effect settled meanwhile wakes the node at once: whoever settled it saw nothing waiting."""
        session = self._session
        remind = build_reminder_timer(session.key, node, effect_id, self.now)
        await self.store(RunWaits(node=node, on="effect", waits_for=effect_id), outbox=outbox, timers=[remind])
        row = await session.find_effect(effect_id)
        if row is not None and row.status in SETTLED and session.state.run is not None and node in session.state.run.waits:
            play = [build_play_row(session.key, self.now)]
            await session.commit(RunWoken(node=node, by=row.status), actor=self.run.owner, inbox_new=play)

    async def store(
        self,
        event: Event,
        *,
        at_once: bool = True,
        outbox: Sequence[OutboxRow] = (),
        timers: Sequence[Timer] = (),
        inbox_new: Sequence[InboxRow] = (),
        blobs: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """With `at_once` durable on return, otherwise with the next event, before too many wait.

        Concurrent events share a transaction. The first one shows progress: the attempt counts no more. Raises RunSuspended if the run is
        over.
        """
        session = self._session
        blobs = dict(blobs)
        event = move_to_blob(event, session.key, blobs)  # the memo, too, keeps no large values in memory
        self._unwritten += sum(map(len, blobs.values()))
        much = self._unwritten > MAX_UNWRITTEN
        try:
            if self._is_counted or inbox_new:
                self._is_counted = False
                new = [replace(self._row, attempts=0), *inbox_new]
                await session.commit(event, actor=self.run.owner, outbox=outbox, timers=timers, inbox_new=new, blobs=blobs)
            else:
                await session.buffer(event, actor=self.run.owner, outbox=outbox, timers=timers, blobs=blobs)
                if at_once or much or session.is_full:
                    await self._flush_together()
        except RunOver as error:
            raise RunSuspended(event.__dict__.get("node", "")) from error
        if isinstance(event, NodeDone):
            self.known.done[event.node] = event
            self.known.done_at[event.node] = format_iso(self.now)
        else:
            self.known.add(type(event).__name__, event.__dict__)
        if much:
            self._unwritten = 0
            await self.record_audit()

    async def record_audit(self) -> None:
        run, nodes = self._session.state.run, self.records
        if run is not None and nodes:
            self.records = []
            run_args = {"run": self._session.key, "engine": run.engine, "definition": run.definition, "home": run.home}
            await self._tools.audit.record_nodes(nodes, actor=self.actor, mode=self.mode, **run_args)

    async def _flush_together(self) -> None:
        """Concurrent callers share one transaction."""
        if self._flushing is None:
            self._flushing = asyncio.ensure_future(self._flush_soon())
        await asyncio.shield(self._flushing)

    async def _flush_soon(self) -> None:
        await asyncio.sleep(0)  # nodes that are ready now add their events to the same transaction
        self._flushing = None
        await self._session.flush()

    def check_going_on(self, node: str) -> None:
        """Raises RunSuspended if the run is paused or over, RunFailed if its owner has lost access."""
        run = self._session.state.run
        if run is not None and (run.is_over or run.status == "paused"):
            raise RunSuspended(node)
        if self._tools.refresh_actor(self.actor) is None:
            raise RunFailed("run-owner-gone", f"{self.run.owner} has no access any more")
