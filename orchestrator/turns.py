"""One turn: record the input, run the engine, record the end, answer. Read this first. Ring 2.

A turn is an inbox row of lane "turn". Everything it says goes out with the commit that ends it, so an answer and its events stand or fall
together. A turn that died is run again from its top: recorded model answers and effect slots keep it from doing anything twice.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from orchestrator import outgoing
from orchestrator.added_lines import with_limits_told, with_made
from orchestrator.asked import dropped, unwanted
from orchestrator.audit import Audit
from orchestrator.context import UNLIMITED, Context, Model, Purse, Query, Reach, Recorded
from orchestrator.engines.base import Engine, TurnEnd, TurnInput
from orchestrator.errors import ModelClientError, OverBudget
from orchestrator.gate import undoing
from orchestrator.gate.gate import Gate
from orchestrator.gate.modes import effective
from orchestrator.messages import Actor, Mode, Notice, say
from orchestrator.offering import offered
from orchestrator.session import Session
from orchestrator.turn_ends import closed, cut_short, with_changes
from state.events import Event, MessageReceived, TurnFinished
from state.store import InboxRow, OutboxRow, StoreError
from state.worker import AsyncStore

log = logging.getLogger(__name__)

MAX_TURNS = 512
"""A bound for the memory, far above the people of one company: somebody whose model is silent must not hold up anybody else."""

Present = Callable[[Actor], Actor | None]
Handler = Callable[[InboxRow, Session, "Tools"], Awaitable[None]]
"""Works one input to its end: it commits what came of it together with the input being done. Raises StoreError."""
Receive = Callable[[Sequence[InboxRow]], Awaitable[object]]
"""Stores inputs durably."""
Round = Callable[[Receive, datetime], Awaitable[None]]
"""Looks whether something has become due that no timer knows of yet, and hands in inputs; may raise StoreError."""
Partial = Callable[[str, Any], Awaitable[None]]
"""(session, the visible text so far or a notice of how far it is) → shown as a draft; may be dropped."""


@dataclass(frozen=True, kw_only=True)
class Handlers:
    """What a feature does with its own inputs, by their kind: bootstrap puts the features together here and nowhere else."""

    inbox: Mapping[str, Handler] = field(default_factory=dict)
    timers: Mapping[str, Handler] = field(default_factory=dict)
    commands: Mapping[str, Handler] = field(default_factory=dict)
    """Typed commands, by the name after the slash."""
    presses: Mapping[str, Handler] = field(default_factory=dict)
    """Buttons, by the first of the words that they carry."""


def together(*features: Handlers) -> Handlers:
    """All of them; ValueError where two want the same inputs."""
    return Handlers(
        inbox=_merged("inputs", [one.inbox for one in features]),
        timers=_merged("timers", [one.timers for one in features]),
        commands=_merged("commands", [one.commands for one in features]),
        presses=_merged("presses", [one.presses for one in features]),
    )


def _merged(name: str, tables: Sequence[Mapping[str, Handler]]) -> dict[str, Handler]:
    merged: dict[str, Handler] = {}
    for table in tables:
        if twice := merged.keys() & table.keys():
            raise ValueError(f"two features want the same {name}: {', '.join(sorted(twice))}")
        merged |= table
    return merged


class Stoppable(Protocol):
    """Something that a person may stop."""

    @property
    def actor(self) -> Actor:
        """Whoever asked for it."""
        ...

    def stop(self) -> None:
        """End it soon; a call on its way is heard to its end."""
        ...


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What turns and decisions work with; made once by bootstrap."""

    store: AsyncStore
    gate: Gate
    model: Model
    engines: Mapping[str, Engine]
    queries: Mapping[str, Query]
    audit: Audit
    mode: Mode
    partial: Partial
    hosts: frozenset[str]
    """Where addresses in answers may lead: the portal and what the policy lists."""
    present: Present
    """The rights that somebody has now, None for those who have none any more."""
    purse: Purse = UNLIMITED
    handlers: Handlers = Handlers()
    rounds: Sequence[Round] = ()
    """Made every twenty seconds, one after the other."""
    watches: Sequence[Round] = ()
    """The same every three: what somebody who has just saved a file waits for."""
    running: dict[str, Stoppable] = field(default_factory=dict)
    """What each session is at, a turn or a recording that is being heard, for /stop."""
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_TURNS))
    """So many turns run at once, however their words came in."""


