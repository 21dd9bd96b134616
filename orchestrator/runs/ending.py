"""Ends a run: withdraws its cards, closes its questions, tells its person and its parent."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import RunOver
from orchestrator.domain.inputs import SYSTEM
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.domain.run_inputs import RunChildEnd, RunEngineBack, RunForget, RunOrder, RunOwnerGone, RunRestored
from orchestrator.domain.taint import NOWHERE, Origins
from orchestrator.engines.runs import Reasons, RunResult
from orchestrator.gate.approve import confirmations
from orchestrator.gate.approve.confirmations import Decision
from orchestrator.runs.nodes import MAX_DETAIL
from orchestrator.runs.questions import BUTTON, build_closing_row, build_stored_reply, is_for_people, name_message, read_questions
from orchestrator.runs.reminders import drop_reminders
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.sessions.steps import build_play_row
from orchestrator.turns.feature import Tools
from state.clock import format_iso
from state.events.fold import list_open_confirmations
from state.events.runs import RunFinished
from state.journal.run_index import PREFIX
from state.journal.store import Commit, EffectConflict, InboxRow, OutboxRow, Timer
from state.model.run_state import RunState
from state.model.session_state import SessionState

MAX_WITHDRAWALS: Final = 5
"""Rounds of withdrawing cards, because nodes that still worked may show new ones."""


class _CardOpened(Exception):
    """A card was shown while the end was being stored, so it was not withdrawn yet."""


async def finish_run(
    session: Session,
    tools: Tools,
    *,
    result: RunResult,
    notice: Notice | None = None,
    origins: Origins = NOWHERE,
    by: str = "",
    done: Sequence[str] = (),
) -> None:
    """One transaction; nothing if the run is over.

    `notice` says why it failed, with texts from `origins`; `by` cancelled it; `done` are finished inputs. A child's parent tells the
    person why, unless the child has its own reply.
    """
    run = session.state.run
    if run is None or run.is_over:
        await session.commit(actor="system", inbox_done=done)
        return
    reasons = result.reasons if notice is None or result.reply else result.reasons.put_behind(notice, origins)
    reply = result.reply or (Reply() if notice is None else _build_end_reply(session.key, reasons.notices, run, result))
    cleaned = tools.guard.clean_reply(reply, "", locale=find_owner(run).locale)
    outbox_rows = (
        [outbox.build_reply_row(session.key, cleaned, session.now)] if reply != Reply() and (result.reply or not run.parent) else []
    )
    if result.status == "cancelled":
        outbox_rows += await _close_messages(session, tools, run)
    event = RunFinished(
        status=result.status,
        code=result.code,
        by=by,
        result=result.value.data,
        origins=sorted(result.value.origins),
        detail=result.detail[:MAX_DETAIL],
        changes_made=result.changes.made,
        changes_left=result.changes.left,
    )

    def end_waits(step: Commit, state: SessionState) -> Commit:
        """A node may have begun to wait after the end was decided."""
        last = state.run or run
        if withdrawals < MAX_WITHDRAWALS and not last.is_over and list_open_confirmations(state):
            raise _CardOpened
        # What is under way ends first: only then is it known what the run has done.
        told = [build_play_row(session.key, session.now)] if result.status != "done" and run.engine in tools.features.last_words else []
        news = [*_close_questions(session, last), *_stop_children(session, last), *told]
        return step._replace(timers=_list_timers(session, last), inbox_new=[*step.inbox_new, *news])

    told_parent = _tell_parent(session, run, result, reasons)
    for withdrawals in range(1, MAX_WITHDRAWALS + 1):  # noqa: B007 - `end_waits` reads it
        await _withdraw_cards(session, run)
        try:
            await session.commit(
                event, actor=run.owner or "system", outbox=outbox_rows, inbox_done=done, inbox_new=told_parent, complete=end_waits
            )
        except _CardOpened:  # a node that still worked has shown one meanwhile; the end of the run lets none come after it
            continue
        except RunOver:  # it ended in another way at this very moment
            await session.commit(actor="system", inbox_done=done)
        await _withdraw_cards(session, run)  # of nodes that went on showing new ones; after the end none can come
        tools.progress.drop(session.key)
        return


async def build_last_words(session: Session, tools: Tools) -> list[OutboxRow]:
    """What a run that did not come to its end has done, if its engine tells that."""
    run = session.state.run
    tell = tools.features.last_words.get(run.engine) if run is not None and run.status in {"failed", "cancelled"} else None
    if run is None or tell is None:
        return []
    said = await tell(session.key.removeprefix(PREFIX), tools)
    if said is None:
        return []
    message, reply = said
    cleaned = tools.guard.clean_reply(reply, "", locale=find_owner(run).locale)
    return [outbox.build_reply_row(session.key, cleaned, session.now, key=f"{session.key}:{message}")]


async def _close_messages(session: Session, tools: Tools, run: RunState) -> list[OutboxRow]:
    if not is_for_people(run.home) or not any(wait.on == "input" for wait in run.waits.values()):
        return []
    await session.flush()
    locale = find_owner(run).locale
    rows: list[OutboxRow] = []
    for question in await read_questions(session.key, run, tools.store):
        reply = tools.guard.clean_reply(build_stored_reply(question.asked, Notice(code="run-question-left")), "", locale=locale)
        key = name_message(session.key, question.asked.node, question.shown)
        rows.append(outbox.build_reply_row(session.key, reply, session.now, key=key))
    return rows


def _build_end_reply(key: str, notices: Sequence[Notice], run: RunState, result: RunResult) -> Reply:
    """A failed run gets a button to retry it."""
    can_retry = result.status == "failed"
    if find_owner(run).for_customers:  # why it ended, and which step it was, is the company's business
        return Reply(notices=(Notice(code="run-ended-outside") if can_retry else notices[0],))
    words = (BUTTON, key.removeprefix("run:"), "retry")
    actions = (Action(words=words, label=Notice(code="run-retry")),) if can_retry and not run.parent else ()
    return Reply(
        notices=(Notice(code="run-ended", args={"definition": run.name, "status": "failed" if can_retry else "cancelled"}), *notices),
        actions=actions,
    )


def build_pause_reply(key: str, run: RunState) -> Reply:
    """With a button that resumes it."""
    resume = Action(words=(BUTTON, key.removeprefix("run:"), "resume"), label=Notice(code="run-resume"))
    return Reply(notices=(Notice(code="run-is-paused", args={"definition": run.name}),), actions=(resume,))


async def _withdraw_cards(session: Session, run: RunState) -> None:
    actor = find_owner(run)
    for card in list_open_confirmations(session.state):
        decision = Decision(confirmation_id=card.confirmation_id, nonce=card.nonce, approve=False, actor=actor, via="run")
        try:
            await confirmations.deny(card, decision, session, ())
        except EffectConflict:  # decided at this very moment
            continue
        await session.commit(
            actor=run.owner or "system", outbox=[outbox.build_card_row(session.key, session.state.cards[card.confirmation_id], session.now)]
        )


def _list_timers(session: Session, run: RunState) -> list[Timer]:
    waiting = [node for node, wait in run.waits.items() if wait.until]
    own = [Timer(id=f"{session.key}/{node}", due_at=session.now, session=session.key, kind="", delete=True) for node in waiting]
    return own + drop_reminders(session.key, run, session.now)


def _close_questions(session: Session, run: RunState) -> list[InboxRow]:
    run_waits = [wait for wait in run.waits.values() if wait.on == "input"]
    return [build_closing_row(session.key, run.home, wait.waits_for, now=session.now) for wait in run_waits]


def _stop_children(session: Session, run: RunState) -> list[InboxRow]:
    children = [wait.waits_for for wait in run.waits.values() if wait.on == "run"]
    if not run.actor:
        return [build_owner_gone_row(child, session.now) for child in children]
    order = RunOrder(order="cancel")
    return [order.to_row(child, source=f"cancel:{child}:{session.seq}", actor=run.actor, now=session.now) for child in children]


def find_owner(run: RunState) -> Actor:
    return Actor.model_validate(run.actor or SYSTEM)


def build_owner_gone_row(key: str, now: datetime) -> InboxRow:
    return RunOwnerGone().to_row(key, source=f"owner-gone:{key}", actor=SYSTEM, now=now)


def build_restored_row(key: str, made_at: str, now: datetime) -> InboxRow:
    """A backup made `made_at` brought the run back, paused."""
    return RunRestored(made_at=made_at).to_row(key, source=f"restored:{key}:{format_iso(now)}", actor=SYSTEM, now=now)


def build_forget_row(key: str, now: datetime) -> InboxRow:
    """At most once an hour."""
    return RunForget().to_row(key, source=f"forget:{key}:{format_iso(now)[:13]}", actor=SYSTEM, now=now)


def build_engine_back_row(key: str, now: datetime) -> InboxRow:
    """At most once an hour."""
    return RunEngineBack().to_row(key, source=f"engine-back:{key}:{format_iso(now)[:13]}", actor=SYSTEM, now=now)


def _tell_parent(session: Session, run: RunState, result: RunResult, reasons: Reasons) -> list[InboxRow]:
    if not run.parent:
        return []
    child_end = RunChildEnd(node=run.parent_node, run=session.key, status=result.status, code=result.code, value=result.value.to_stored())
    if result.status != "done":
        child_end = child_end.model_copy(update={"title": run.title, "reasons": reasons.to_stored()})
    return [child_end.to_row(run.parent, source=f"ended:{session.key}:{session.seq}", actor=SYSTEM, now=session.now)]
