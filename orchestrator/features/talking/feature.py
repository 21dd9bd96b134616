"""/stop, voice and edited messages, direct answers, and buttons under forwarded ones."""

from functools import partial
from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import REQUEST_KINDS, DirectAnswer, FeatureClick, TurnGoesOn
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.features.talking import button_requests
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.replies import code_notes
from orchestrator.sessions import outbox
from orchestrator.sessions.paused_turns import list_paused_turns
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts, build_runs_notices
from state.events.talking import RequestDropped, StopAsked
from state.journal.store import InboxRow

PRESS: Final = "requeue"
_LEADING: Final = frozenset({"lead", "admin"})


async def stop(row: InboxRow, session: Session, tools: Tools) -> None:
    """A sent call is not cut off. Only a lead or administrator stops somebody else's turn."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    person = await find_requester(session, tools)
    theirs = not may_stop(actor, person)
    running = not theirs and (session.key in tools.running or session.state.turn is not None)
    code = "stop-not-yours" if theirs else "stopping" if running else "nothing-to-stop"
    notices = [Notice(code=code, args={"who": person.name} if theirs and person else {})]
    try:
        behind = await count_waiting(actor, session, tools)
        again = Action(words=(PRESS, str(to_milliseconds(row))), label=Notice(code="button-requeue"))
        paused = bool(list_paused_turns(session.state, actor.key))
        left = [Notice(code="stop-queue", args={"count": behind})] * bool(behind) + [Notice(code="stop-paused")] * paused
        if left:
            notices = [*notices[: int(running or theirs)], *left]
        notices += await build_runs_notices(actor, session, tools)
        reply = Reply(notices=tuple(notices), actions=(again,) if behind else ())
        reply_row = outbox.build_reply_row(session.key, reply, session.now)
        turn = session.state.turn if running else None
        events = [build_stop_event(row, actor.key)] if behind or paused else []
        if turn is not None:  # should the process die before its end, whoever goes on with it learns of it
            events.append(build_stop_event(row, (person or actor).key, turn_id=turn.turn_id))
        await session.commit(*events, actor=actor.key, outbox=[reply_row], inbox_done=[row.id])
    finally:
        at_work = tools.running.get(session.key)
        if at_work is not None and may_stop(actor, at_work.actor):  # another turn may have begun meanwhile
            at_work.stop()


async def count_waiting(actor: Actor, session: Session, tools: Tools) -> int:
    """Also taken ones that wait for a turn. Raises StoreError."""
    rows = await tools.store.list_waiting_inbox(session.key, "turn")
    at_work = session.key in tools.running or session.state.turn is not None
    mine = (row for row in rows if row.kind in {*REQUEST_KINDS, TurnGoesOn.KIND} and row.actor_key == actor.key)
    return sum(not (row.attempts and at_work) for row in mine)


async def find_requester(session: Session, tools: Tools) -> Actor | None:
    """None if nothing runs. Raises StoreError."""
    at_work, turn = tools.running.get(session.key), session.state.turn
    if at_work is not None:
        return at_work.actor
    rows = await tools.store.list_waiting_inbox(session.key, "turn") if turn else ()  # of a process that died
    return next((Actor.model_validate(row.actor) for row in rows if turn and turn.turn_id in {row.id, row.body.get("turn_id")}), None)


def may_stop(actor: Actor, person: Actor | None) -> bool:
    return person is None or person.key == actor.key or actor.role in _LEADING


def build_stop_event(row: InboxRow, person: str, *, turn_id: str = "") -> StopAsked:
    """With `turn_id` the event stops only that turn."""
    return StopAsked(by=person, at=to_milliseconds(row), turn_id=turn_id)


def to_milliseconds(row: InboxRow) -> int:
    return int(row.received_at.timestamp() * 1000)


async def restore_dropped(row: InboxRow, session: Session, tools: Tools) -> None:
    """Works once, and only for their requester."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    at = (*FeatureClick.model_validate(row.body).words, "")[1]
    events = await button_requests.read_recent_events(session, tools)
    dropped = [(item.seq, RequestDropped.from_data(item.data)) for item in events if item.type == "RequestDropped"]
    inbox_rows = [
        button_requests.build_request(row, session, gone.request["body"], slot=f"requeue/{at}/{seq}", kind=gone.request["kind"])
        for seq, gone in dropped
        if gone.by == actor.key and str(gone.at) == at and gone.request
    ]
    fresh = [inbox_row for inbox_row in inbox_rows if not await button_requests.is_made(inbox_row, session, tools)]
    click_toasts = build_click_toasts(row, session, Notice(code="toast-requeued", args={"count": len(fresh)}))
    await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id], inbox_new=fresh)


UNREADABLE: Final = "only-text"
"""A message has nothing that the bot can read."""


def build_feature(ear: VoiceInput | None = None) -> Feature:
    """Without `ear` voice messages have no handler."""
    answer = partial(send_answer, hears=ear is not None and ear.transcriber is not None)
    return Feature(
        inbox={"answer": answer, "edited": button_requests.offer_edited, **({"voice": ear.receive_voice} if ear else {})},
        commands={"stop": stop},
        buttons={
            code_notes.FORWARD_BUTTON: button_requests.create_from_forward,
            button_requests.EDITED_BUTTON: button_requests.run_edited,
            PRESS: restore_dropped,
        },
    )


async def send_answer(row: InboxRow, session: Session, _tools: Tools, *, hears: bool) -> None:
    """With `hears` an unreadable message gets a hint at voice messages."""
    notice = DirectAnswer.model_validate(row.body).notice
    more = [Notice(code="voice-works")] if hears and notice.code == UNREADABLE else []
    reply_row = outbox.build_reply_row(session.key, build_reply(notice, *more), session.now)
    await session.commit(actor="system", outbox=[reply_row], inbox_done=[row.id])
