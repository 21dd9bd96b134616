"""Stores what comes for a run, in its express lane, and orders it to go on."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import RunOver
from orchestrator.domain.inputs import Click, TimerDue
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.domain.run_inputs import RunAnswer, RunChildEnd, RunLeave, RunMessage, RunOrder, RunRestored
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import Reasons, RunResult
from orchestrator.runs.ending import build_pause_reply, finish_run
from orchestrator.runs.limits import RETRY
from orchestrator.runs.questions import BUTTON, build_closing_row, build_reopening_row, is_answer_fitting, store_answer
from orchestrator.runs.run_pass import TIMEOUT
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.sessions.steps import build_play_row
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.events.runs import WHOLE, RunWaits, RunWoken
from state.journal.store import Commit, InboxRow, OutboxRow, Timer
from state.model.run_state import RunState, RunWait
from state.model.session_state import SessionState

MAY_CONTROL: Final = frozenset({"lead", "admin"})


async def take_answer(row: InboxRow, session: Session, tools: Tools) -> None:
    """A late answer changes nothing."""
    actor = await admit_actor(row, session, tools)
    if actor is not None:
        await settle_answer(RunAnswer.model_validate(row.body), row, session, actor)


async def is_answer_open(run_answer: RunAnswer, row: InboxRow, session: Session, actor: Actor) -> bool:
    """If not, it says why and finishes the input."""
    run = session.state.run
    question = _find_question(run, run_answer.question_id)
    if run is None or question is None:
        refusal = _build_refusal(row, session, Notice(code="choice-outdated"))
        await session.commit(actor=actor.key, outbox=refusal, inbox_done=[row.id])
        return False
    _, wait = question
    if run.status == "paused":
        refusal = _build_refusal(row, session, Notice(code="run-paused"))
        is_typed = run_answer.option is None and wait.takes
        listen = [build_reopening_row(session.key, run.home, wait, row.id, now=session.now)] if is_typed else []
        await session.commit(actor=actor.key, outbox=refusal, inbox_done=[row.id], inbox_new=listen)
        return False
    if actor.key not in wait.answers or not is_answer_fitting(run_answer, wait):
        code = "choice-not-yours" if actor.key not in wait.answers else "choice-outdated"
        refusal = _build_refusal(row, session, Notice(code=code))
        await session.commit(actor=actor.key, outbox=refusal, inbox_done=[row.id])
        return False
    return True


async def settle_answer(
    run_answer: RunAnswer, row: InboxRow, session: Session, actor: Actor, blobs: Mapping[str, str] = MappingProxyType({})
) -> None:
    """`blobs` holds the file that was sent. A late answer changes nothing."""
    async with session.settling:
        if await is_answer_open(run_answer, row, session, actor):
            await _store_answer(run_answer, row, session, actor, blobs)


async def _store_answer(run_answer: RunAnswer, row: InboxRow, session: Session, actor: Actor, blobs: Mapping[str, str]) -> None:
    question = _find_question(session.state.run, run_answer.question_id)
    if question is None:
        raise LookupError(run_answer.question_id)
    node, wait = question
    value, origins = store_answer(run_answer)
    woken = RunWoken(node=node, by=actor.key, value=value, origins=sorted(origins))
    await session.commit(
        woken,
        actor=actor.key,
        outbox=build_click_toasts(row, session, Notice(code="toast-doing")),
        timers=[Timer(id=f"{session.key}/{node}", due_at=session.now, session=session.key, kind="", delete=True)] if wait.until else [],
        inbox_done=[row.id],
        inbox_new=[_build_play(session), _build_closing(session, wait)],
        blobs=blobs,
    )


def _find_question(run: RunState | None, question_id: str) -> tuple[str, RunWait] | None:
    waits = run.waits.items() if run is not None and not run.is_over else ()
    return next(((node, wait) for node, wait in waits if wait.on == "input" and wait.waits_for == question_id), None)


def _build_refusal(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    if Click.model_validate(row.body).callback_id:
        return build_click_toasts(row, session, notice)
    return [outbox.build_reply_row(session.key, build_reply(notice), session.now)]


def _build_closing(session: Session, wait: RunWait) -> InboxRow:
    home = session.state.run.home if session.state.run is not None else ""
    return build_closing_row(session.key, home, wait.waits_for, now=session.now)


def _build_play(session: Session) -> InboxRow:
    return build_play_row(session.key, session.now)


async def take_timer(row: InboxRow, session: Session, _tools: Tools) -> None:
    async with session.settling:
        await _settle_timer(TimerDue.model_validate(row.body), row, session)


async def _settle_timer(due: TimerDue, row: InboxRow, session: Session) -> None:
    node = str(row.body.get("node", ""))
    run = session.state.run
    wait = run.waits.get(node) if run is not None else None
    gone = [Timer(id=due.timer, due_at=session.now, session=session.key, kind="", delete=True)]
    if run is None or wait is None or not wait.until:
        await session.commit(actor="system", timers=gone, inbox_done=[row.id])
        return
    woken = RunWoken(
        node=node, by="timeout" if due.kind == TIMEOUT else "timer", value={"kind": "timeout"} if due.kind == TIMEOUT else None
    )
    closing = [_build_closing(session, wait)] if due.kind == TIMEOUT else []
    await session.commit(woken, actor=run.owner or "system", timers=gone, inbox_done=[row.id], inbox_new=[_build_play(session), *closing])


async def take_child_end(row: InboxRow, session: Session, _tools: Tools) -> None:
    ended = RunChildEnd.model_validate(row.body)
    run = session.state.run
    wait = run.waits.get(ended.node) if run is not None else None
    if run is None or wait is None or wait.on != "run" or wait.waits_for != ended.run:
        await session.commit(actor="system", inbox_done=[row.id])
        return
    value = {"value": dict(ended.value), "status": ended.status, "code": ended.code}
    if ended.status != "done":
        value |= {"title": ended.title, "reasons": dict(ended.reasons)}
    origins = Value.from_stored(ended.value).origins | Reasons.from_stored(ended.reasons).origins
    woken = RunWoken(node=ended.node, by="run", value=value, origins=sorted(origins))
    await session.commit(woken, actor=run.owner or "system", inbox_done=[row.id], inbox_new=[_build_play(session)])


async def take_owner_gone(row: InboxRow, session: Session, tools: Tools) -> None:
    """Its owner was erased."""
    await finish_run(
        session, tools, result=RunResult(status="failed", code="run-owner-gone"), notice=Notice(code="run-owner-gone"), done=[row.id]
    )
    if (playing := tools.running.get(session.key)) is not None:
        playing.stop()


async def take_restore(row: InboxRow, session: Session, _tools: Tools) -> None:
    """With buttons that let it go on or end it."""
    run = session.state.run
    outbox_rows: list[OutboxRow] = []
    if run is not None and run.status == "paused":
        run_id = session.key.removeprefix("run:")
        args = {"definition": run.name, "id": run_id[-6:]}
        labels = {"resume": Notice(code="run-resume"), "cancel": Notice(code="run-cancel-one", args={**args, "id": "none"})}
        actions = tuple(Action(words=(BUTTON, run_id, order), label=label) for order, label in labels.items())
        notice = Notice(code="run-restored", args={**args, "at": RunRestored.model_validate(row.body).made_at})
        outbox_rows = [outbox.build_reply_row(session.key, Reply(notices=(notice,), actions=actions), session.now)]
    await session.commit(actor="system", outbox=outbox_rows, inbox_done=[row.id])


async def take_order(row: InboxRow, session: Session, tools: Tools) -> None:
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    run = session.state.run
    run_order = RunOrder.model_validate(row.body)
    order, is_parents = run_order.order, bool(run_order.parent) and run is not None and run_order.parent == run.parent
    if run is None:  # it has no chat in which anything could be said; `listening.take_click` has answered the click
        await session.commit(actor=actor.key, inbox_done=[row.id])
        return
    if not may_control(actor, run):
        refusal = _build_refusal(row, session, Notice(code="run-not-yours"))
        await session.commit(actor=actor.key, outbox=refusal, inbox_done=[row.id])
        return
    click_toasts = build_click_toasts(row, session, Notice(code="toast-doing"))
    match order:
        case "pause" if run.status in {"running", "waiting"}:
            await _pause(row, session, actor, run, click_toasts)
        case "resume" if run.status == "paused":
            await _go_on(row, session, tools, "resume", click_toasts)
        case "retry" if run.status == "failed" or (is_parents and run.status == "cancelled"):
            await _go_on(row, session, tools, RETRY, click_toasts)
        case "cancel" if not run.is_over:
            await _cancel(row, session, tools, actor)
        case _ if is_parents:  # it goes on by itself, or has ended: its parent hears of it
            await session.commit(actor=actor.key, inbox_done=[row.id])
        case _:
            await _refuse_late(row, session, actor)


async def take_leave(row: InboxRow, session: Session, tools: Tools) -> None:
    """At an open question; of a child, the run around it is left."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    run, question_id = session.state.run, RunLeave.model_validate(row.body).question_id
    is_late = run is None or run.is_over or (bool(question_id) and _find_question(run, question_id) is None)
    if run is None or is_late or not may_control(actor, run):
        refusal = _build_refusal(row, session, Notice(code="choice-outdated" if is_late else "run-not-yours"))
        await session.commit(actor=actor.key, outbox=refusal, inbox_done=[row.id])
    elif run.parent:
        leave = RunLeave().to_row(run.parent, source=f"leave:{run.parent}:{row.id}", actor=row.actor, now=session.now)
        toasts = build_click_toasts(row, session, Notice(code="toast-doing"))
        await session.commit(actor=actor.key, outbox=toasts, inbox_done=[row.id], inbox_new=[leave])
    else:
        await _cancel(row, session, tools, actor)


