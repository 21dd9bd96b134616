"""Reminds a person once of a run that has waited for them for more than a day.

One message names all waits and drops their timers; a paused run sets its timer again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import SYSTEM, TimerDue
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.runs.questions import build_buttons, read_questions
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from state.events.fold import list_open_confirmations
from state.events.runs import RunWaits
from state.journal.store import InboxRow, Timer
from state.model.card import Card
from state.model.run_state import RunState

REMIND: Final = "run_remind"
REMIND_AFTER: Final = timedelta(hours=24, minutes=5)
"""More than a day, in which most cards run out by themselves."""
MAX_NAMED: Final = 20
"""Questions and cards in one reminder."""
MAX_TIMERS: Final = 100_000
"""After a standstill many timers are due."""


def build_reminder_timer(key: str, node: str, waits_for: str, now: datetime) -> Timer:
    return Timer(
        id=_name_timer(key, node), due_at=now + REMIND_AFTER, session=key, kind=REMIND, body={"node": node, "waits_for": waits_for}
    )


def drop_reminders(key: str, run: RunState, now: datetime) -> list[Timer]:
    nodes = [node for node, wait in run.waits.items() if wait.on in {"input", "effect"}]
    return [Timer(id=_name_timer(key, node), due_at=now, session=key, kind=REMIND, delete=True) for node in nodes]


def _name_timer(key: str, node: str) -> str:
    return f"{key}//{node}"  # the timers of sleeping nodes have one slash here


async def remind_person(row: InboxRow, session: Session, tools: Tools) -> None:
    """Nothing if the node does not wait for this any more."""
    due = TimerDue.model_validate(row.body)
    node, waits_for = str(row.body.get("node", "")), str(row.body.get("waits_for", ""))
    run, key = session.state.run, session.key
    gone = Timer(id=due.timer, due_at=session.now, session=key, kind=REMIND, delete=True)
    cards = {confirmation.effect_id: confirmation for confirmation in list_open_confirmations(session.state)}
    wait = run.waits.get(node) if run is not None and not run.is_over else None
    is_open = wait is not None and wait.waits_for == waits_for and (wait.on == "input" or waits_for in cards)
    standing = {due_timer.id for due_timer in await tools.store.list_due_timers(session.now, limit=MAX_TIMERS)}
    if run is None or not is_open or due.timer not in standing:  # a reminder of this very moment has named it
        await session.commit(actor="system", timers=[gone], inbox_done=[row.id])
        return
    if run.status == "paused":
        again = build_reminder_timer(key, node, waits_for, session.now)
        await session.commit(actor="system", timers=[again], inbox_done=[row.id])
        return
    await session.flush()
    run_waits = [question.asked for question in await read_questions(key, run, tools.store)]
    waiting = [cards[run_wait.waits_for] for run_wait in run.waits.values() if run_wait.on == "effect" and run_wait.waits_for in cards]
    reply = tools.guard.clean_reply(
        _build_reminder(key, run, run_waits, waiting), "", locale=Actor.model_validate(run.actor or SYSTEM).locale
    )
    reply_row = outbox.build_reply_row(key, reply, session.now, key=f"{key}:reminds:{node}:{waits_for}")
    await session.commit(actor="system", outbox=[reply_row], timers=[gone, *drop_reminders(key, run, session.now)], inbox_done=[row.id])


def _build_reminder(key: str, run: RunState, run_waits: list[RunWaits], cards: list[Card]) -> Reply:
    """If it names one question only, it has its buttons."""
    questions: list[Mapping[str, Any]] = [{"text": run_wait.question, "notice": run_wait.notice} for run_wait in run_waits]
    calls = [{"method": card.method, "preview": dict(card.preview)} for card in cards]
    mentions = questions[:MAX_NAMED], calls[: max(0, MAX_NAMED - len(questions))]
    notice = Notice(code="run-reminder", args={"definition": run.name, "questions": mentions[0], "calls": mentions[1]})
    actions: tuple[Action, ...] = ()
    if len(run_waits) == 1 and not cards:
        actions = build_buttons(key, run_waits[0])
    return Reply(notices=(notice,), actions=actions)
