"""Runs one turn: records the message, runs the engine, stores end and answer. Start reading the code here.

The last commit has all messages of the turn. After a crash it runs again with its recorded answers, and effects have ids made of their
slots, so nothing is done twice.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from bitrix.limits.askers import ask_for, find_asker
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import ModelClientError, OverBudget
from orchestrator.domain.inputs import (
    ChoiceMade,
    Click,
    Command,
    Input,
    ParsedInput,
    TextMessage,
    TurnGoesOn,
    parse_neighbour,
)
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.engines.base import ChosenOption, Engine, TurnEnd, TurnInput
from orchestrator.engines.runs import find_cause
from orchestrator.gate.call.modes import resolve_mode
from orchestrator.language.text import split_foreign_text
from orchestrator.replies.turn_outcome import add_change_notices, build_early_end, name_rest
from orchestrator.sessions import outbox
from orchestrator.sessions.input_filter import build_dropped_event, is_cancelled
from orchestrator.sessions.paused_turns import (
    RestoredTurn,
    build_restored_turn,
    is_from_backup,
    read_turn_events,
    restore_turn,
)
from orchestrator.sessions.recorded_turn import RecordedTurn, list_waiting
from orchestrator.sessions.session import Session
from orchestrator.sessions.turn_context import Context, TurnServices
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn_ending import end_turn
from state.events.base import DEFAULT_ENGINE
from state.events.conversation import MessageReceived, NameAsked, TurnResumed
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow, OutboxRow, StoredEvent, StoreError

log = logging.getLogger(__name__)


async def run_turn(request: ParsedInput, session: Session, tools: Tools) -> None:
    """Raises StoreError; the turn then stops."""
    row = request.row
    async with tools.turns:
        stopped = is_cancelled(row, session)  # a /stop may have come while the request waited for a free place
        left_out = build_dropped_event(row, session) if stopped else None
        if left_out is not None:
            await session.commit(left_out, actor=left_out.by, inbox_done=[row.id])
            return
        await _run(request, session, tools, stopped=stopped)


@dataclass
class _StartingTurn:
    """Remembers a /stop that comes before the engine runs."""

    actor: Actor
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True


async def _run(request: ParsedInput, session: Session, tools: Tools, *, stopped: bool) -> None:
    asker = Actor.model_validate(request.row.actor)
    tools.running[session.key] = _StartingTurn(actor=asker, stopped=stopped)
    try:
        await _run_admitted(request, asker, session, tools)
    finally:
        tools.running.pop(session.key, None)


async def _run_admitted(request: ParsedInput, asker: Actor, session: Session, tools: Tools) -> None:
    row, content = request.row, request.content
    actor = await (_admit_asker if isinstance(content, TurnGoesOn) else _admit_stored)(row, asker, session, tools)
    if actor is None:
        return
    turn: TurnInput | None
    stored: Sequence[StoredEvent] | None = None
    if isinstance(content, TurnGoesOn):
        restored = await _restore_turn(content, session, tools)
        if not isinstance(restored, RestoredTurn):
            outbox_rows = [outbox.build_reply_row(session.key, build_reply(restored), session.now)] if restored is not None else []
            await session.commit(actor=actor.key, outbox=outbox_rows, inbox_done=[row.id])
            return
        turn, stored = restored.turn, restored.events
    elif (turn := _build_turn_input(row, content, session)) is None:
        outdated = Notice(code="choice-outdated")
        replies = build_click_toasts(row, session, outdated) or [outbox.build_reply_row(session.key, build_reply(outdated), session.now)]
        await session.commit(actor=actor.key, outbox=replies, inbox_done=[row.id])
        return
    if not await _may_answer(turn, actor, session, tools):
        click_toasts = build_click_toasts(row, session, Notice(code="choice-not-yours"))
        await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id])
        return
    engine = content.engine if isinstance(content, TextMessage | TurnGoesOn) else DEFAULT_ENGINE
    if engine not in tools.engines:
        away = build_reply(Notice(code="turn-engine-away"))
        await session.commit(actor=actor.key, outbox=[outbox.build_reply_row(session.key, away, session.now)], inbox_done=[row.id])
        return
    toasts = build_click_toasts(row, session, Notice(code="toast-doing"))
    recorded = await _begin(turn, actor, session, tools, engine=engine, toasts=toasts, stored=stored)
    if not turn.is_resumed:  # one that goes on may end without a message, which would leave a placeholder of its progress behind
        await tools.show_partial(session.key, Notice(code="turn-begun", args={"turn": turn.turn_id}))
    context = Context(
        session,
        turn,
        actor=actor,
        mode=resolve_mode(tools.mode, actor),
        reach=TurnServices(
            gate=tools.gate,
            model=tools.model,
            queries=tools.queries,
            show_partial=lambda text: tools.show_partial(session.key, text),
            model_budget=tools.model_budget,
            undo=tools.undo,
        ),
        recorded=recorded,
    )
    end = await _run_engine(tools.engines[engine], context, tools, session)
    await end_turn(end, context, engine, row, session, tools)


async def _restore_turn(going_on: TurnGoesOn, session: Session, tools: Tools) -> RestoredTurn | Notice | None:
    """None if it went on already or the person began anew; a notice after a restore."""
    paused = (session.state.paused or {}).get(going_on.turn_id)
    if paused is None and session.state.turn_id != going_on.turn_id:
        return None
    if paused is not None and await is_from_backup(paused, tools.store):
        return Notice(code="restored-not-resumed")
    await session.flush()
    if events := session.kept_turns.find_events(going_on.turn_id):
        return build_restored_turn(events)
    return await restore_turn(going_on.turn_id, session.stream, session.seq, tools.store)


async def _admit_asker(row: InboxRow, asker: Actor, session: Session, tools: Tools) -> Actor | None:
    """None for a person without access, who is not told, since the chat may be that of others."""
    actor = tools.refresh_actor(asker)
    if actor is None:
        await session.commit(actor=row.actor_key, inbox_done=[row.id])
    return actor


async def admit_actor(row: InboxRow, session: Session, tools: Tools) -> Actor | None:
    """None for a person without access, who is told so; the input is then finished."""
    return await _admit_stored(row, Actor.model_validate(row.actor), session, tools)


async def _admit_stored(row: InboxRow, stored: Actor, session: Session, tools: Tools) -> Actor | None:
    actor = tools.refresh_actor(stored)
    if actor is None:
        await session.commit(actor=stored.key, outbox=build_access_denied_rows(row, session.key, session), inbox_done=[row.id])
    return actor


def find_owner(session: Session, tools: Tools) -> Actor | None:
    """Of a private chat; None for a person without access."""
    return tools.refresh_actor(Actor(key=session.key, name=session.key))


async def build_runs_notices(actor: Actor, session: Session, tools: Tools) -> list[Notice]:
    """Raises StoreError."""
    runs = await tools.store.list_runs(RunFilter(home=session.key, owner=actor.key, statuses=("running", "waiting", "paused")))
    return [Notice(code="runs-go-on", args={"count": len(runs)})] if runs else []


def build_access_denied_rows(row: InboxRow, chat: str, session: Session) -> list[OutboxRow]:
    """In a group a click gets a toast, which others do not see."""
    gone = Notice(code="no-access-any-more")
    callback = Click.model_validate(row.body).callback_id
    toast = [outbox.build_toast_row(chat, callback, gone, session.now)] if callback else []
    alone = not callback or chat == row.actor_key
    return [*toast, outbox.build_reply_row(chat, build_reply(gone), session.now)] if alone else toast


def _build_turn_input(row: InboxRow, content: Input | None, session: Session) -> TurnInput | None:
    """For a chosen answer, the request that led to the question; None if it is closed."""
    if isinstance(content, ChoiceMade):
        question = session.state.question
        if not question or question.question_id != content.answers or not 0 <= content.option < len(question.options):
            return None
        option = question.options[content.option]
        targets = [option["target"]] if option["target"] else []
        choice = ChosenOption(question=question, value=option["value"], label=option["label"], targets=targets)
        return TurnInput(turn_id=row.id, text=question.text, origin=content.origin or "typed", answers=content.answers, choice=choice)
    content = content if isinstance(content, TextMessage) else TextMessage()
    own, quoted = _separate_foreign_text(content)
    return TurnInput(
        turn_id=row.id,
        text=own,
        quoted=quoted,
        cited=content.cited,
        answered=content.answered,
        is_answered_own=content.is_answered_own,
        answered_records=content.answered_records,
        answers_others=content.answers_others,
        origin=content.origin or "typed",
        ref=content.message_id,
        # by the messenger's clock, but not later than it arrived
        said_at=min(datetime.fromtimestamp(content.at, UTC), row.received_at) if content.at is not None else None,
        attached=content.attached,
    )


def _separate_foreign_text(text_message: TextMessage) -> tuple[str, str]:
    """Return (the person's own words, text of others)."""
    own, marked = split_foreign_text(text_message.text)
    return own, "\n\n".join(filter(None, (text_message.quoted, marked)))


async def _may_answer(turn: TurnInput, actor: Actor, session: Session, tools: Tools) -> bool:
    """In a group anybody can click, but only the person asked may answer."""
    if not turn.answers or turn.is_resumed or session.key == actor.key:
        return True
    await session.flush()
    events = await tools.store.read_events(session.stream, max(0, session.seq - 500))
    questions = (item for item in reversed(events) if item.type == "NameAsked")
    by = next((item.actor for item in questions if NameAsked.from_data(item.data).question_id == turn.answers), None)
    return by == actor.key  # nobody may answer a question that lies so far back that who was asked is not known


def build_click_toasts(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """Empty if no click waits for an answer."""
    callback = Click.model_validate(row.body).callback_id if row.body.get("callback_id") else ""
    return [outbox.build_toast_row(session.key, callback, notice, session.now)] if callback else []


async def _begin(
    turn: TurnInput,
    actor: Actor,
    session: Session,
    tools: Tools,
    *,
    engine: str = DEFAULT_ENGINE,
    toasts: Sequence[OutboxRow] = (),
    stored: Sequence[StoredEvent] | None = None,
) -> RecordedTurn:
    """What the turn has recorded before; empty for a new one. `stored` are its events if it goes on."""
    current = session.state.turn
    if turn.is_resumed and session.state.turn_id != turn.turn_id:
        # A crash that loses this note lets the turn go on once more, with the same input.
        await session.buffer(TurnResumed(turn_id=turn.turn_id), actor=actor.key)
        current = session.state.turn
    if current and current.turn_id == turn.turn_id:
        if stored is None:
            await session.flush()
            stored = await read_turn_events(turn.turn_id, session.stream, session.seq, tools.store)
        if await _has_waiting_stop(actor, session, tools):
            tools.running[session.key].stop()
        return RecordedTurn.from_events(stored)
    event = MessageReceived(
        turn_id=turn.turn_id,
        text="" if turn.answers else turn.text,
        origin="choice" if turn.answers else "voice" if turn.origin == "voice" else "typed",
        quoted=turn.quoted,
        cited=turn.cited,
        answered=turn.answered,
        is_answered_own=turn.is_answered_own,
        answered_records=list(turn.answered_records),
        answers_others=turn.answers_others,
        by=actor.key,
        answers=turn.answers,
        ref=turn.ref,
        engine="" if engine == DEFAULT_ENGINE else engine,
        waiting=list_waiting(session.state, actor.key),
    )
    await session.buffer(event, actor=actor.key, outbox=[*_build_answered_question(turn, session), *toasts])
    return RecordedTurn(is_fresh=True, waiting=event.waiting)


async def _has_waiting_stop(actor: Actor, session: Session, tools: Tools) -> bool:
    """A /stop is in another lane and may be handled only after this turn."""
    waiting = await tools.store.list_waiting_inbox(session.key, "express")
    return any(
        isinstance(command := parse_neighbour(row), Command) and command.name == "stop" and row.actor_key == actor.key for row in waiting
    )


def _build_answered_question(turn: TurnInput, session: Session) -> list[OutboxRow]:
    """The question again, with the chosen answer and without buttons."""
    if turn.choice is None:
        return []
    question = turn.choice.question
    notice = Notice.model_validate(question.ask)
    reply = build_reply(notice, Notice(code="chosen", args={"label": turn.choice.label}))
    return [outbox.build_reply_row(session.key, reply, session.now, key=f"turn:{question.turn_id}")]


async def _run_engine(engine: Engine, context: Context, tools: Tools, session: Session) -> TurnEnd:
    """Raises only StoreError, and CancelledError at a shutdown."""
    early = tools.running.get(session.key)
    tools.running[session.key] = context
    if isinstance(early, _StartingTurn) and early.stopped:
        context.stop()
    try:
        return await _find_end(engine, context, tools, session)
    finally:
        tools.running.pop(session.key, None)


async def _find_end(engine: Engine, context: Context, tools: Tools, session: Session) -> TurnEnd:
    try:
        end = await run_until_stopped(engine, context) if not context.stopped else None
        if end is not None:
            return await name_rest(await add_change_notices(end, context), context)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises ends its turn, and only its turn
        return await _end_failed_turn(find_cause(error), context, tools, session)
    return await build_early_end("stopped", context, Notice(code="stopped"))


async def run_until_stopped(engine: Engine, context: Context) -> TurnEnd | None:
    """None if the person stops the turn; other cancellations are raised.

    A stop cancels this task as `asyncio.timeout` does: a task of its own would take two more rounds of the loop.
    """
    if (task := asyncio.current_task()) is None:
        raise RuntimeError("a turn runs in a task")
    stops = 0
    asker = find_asker().renew()  # the end of the turn, which may read names, follows after a stop

    def stop() -> None:
        nonlocal stops
        stops += 1
        asker.leave()
        task.cancel()

    context.set_cancel_callback(stop)
    try:
        with ask_for(asker):
            return await engine.run(context)
    except asyncio.CancelledError:
        if not context.stopped:
            raise
        return None
    finally:
        context.set_cancel_callback(lambda: None)
        for _ in range(stops):
            task.uncancel()


async def _end_failed_turn(cause: BaseException, context: Context, tools: Tools, session: Session) -> TurnEnd:
    match cause:
        case StoreError():
            raise cause
        case ModelClientError():
            log.warning("turn degraded: %s", cause.reason, extra={"action": "turn_degraded"})
            if context.turn.is_resumed:
                return await build_early_end("degraded", context, Notice(code="degraded-after-card"))
            return await build_early_end("degraded", context, Notice(code="degraded"), partly=Notice(code="degraded-partly"))
        case OverBudget():
            return await build_early_end("budget", context, Notice(code=cause.reason))
        case _:
            turn_id = context.turn.turn_id
            log.error("turn failed", exc_info=cause, extra={"action": "turn_failed", "turn_id": turn_id})
            await tools.audit.record_failure(actor=context.actor, session=session.key, turn_id=turn_id, what="turn failed, see the log")
            return await build_early_end("failed", context, Notice(code="failed", args={"id": turn_id[-8:]}))