async def _cancel(row: InboxRow, session: Session, tools: Tools, actor: Actor) -> None:
    await session.commit(actor=actor.key, outbox=build_click_toasts(row, session, Notice(code="toast-doing")))
    notice = Notice(code="run-was-cancelled", args={"who": actor.name})
    await finish_run(session, tools, result=RunResult(status="cancelled"), notice=notice, by=actor.key, done=[row.id])
    if (playing := tools.running.get(session.key)) is not None:
        playing.stop()


async def _pause(row: InboxRow, session: Session, actor: Actor, run: RunState, outbox_rows: Sequence[OutboxRow]) -> None:
    news = [outbox.build_reply_row(session.key, build_pause_reply(session.key, run), session.now)]
    event = RunWaits(node=WHOLE, on="pause", by=actor.key)
    try:
        await session.commit(event, actor=run.owner, outbox=[*outbox_rows, *news], inbox_done=[row.id])
    except RunOver:
        await _refuse_late(row, session, actor)


async def _refuse_late(row: InboxRow, session: Session, actor: Actor) -> None:
    """The order does not fit the run's status."""
    status = session.state.run.status if session.state.run is not None else "done"
    refused = _build_refusal(row, session, Notice(code="run-order-late", args={"status": status}))
    await session.commit(actor=actor.key, outbox=refused, inbox_done=[row.id])


async def _go_on(row: InboxRow, session: Session, tools: Tools, by: str, outbox_rows: list[OutboxRow]) -> None:
    """If the run changed at this moment, the order is judged anew: nothing ends twice."""
    owner, status = (run.owner, run.status) if (run := session.state.run) is not None else ("system", None)

    def check(step: Commit, state: SessionState) -> Commit:
        if state.run is None or state.run.status != status:
            raise RunOver
        return step

    news = [_build_play(session)]
    try:
        await session.commit(
            RunWoken(node=WHOLE, by=by), actor=owner, outbox=outbox_rows, inbox_done=[row.id], inbox_new=news, complete=check
        )
    except RunOver:
        await take_order(row, session, tools)


def may_control(actor: Actor, run: RunState) -> bool:
    """The owner, leads and administrators may."""
    return actor.key == run.owner or actor.role in MAY_CONTROL


async def pass_message(row: InboxRow, session: Session, _tools: Tools) -> None:
    """The session is that of the client that fetches it."""
    passed = RunMessage.model_validate(row.body)
    outbox_row = outbox.build_row(session.key, passed.message, passed.body, session.now, passed.key)
    await session.commit(actor="system", outbox=[outbox_row], inbox_done=[row.id])