async def run_turn(row: InboxRow, session: Session, tools: Tools) -> None:
    """Work one input to its end; raises StoreError when the journal cannot be written (then nothing more was done)."""
    async with tools.turns:
        left_out = dropped(row, session)  # whoever said /stop while it waited for its place does not want it any more
        if left_out is not None:
            await session.commit(left_out, actor=left_out.by, inbox_done=[row.id])
            return
        await _run(row, session, tools)


@dataclass
class _Begun:
    """A turn whose engine does not run yet, for a /stop that comes so early."""

    actor: Actor
    stopped: bool = False

    def stop(self) -> None:
        """It ends as soon as it has begun."""
        self.stopped = True


async def _run(row: InboxRow, session: Session, tools: Tools) -> None:
    tools.running[session.key] = _Begun(actor=Actor.model_validate(row.actor), stopped=unwanted(row, session))
    try:
        await _worked(row, session, tools)
    finally:
        tools.running.pop(session.key, None)


async def _worked(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admitted(row, session, tools)
    if actor is None:
        return
    turn = _input(row, session)
    if turn is None:
        outdated = Notice(code="choice-outdated")
        told = _pressed(row, session, outdated) or [outgoing.reply_row(session.key, say(outdated), session.now)]
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    if not await _may_answer(turn, actor, session, tools):
        told = _pressed(row, session, Notice(code="choice-not-yours"))
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    recorded = await _begin(turn, actor, session, tools, toasts=_pressed(row, session, Notice(code="toast-doing")))
    await tools.partial(session.key, Notice(code="turn-begun", args={"turn": turn.turn_id}))
    context = Context(
        session,
        turn,
        actor=actor,
        mode=effective(tools.mode, actor),
        reach=Reach(
            gate=tools.gate,
            model=tools.model,
            queries=tools.queries,
            partial=lambda text: tools.partial(session.key, text),
            purse=tools.purse,
        ),
        recorded=recorded,
    )
    end = await _work(tools.engines[row.body.get("engine", "crm_agent")], context, tools, session)
    end = replace(end, reply=offered(closed(end.reply, turn, actor, tools.hosts), turn))
    means = tools.gate.means
    end = replace(end, reply=await with_made(with_limits_told(end.reply, context, means.catalogue), context, means.names))
    undo = await undoing.offered(context.results, session, policy=means.policy, catalogue=means.catalogue)
    end = replace(end, reply=end.reply.model_copy(update={"undo": undo}))
    await tools.partial(session.key, Notice(code="turn-over", args={"turn": turn.turn_id}))
    warned: list[Event] = []
    if (warning := await _warning(context, actor, session, tools)) is not None:
        end = replace(end, reply=end.reply.model_copy(update={"notices": (*end.reply.notices, warning[0])}))
        warned.append(warning[1])
    await _finish(end, turn, actor, session, row, told=warned)
    await _audit(context, actor, session, tools)


async def admitted(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """The sender with the rights they have now; an input of somebody who has lost access is closed with a sentence."""
    stored = Actor.model_validate(row.actor)
    actor = tools.present(stored)
    if actor is None:
        await session.commit(actor=stored.key, outbox=turned_away(row, session.key, session), inbox_done=[row.id])
    return actor


def turned_away(row: InboxRow, chat: str, session: Session) -> list[OutboxRow]:
    """What somebody without access reads there: of a press only they do, where others read along, and its button stops turning."""
    gone = Notice(code="no-access-any-more")
    callback = str(row.body.get("callback_id") or "")
    toast = [outgoing.toast_row(chat, callback, gone, session.now)] if callback else []
    alone = not callback or chat == row.actor.get("key")
    return [*toast, outgoing.reply_row(chat, say(gone), session.now)] if alone else toast


def _input(row: InboxRow, session: Session) -> TurnInput | None:
    """The turn's input; None when it answers a question that is no longer open."""
    body = row.body
    choice: Mapping[str, Any] = {}
    if body.get("answers"):
        question = session.state["question"]
        if not question or question["question_id"] != body["answers"] or not 0 <= body["option"] < len(question["options"]):
            return None
        option = question["options"][body["option"]]
        targets = [option["target"]] if option["target"] else []
        choice = {"question": question, "value": option["value"], "label": option["label"], "targets": targets}
    return TurnInput(
        turn_id=row.id,
        text=str(choice["question"]["text"]) if choice else body.get("text", ""),
        quoted=body.get("quoted", ""),
        origin=body.get("origin", "typed"),
        answers=body.get("answers", ""),
        ref=body.get("message_id", 0),
        choice=choice,
    )


async def _may_answer(turn: TurnInput, actor: Actor, session: Session, tools: Tools) -> bool:
    """Whether a choice is made by whoever was asked: in a group anybody can press, and it goes on with a request of theirs."""
    if not turn.answers or session.key == actor.key:
        return True
    await session.flush()
    events = await tools.store.read_events(session.stream, max(0, session.seq - 500))
    asked = next((item for item in reversed(events) if item.data.get("question_id") == turn.answers and item.type == "NameAsked"), None)
    return asked is None or asked.actor == actor.key


def _pressed(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """The answer to the press that the input is, where it was left to us."""
    callback = str(row.body.get("callback_id") or "")
    return [outgoing.toast_row(session.key, callback, notice, session.now)] if callback else []


async def _begin(turn: TurnInput, actor: Actor, session: Session, tools: Tools, *, toasts: Sequence[OutboxRow] = ()) -> Recorded:
    """Record the input once; what a dead process already recorded of the turn, when it is being resumed."""
    current = session.state["turn"]
    if current and current["turn_id"] == turn.turn_id:
        await session.flush()
        events = await tools.store.read_events(session.stream, max(0, session.seq - 500))
        mine = [item for item in events if item.data.get("turn_id") == turn.turn_id]
        if await _stop_waits(actor, session, tools):
            tools.running[session.key].stop()
        return Recorded(
            answers={item.data["iteration"]: item.data for item in mine if item.type == "ModelAnswered"},
            plans={item.data["iteration"]: item.data for item in mine if item.type == "PlanRecorded"},
            refused={item.data["slot"]: item.data for item in mine if item.type == "StepRefused"},
        )
    event = MessageReceived(
        turn_id=turn.turn_id,
        text="" if turn.answers else turn.text,
        origin="choice" if turn.answers else "voice" if turn.origin == "voice" else "typed",
        quoted=turn.quoted,
        answers=turn.answers,
        ref=turn.ref,
    )
    await session.note(event, actor=actor.key, outbox=[*_settled_question(turn, session), *toasts])
    return Recorded(fresh=True)


async def _stop_waits(actor: Actor, session: Session, tools: Tools) -> bool:
    """Whether a /stop came in while nobody worked: the lane that it is in may be behind this one."""
    waiting = await tools.store.waiting_inbox(session.key, "express")
    return any(row.kind == "command" and row.body.get("name") == "stop" and row.actor.get("key") == actor.key for row in waiting)


def _settled_question(turn: TurnInput, session: Session) -> list[OutboxRow]:
    """The question without its buttons and with the answer, in the same message."""
    if not turn.answers:
        return []
    question = turn.choice["question"]
    asked = Notice.model_validate(question["ask"])
    reply = say(asked, Notice(code="chosen", args={"label": turn.choice["label"]}))
    return [outgoing.reply_row(session.key, reply, session.now, key=f"turn:{question['turn_id']}")]


async def _work(engine: Engine, context: Context, tools: Tools, session: Session) -> TurnEnd:
    """The engine's end, or the end that its failure deserves; only a journal that cannot be written goes further up."""
    task = asyncio.ensure_future(engine.run(context))
    context.on_stop(task.cancel)
    early = tools.running.get(session.key)
    tools.running[session.key] = context
    if isinstance(early, _Begun) and early.stopped:
        context.stop()
    try:
        return await with_changes(await task, context)
    except ModelClientError as error:
        log.warning("turn degraded: %s", error.reason, extra={"action": "turn_degraded"})
        return await cut_short("degraded", context, Notice(code="degraded"), partly=Notice(code="degraded-partly"))
    except OverBudget as error:
        return await cut_short("budget", context, Notice(code=error.reason))
    except asyncio.CancelledError:
        if not context.stopped:
            task.cancel()  # the program stops: a call on its way is heard to its end, the rest waits for the restart
            with contextlib.suppress(asyncio.CancelledError):
                await task
            raise
        return await cut_short("stopped", context, Notice(code="stopped"))
    except StoreError:
        raise
    except Exception:
        turn_id = context.turn.turn_id
        log.exception("turn failed", extra={"action": "turn_failed", "turn_id": turn_id})
        await tools.audit.trouble(actor=context.actor, session=session.key, turn_id=turn_id, what="turn failed, see the log")
        return await cut_short("failed", context, Notice(code="failed", args={"id": turn_id[-8:]}))
    finally:
        tools.running.pop(session.key, None)


async def _warning(context: Context, actor: Actor, session: Session, tools: Tools) -> tuple[Notice, Event] | None:
    """That most of the month's budget is used, where this turn has used some of it. Its answers are counted once they are stored."""
    if not context.iterations or await tools.purse.used(actor, session.now) is None:
        return None
    await session.flush()
    return await tools.purse.warning(actor, session.now)


async def _finish(end: TurnEnd, turn: TurnInput, actor: Actor, session: Session, row: InboxRow, *, told: Sequence[Event] = ()) -> None:
    """One commit: the end, the answer, the cards, and the input done."""
    event = TurnFinished(
        turn_id=turn.turn_id,
        reason=end.reason,
        text=end.reply.text,
        history=end.history,
        next_planned_actions=[dict(item) for item in end.next_planned_actions],
        targets=sorted(end.targets)[:50],
    )
    now = session.now
    rows: list[OutboxRow] = [outgoing.reply_row(session.key, end.reply, now, key=f"turn:{turn.turn_id}")]
    entries = session.state["agent"]["confirmations"]
    shown = dict.fromkeys([*_withdrawn(session), *end.reply.confirmations])
    rows.extend(outgoing.card_row(session.key, entries[item], now) for item in shown if item in entries)
    await session.commit(*told, event, actor=actor.key, outbox=rows, inbox_done=[row.id])


def _withdrawn(session: Session) -> list[str]:
    """Cards that the model took back in this turn: their buttons must go."""
    begun = (session.state["turn"] or {}).get("started", "")
    entries = session.state["agent"]["confirmations"].values()
    denied = (entry for entry in entries if entry["status"] == "denied" and entry.get("via") == "model" and "nonce" in entry)
    return [entry["confirmation_id"] for entry in denied if entry["denied_at"] >= begun]


async def _audit(context: Context, actor: Actor, session: Session, tools: Tools) -> None:
    for entry in context.iterations:
        await tools.audit.iteration(
            entry,
            actor=actor,
            session=session.key,
            turn_id=context.turn.turn_id,
            text=context.turn.text,
            mode=context.mode,
            state=session.state["agent"],
        )
