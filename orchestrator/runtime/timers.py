"""Due timers become inbox rows, handled in their session."""

from datetime import datetime, timedelta

from orchestrator.domain.inputs import CallTimerDue, TimerDue
from orchestrator.gate.approve import confirmations
from orchestrator.runtime import recovery
from orchestrator.sessions.input_filter import build_system_row
from orchestrator.sessions.session import Session
from orchestrator.turns.decisions import run_expiry
from orchestrator.turns.feature import Tools
from state.clock import format_iso
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow, Timer

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
