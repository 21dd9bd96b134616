"""Defines `Context`, the object through which an engine works on a run. It gives access to the run's stream, the gate and the model.

What a node gave is stored before anything external follows from it. When the run is played again, a finished node gives what is stored.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.effect import Effect
from orchestrator.domain.errors import FileUnavailable, RunOver
from orchestrator.domain.outcome import Outcome, Pending
from orchestrator.domain.outputs import Reply, SentFile, build_reply
from orchestrator.domain.taint import UNDECLARED, Origin, Origins, Value
from orchestrator.engines.runs import (
    LARGEST_FILES,
    MEGABYTE,
    Ask,
    Heard,
    NodeState,
    RunContext,
    RunEffect,
    RunFailed,
    RunInfo,
    RunLimits,
    RunModelRequest,
    RunResult,
    RunSuspended,
    RunUpdate,
)
from orchestrator.gate.approve.duplicates import restore_outcome
from orchestrator.gate.call.kinds.registry import find_origin
from orchestrator.gate.call.kinds.telegram_methods import FILE
from orchestrator.gate.call.kinds.telegram_methods import KIND as TELEGRAM
from orchestrator.gate.call.run_schedules import ARG_ORIGINS, is_schedule
from orchestrator.gate.call.serialization import build_effect_id, build_node_slot
from orchestrator.runs.children import Children
from orchestrator.runs.drafts import Drafts
from orchestrator.runs.foreign_texts import ForeignTexts
from orchestrator.runs.limits import LimitedBudget
from orchestrator.runs.memo import ACCEPTED, Memo, copy_data, format_args, load_output
from orchestrator.runs.model_nodes import ask_model_once
from orchestrator.runs.nodes import MAX_DETAIL, EngineMistake, NodeNames, check_ask, check_reply, check_value, plays_node
from orchestrator.runs.provenance import build_provenance, list_arg_origins
from orchestrator.runs.questions import build_answer, build_question_row, close_question, mark_choice, open_question
from orchestrator.runs.reminders import build_reminder_timer
from orchestrator.sessions import outbox
from orchestrator.sessions.audit import PlayedNode, describe_model_node
from orchestrator.sessions.paid_models import PaidModels, attach_models
from orchestrator.sessions.session import Session
from orchestrator.sessions.steps import SETTLED, build_play_row, move_to_blob
from orchestrator.sessions.turn_context import build_call_record
from orchestrator.turns.feature import Tools
from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.runs import NodeDone, RunWaits, RunWoken
from state.journal.blobs import get_blob_prefix, pack_file, unpack_file
from state.journal.store import InboxRow, OutboxRow, Timer
from state.journal.thread_worker import run_to_end
from state.stored import JsonObject

MAX_UNWRITTEN: Final = 4_000_000
"""How many characters of large values may wait in memory until they are stored."""
SLEEP: Final = "run_sleep"
TIMEOUT: Final = "run_timeout"
"""The kinds of the timers of a sleeping node, and of a question that nobody has answered in time."""


class Context(RunContext):
    """One run as its engine sees it; see `RunContext` for its methods."""

    def __init__(self, session: Session, row: InboxRow, tools: Tools, *, run: RunInfo, actor: Actor, mode: Mode, memo: Memo) -> None:
        """Set up the run. `row` is the input whose handling plays it, and `memo` holds what its nodes gave before."""
        self.run, self.actor, self.mode = run, actor, mode
        self.known = memo
        self.names = NodeNames(memo.done, memo.woken)
        self.records: list[PlayedNode] = []
        """What the nodes did in this process and is not in the audit log yet."""
        self._unwritten = 0
        """How many characters of large values were stored since the audit log was last written, for which the model's answers wait."""
        self.children = Children(self)
        self._session, self._row, self._tools = session, row, tools
        self._is_counted = True
        """Whether this attempt at the input still counts, because nothing new was stored in it."""
        self._flushing: asyncio.Task[None] | None = None
        self.foreign = ForeignTexts(run.definition.document, run.args.values())
        self.model_budget = LimitedBudget(tools.model_budget, memo.usage, lambda: tools.gate.policy.budget)
        """The budget of the run in front of that of its person."""
        self.drafts = Drafts(session.key, run.home, tools, locale=actor.locale)

    @property
    def session(self) -> Session:
        """The session of the run, through which its stream is written."""
        return self._session

    @property
    def tools(self) -> Tools:
        """The services of the program."""
        return self._tools

    @property
    def now(self) -> datetime:
        """The present time."""
        return self._session.now

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        """Return what is known of a node, or of a message with this key, before it is played now."""
        if (f"say/{node}" if is_message else node) in self.known.done or f"{node}/closed" in self.known.done:
            return "finished"
        return "waited" if node in self.known.woken or self.is_waiting(node) else "new"

    def count_failures(self, node: str) -> int:
        """Return how often the model gave no answer to this node."""
        return self.known.attempts.get(node, 0)

    def find_time(self, node: str) -> datetime:
        """Return when what a finished node gave was stored; of one that is not finished, the present time."""
        stored = self.known.done_at.get(node)
        return parse_iso(stored) if stored else self.now

    def is_before_retry(self, node: str) -> bool:
        """Return whether the node was played, or failed, before a person last had the run retried."""
        return node in self.known.before_retry or f"{node}/closed" in self.known.before_retry

    def limit(self, limits: RunLimits) -> None:
        """Hold the models that the run asks from here on to these limits."""
        self.model_budget.limits = limits

    async def say(self, reply: Reply, *, key: str) -> None:
        """Send a message to the run's chat, once for each `key`.

        It leaves with what is stored next, at the latest a moment later: until then a crash loses the message and the node together, so
        the next pass says it. Messages in a row share a transaction.
        """
        self.names.add_message(key)
        node = f"say/{key}"
        if node in self.known.done:
            return
        self.check_going_on(node)
        check_reply(key, reply)
        cleaned = self._tools.guard.clean_reply(reply, "", locale=self.actor.locale)
        row = outbox.build_reply_row(self._session.key, cleaned, self.now, key=f"{self._session.key}:{key}")
        await self.store(NodeDone(node=node, kind="say"), outbox=[row], at_once=False)
        self.records.append(PlayedNode(node=node, what="say"))

    async def say_file(self, file: SentFile, load: Callable[[], Awaitable[bytes]], *, key: str) -> None:
        """Send a photo or document to the run's chat now, once for each `key`. Its content becomes a blob of the run."""
        self.names.add_message(key)
        node = f"say/{key}"
        if node in self.known.done:
            return
        self.check_going_on(node)
        content = await load()
        most = LARGEST_FILES[file.kind]
        if not 0 < len(content) <= most:
            raise RunFailed("run-file-size", f"{file.name} has {len(content)} bytes", name=file.name, most=most // MEGABYTE)
        digest, text = await asyncio.to_thread(pack_file, self._session.key, content)
        del content
        caption = self._tools.guard.clean_reply(build_reply(text=file.caption), "", locale=self.actor.locale).text
        sent = file.model_copy(update={"digest": digest, "caption": caption})
        row = outbox.build_sent_file_row(self._session.key, sent, self.now, key=f"{self._session.key}:{key}")
        await self.store(NodeDone(node=node, kind="say", output_blob=digest), outbox=[row], blobs={digest: text})
        self.records.append(PlayedNode(node=node, what="say"))

    @plays_node("memo")
    async def keep_file(self, node: str, load: Callable[[], Awaitable[bytes | None]], *, origins: Origins = UNDECLARED) -> Value:
        """Return {digest, size} of the content that `load` gives, or {problem, why, args}; it is called once for each node."""
        if (done := self.known.done.get(node)) is None:
            self.check_going_on(node)
            content, problem = await _load_content(load)
            blobs: dict[str, str] = {}
            digest = ""
            if content is not None:
                digest, blobs[digest] = await asyncio.to_thread(pack_file, self._session.key, content)
            output = problem or ({"digest": digest, "size": len(content)} if content is not None else {"planned": True})
            done = NodeDone(
                node=node,
                attempt=self.known.count_attempt(node),
                output=output,
                output_blob=digest,
                origins=sorted(origins),
                refused=bool(problem),
            )
            await self.store(done, blobs=blobs)
            self.records.append(PlayedNode(node=node, what="memo"))
        return await self._recall(done)

    async def show(self, update: RunUpdate, *, node: str) -> None:
        """Show a draft in the run's chat, and a picture or its change to clients that watch the run. Both may be dropped."""
        for told in (update.snapshot, update.patch):
            if told is not None:
                check_value(node, told)
        await self.drafts.show(update)

    @plays_node("model")
    async def ask_model(self, node: str, request: RunModelRequest, on_delta: Callable[[str], Awaitable[None]] | None = None) -> Value:
        """Return the answer of the language model, which is asked once for each node."""
        if (done := self.known.done.get(node)) is not None:
            return await self._recall(done)
        self.check_going_on(node)
        value = await ask_model_once(self, node, request, on_delta)
        self.foreign.add(value)
        return value

    async def _recall(self, done: NodeDone) -> Value:
        return self._take_in(await load_output(done, self._tools.store))

    def _take_in(self, value: Value) -> Value:
        """Return the value that a node gives, after remembering what strangers may have written in it."""
        self.foreign.add(value)
        return value

    @plays_node("memo")
    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        """Return what `make` gives, with these origins; it is called once for each node."""
        if (done := self.known.done.get(node)) is not None:
            return await self._recall(done)
        self.check_going_on(node)
        with attach_models(self._build_paid_models(node)):
            data = await make()
        check_value(node, data)
        origins = self.foreign.find_origins(data, origins)
        await self.store(NodeDone(node=node, attempt=self.known.count_attempt(node), output=data, origins=sorted(origins)), at_once=False)
        self.records.append(PlayedNode(node=node, what="memo"))
        return self._take_in(Value(copy_data(data), origins))

    @plays_node("effect")
    async def submit(self, node: str, effect: RunEffect) -> Outcome:
        """Submit an effect to the gate and return its outcome, once it is known."""
        if (done := self.known.done.get(node)) is not None:
            return Outcome.model_validate((await self._recall(done)).data)
        self.check_going_on(node)
        attempt = self.known.count_attempt(node)
        wanted = self._build_effect(node, effect, attempt)
        check_value(node, wanted.params)
        await self._session.flush()
        with attach_models(self._build_paid_models(node)):
            result = await run_to_end(self._submit(wanted))
        if isinstance(result, Pending) or result.status == "unknown":
            await self._wait_for_effect(node, wanted, result)
            raise RunSuspended(node)
        if not effect.is_trial or result.status == "refused":
            self.records.append(PlayedNode(node=node, what="effect", call=build_call_record(wanted, result)))
        is_told = result.status == "planned" and not effect.is_trial  # a plan is told at the end
        output = result.model_dump(mode="json", exclude=None if is_told else {"preview"})
        await self.store(
            NodeDone(
                node=node,
                kind="effect",
                attempt=attempt,
                output=output,
                origins=_name_origins(result),
                refused=result.status == "refused" and not result.already,
            )
        )
        self.foreign.add(Value(output, frozenset(_name_origins(result))))
        return result

    async def accept_refusal(self, node: str) -> None:
        """Store that the run goes on after the refusal at this node."""
        accepted = f"{node}/{ACCEPTED}"
        if accepted not in self.known.done:
            self.check_going_on(accepted)
            await self.store(NodeDone(node=accepted), at_once=False)

    def _build_paid_models(self, node: str) -> PaidModels:
        """Return the models that services in this process ask for this node, at the cost of the run's person."""

        def tell(done: NodeDone) -> None:
            self.records.append(describe_model_node(done, ""))

        return PaidModels(
            models=self._tools.model,
            budget=self.model_budget,
            session=self._session,
            actor=self.actor,
            owner=self.run.owner,
            node=f"{node}#service",
            kind="model",
            tell=tell,
        )

    def _build_effect(self, node: str, effect: RunEffect, attempt: int) -> Effect:
        params, provenance = build_provenance(effect.params, self.foreign)
        if self.actor.for_customers:  # a customer's words started it, so a person of the company decides every change
            provenance = provenance.model_copy(update={"prose": True})
        if is_schedule(effect.kind, effect.method):
            params = {**params, ARG_ORIGINS: list_arg_origins(effect.params.get("args"), self.foreign)}
        if effect.kind == TELEGRAM and isinstance(file := params.get(FILE), Mapping):  # so that no run sends what another one keeps
            if not file.get("digest") and self.mode != "shadow":
                raise RunFailed("run-file-gone", f"node {node} sends a file that was not fetched")
            params = {**params, FILE: {**file, "run": self._session.key}}
        return Effect(
            kind=effect.kind,
            method=effect.method,
            params=params,
            comment=effect.comment,
            proposed_by=self._session.state.run.engine if self._session.state.run else "",
            provenance=provenance,
            requires_confirmation=effect.requires_confirmation,
            must_read=effect.must_read,
            is_trial=effect.is_trial,
            is_computed=effect.is_computed,
            came_back=self.known.came_back,
            slot=build_node_slot(self._session.key, node, attempt),
        )

    async def _submit(self, effect: Effect) -> Outcome | Pending:
        """Submit the effect. If a newer card has replaced that of the effect, the result is that of the newer card."""
        gate, session = self._tools.gate, self._session
        effect_id = build_effect_id(effect.slot)
        while (row := await session.find_effect(effect_id)) is not None and row.status == "superseded":
            effect_id = build_effect_id(f"{effect_id}/again")
        if row is not None:
            return restore_outcome(row)
        return await gate.submit(effect, actor=self.actor, mode=self.mode, turn_id=session.key, ledger=session)

    async def _wait_for_effect(self, node: str, effect: Effect, result: Outcome | Pending) -> None:
        """Store that the node waits, and show the card or say that the outcome is unknown."""
        wait = self._session.state.run.waits.get(node) if self._session.state.run else None
        if wait is None or wait.waits_for != result.effect_id:
            rows: list[OutboxRow] = []
            card = self._session.state.cards.get(result.confirmation_id) if isinstance(result, Pending) else None
            if card is not None:
                rows.append(outbox.build_card_row(self._session.key, card, self.now))
            notice = result.notice if isinstance(result, Pending) else result.reason
            if notice is not None:
                rows.append(outbox.build_reply_row(self._session.key, build_reply(notice), self.now, key=f"{result.effect_id}:waits"))
            self.records.append(PlayedNode(node=node, what="effect", call=build_call_record(effect, result)))
            await self.wait_for_effect(node, result.effect_id, outbox=rows)

    async def wait_for_effect(self, node: str, effect_id: str, *, outbox: Sequence[OutboxRow] = ()) -> None:
        """Store that the node waits until the effect (proposed call) is settled.

        An effect that somebody has settled since it was looked at wakes the node at once: whoever settled it saw nothing waiting for it.
        """
        session = self._session
        remind = build_reminder_timer(session.key, node, effect_id, self.now)
        await self.store(RunWaits(node=node, on="effect", waits_for=effect_id), outbox=outbox, timers=[remind])
        row = await session.find_effect(effect_id)
        if row is not None and row.status in SETTLED and session.state.run is not None and node in session.state.run.waits:
            play = [build_play_row(session.key, self.now)]
            await session.commit(RunWoken(node=node, by=row.status), actor=self.run.owner, inbox_new=play)

    def is_waiting(self, node: str) -> bool:
        """Return whether the node waits already.

        What it waited for when the memo was read may have come since. It must not wait for that again: the memo does not hold what has
        come, but the run is played once more because of it.
        """
        run = self._session.state.run
        return node in self.known.waited or (run is not None and node in run.waits)

    @plays_node("input")
    async def wait_input(self, node: str, ask: Ask) -> Heard:
        """Ask a person in the run's chat and return the answer, once it is given."""
        check_ask(node, ask)
        woken = self.known.woken.get(node)
        if woken is not None:
            heard = mark_choice(build_answer(woken, ask), ask, self.foreign)
            self.foreign.add(heard.value)
            if (closing := f"{node}/closed") not in self.known.done:
                self.check_going_on(closing)
                shown = self._tools.guard.clean_reply(close_question(ask, heard), "", locale=self.actor.locale)
                told = outbox.build_reply_row(self._session.key, shown, self.now, key=f"{self._session.key}:{node}")
                await self.store(NodeDone(node=closing, kind="input"), outbox=[told])
                self.records.append(PlayedNode(node=node, what="input", text=heard.kind))
            return heard
        self.check_going_on(node)
        if not self.is_waiting(node):
            question = open_question(self._session.key, node, ask, owner=self.run.owner, now=self.now)
            shown = self._tools.guard.clean_reply(question.reply, "", locale=self.actor.locale)
            told = outbox.build_reply_row(self._session.key, shown, self.now, key=f"{self._session.key}:{node}")
            listen = [build_question_row(self._session.key, self.run.home, question, now=self.now)] if ask.takes else []
            remind = build_reminder_timer(self._session.key, node, question.question_id, self.now)
            timers = [*self._build_timers(node, TIMEOUT, question.until), remind]
            await self.store(question.event, outbox=[told], timers=timers, inbox_new=listen)
        raise RunSuspended(node)

    async def load_file(self, sent: Value) -> Value:
        """Return the content of a photo or document that a person sent to this run."""
        digest = str(sent.data.get("digest", "")) if isinstance(sent.data, Mapping) else ""
        text = await self._tools.store.load_blob(digest)
        if text is None or not text.startswith(get_blob_prefix(self._session.key)):  # a digest of the engine's own making opens nothing
            raise RunFailed("run-file-gone", f"the file {digest} is gone")
        return self._take_in(Value(await asyncio.to_thread(unpack_file, text), sent.origins))

    @plays_node("timer")
    async def sleep(self, node: str, until: datetime) -> None:
        """Wait until this moment."""
        if until.tzinfo is None:
            raise EngineMistake(f"node {node!r} sleeps until {until}, a time without a zone")
        if node in self.known.woken:
            return
        self.check_going_on(node)
        if not self.is_waiting(node):
            waits = RunWaits(node=node, on="timer", until=format_iso(until))
            await self.store(waits, timers=self._build_timers(node, SLEEP, until))
        raise RunSuspended(node)

    def _build_timers(self, node: str, kind: str, until: datetime | None) -> list[Timer]:
        if until is None:
            return []
        key = self._session.key
        return [Timer(id=f"{key}/{node}", due_at=until, session=key, kind=kind, body={"node": node})]

    @plays_node("run")
    async def child(self, node: str, engine: str, definition: str, args: Mapping[str, Value]) -> RunResult:
        """Start another run or a turn, wait for its end and return its result."""
        args = {name: self.foreign.mark(one) for name, one in args.items()}
        check_value(node, format_args(args))
        result = await self.children.run_child(node, engine, definition, args)
        self.foreign.add(result.value)
        self.foreign.add(result.reasons.to_value())
        return result

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
        """Store an event of the run, with the blobs that it speaks of, and remember what it says.

        With `at_once` it is durable when this returns; other events are stored with the next ones, before too many wait in memory. Events
        that several nodes store at the same time share a transaction. The first event that is stored shows that this attempt at the input
        makes progress, so the attempt is not counted any more. Raises RunSuspended if the run has ended meanwhile.
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
        """Write to the audit log what the nodes did since the last call."""
        run, nodes = self._session.state.run, self.records
        if run is not None and nodes:
            self.records = []
            told = {"run": self._session.key, "engine": run.engine, "definition": run.definition, "home": run.home}
            await self._tools.audit.record_nodes(nodes, actor=self.actor, mode=self.mode, **told)

    async def _flush_together(self) -> None:
        """Make durable what was buffered so far. Nodes that ask for it at the same time share one transaction."""
        if self._flushing is None:
            self._flushing = asyncio.ensure_future(self._flush_soon())
        await asyncio.shield(self._flushing)

    async def _flush_soon(self) -> None:
        await asyncio.sleep(0)  # nodes that are ready now add their events to the same transaction
        self._flushing = None
        await self._session.flush()

    def check_going_on(self, node: str) -> None:
        """Raise RunSuspended if a person has paused or cancelled the run, RunFailed if its owner has lost access while it was played."""
        run = self._session.state.run
        if run is not None and (run.is_over or run.status == "paused"):
            raise RunSuspended(node)
        if self._tools.refresh_actor(self.actor) is None:
            raise RunFailed("run-owner-gone", f"{self.run.owner} has no access any more")


async def _load_content(load: Callable[[], Awaitable[bytes | None]]) -> tuple[bytes | None, JsonObject]:
    """Return (content, {}) or, if there is none to be had, (None, why not)."""
    try:
        return await load(), {}
    except FileUnavailable as error:
        return None, {"problem": error.reason[:MAX_DETAIL], "why": error.why, "args": dict(error.args_of_sentence)}


def _name_origins(result: Outcome) -> list[Origin]:
    """Return the origins of an outcome: its titles are labels, and a read may bring text that anybody wrote."""
    if not (result.foreign_text or result.call_class == "R"):
        return ["label"]
    return [find_origin(result.method) or "prose"]
