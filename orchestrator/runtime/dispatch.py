"""Hands each stored input to its handler, or quarantines it."""

import logging
from datetime import datetime, timedelta

from bitrix.limits.askers import Asker
from bitrix.limits.limiter import Priority
from orchestrator.domain.address import TALK_CHANNELS, Address, is_run
from orchestrator.domain.inputs import SYSTEM, CallTimerDue, FeatureClick, ParsedInput, TimerDue, TurnGoesOn, read_input
from orchestrator.domain.outputs import Notice, build_reply
from orchestrator.gate.approve import confirmations
from orchestrator.runtime import commands, recovery
from orchestrator.sessions import merge_inputs, outbox
from orchestrator.sessions.input_filter import build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns import decisions, turn
from orchestrator.turns.decisions import run_expiry
from orchestrator.turns.feature import Handler, Tools
from state.clock import format_iso
from state.events.conversation import TurnFinished
from state.journal.async_store import AsyncStore
from state.journal.store import SET_ASIDE, InboxRow, Timer

RETRY_AFTER = timedelta(hours=1)


async def collect_due_rows(store: AsyncStore, now: datetime) -> list[InboxRow]:
    """A timer keeps its `source` until it is set anew, so it has an effect once."""
    return [_build_row(timer, now) for timer in await store.list_due_timers(now)]


def _build_row(timer: Timer, now: datetime) -> InboxRow:
    body = {"timer": timer.id, "kind": timer.kind, **timer.body}
    return build_system_row(TimerDue.KIND, timer.session, f"timer:{timer.id}:{format_iso(timer.due_at)}", now, body=body)


async def run_timer(row: InboxRow, session: Session, tools: Tools) -> None:
    due = TimerDue.model_validate(row.body)
    match due.kind:
        case confirmations.TIMER:
            await run_expiry(row, session, tools)
        case recovery.RECHECK:
            later = await recovery.reconcile_when_settled(CallTimerDue.model_validate(row.body).effect_id, session, tools)
            await session.commit(actor="system", timers=[later or build_timer_deletion(row, session)], inbox_done=[row.id])
        case kind if (handler := tools.features.timers.get(kind)) is not None:
            await handler(row, session, tools)
        case other:
            await session.commit(actor="system", timers=[build_timer_deletion(row, session)])  # otherwise the timer would stay due for ever
            await tools.store.finish_inbox(row.id, "quarantined", f"unknown timer {other}")


def build_timer_deletion(row: InboxRow, session: Session) -> Timer:
    """It would stay due for ever."""
    return Timer(id=TimerDue.model_validate(row.body).timer, due_at=session.now, session=session.key, kind="", delete=True)


def reschedule(row: InboxRow, session: Session) -> Timer:
    due, body = TimerDue.model_validate(row.body), {key: value for key, value in row.body.items() if key not in {"timer", "kind"}}
    return Timer(id=due.timer, due_at=session.now + RETRY_AFTER, session=session.key, kind=due.kind, body=body)


log = logging.getLogger(__name__)

MAX_ATTEMPTS = 3
"""An input that comes up again has crashed the process each time."""


def build_asker(row: InboxRow) -> Asker:
    if row.kind == TimerDue.KIND or row.actor_key in {"", SYSTEM["key"]}:
        return build_own_asker()
    is_program = Address.parse(row.actor_key).is_pulled
    return Asker(source=row.actor_key, urgency=Priority.PROGRAM if is_program else Priority.INTERACTIVE)


def build_own_asker() -> Asker:
    return Asker(source=SYSTEM["key"], urgency=Priority.BULK)


async def run_input(row: InboxRow, session: Session, tools: Tools) -> None:
    """An input of unknown kind is set aside for good."""
    match row.kind:
        case "message":
            message = await merge_inputs.merge_fragments(read_input(row), session, tools.store)
            if message is not None and not await _is_taken(message, session, tools):
                await turn.run_turn(message, session, tools)
        case TurnGoesOn.KIND:
            await turn.run_turn(read_input(row), session, tools)
        case "decision":
            await decisions.run_decision(row, session, tools)
        case "command":
            await commands.run_command(row, session, tools)
        case "timer":
            await run_timer(row, session, tools)
        case _ if (handler := _find_handler(row, tools)) is not None:
            await handler(row, session, tools)
        case _:
            await tools.store.finish_inbox(row.id, "quarantined", f"unknown kind {row.kind}")


async def _is_taken(message: ParsedInput, session: Session, tools: Tools) -> bool:
    for take in tools.features.message_takers:
        if await take(message, session, tools):
            return True
    return False


def _find_handler(row: InboxRow, tools: Tools) -> Handler | None:
    if row.kind == FeatureClick.KIND:
        return tools.features.buttons.get(FeatureClick.model_validate(row.body).words[0])
    return tools.features.inbox.get(row.kind)


async def quarantine_input(row: InboxRow, session: Session, tools: Tools) -> None:
    """The person is told first."""
    store = tools.store
    if not _is_told(row, session, tools):
        # nobody reads the session, or the feature of the timer says itself what became of it
        await _quarantine_system_input(row, session, tools)
        await store.finish_inbox(row.id, "quarantined", f"gave up after {MAX_ATTEMPTS} attempts")
        return
    current = session.state.turn
    is_begun = current is not None and current.turn_id in {row.id, row.body.get("turn_id")}
    resumed = row.kind == TurnGoesOn.KIND
    events = [TurnFinished(turn_id=current.turn_id, reason="failed", resumed=resumed)] if current is not None and is_begun else []
    over = [build_timer_deletion(row, session)] if row.kind == "timer" else []
    came_back = row.attempts > SET_ASIDE  # restored from a backup: it may have been handled since
    reply = build_reply(Notice(code="restored-not-worked") if came_back else Notice(code="failed", args={"id": row.id[-8:]}))
    reply_row = outbox.build_reply_row(session.key, reply, session.now, key=f"gave-up:{row.id}")
    await session.commit(*events, actor="system", outbox=[reply_row, *decisions.build_failure_rows(row, session)], timers=over)
    why = "came back with a backup" if came_back else f"gave up after {MAX_ATTEMPTS} attempts"
    await store.finish_inbox(row.id, "quarantined", why)


def _is_told(row: InboxRow, session: Session, tools: Tools) -> bool:
    """For what was said to a run, in the chat of the run."""
    if is_run(session.key):
        return session.state.run is not None and row.actor_key not in {"", SYSTEM["key"]} and row.kind not in tools.features.given_up_inputs
    return Address.parse(session.key).channel in TALK_CHANNELS and _find_given_up_timer(row, tools) is None


def _find_given_up_timer(row: InboxRow, tools: Tools) -> Handler | None:
    return tools.features.given_up_timers.get(TimerDue.model_validate(row.body).kind) if row.kind == TimerDue.KIND else None


async def _quarantine_system_input(row: InboxRow, session: Session, tools: Tools) -> None:
    """A timer is set again, or it would never fire."""
    log.error("an input is given up", extra={"action": "event_failed", "row": row.id, "kind": row.kind})
    if (ended := tools.features.given_up_inputs.get(row.kind)) is not None:
        await ended(row, session, tools)
    if row.kind != TimerDue.KIND:
        return
    given_up = _find_given_up_timer(row, tools)
    if given_up is not None:
        await given_up(row, session, tools)
    else:
        await session.commit(actor="system", timers=[reschedule(row, session)])
