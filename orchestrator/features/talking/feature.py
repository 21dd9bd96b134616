"""/stop, voice and edited messages, direct answers, and buttons under forwarded ones."""

from collections.abc import Sequence
from functools import partial
from typing import Final
from uuid import uuid5

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import REQUEST_KINDS, DirectAnswer, EditedMessage, FeatureClick, TextMessage, TurnGoesOn, parse_neighbour
from orchestrator.domain.outputs import Action, Notice, Reply, build_reply
from orchestrator.features.talking.voice import VoiceInput
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import split_foreign_text
from orchestrator.replies import code_notes
from orchestrator.replies.code_notes import FORWARD_REQUESTS
from orchestrator.sessions import outbox
from orchestrator.sessions.paused_turns import list_paused_turns
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature, Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts, build_runs_notices
from state.canonical import hash_text
from state.clock import UUID_NAMESPACE
from state.events.calls import CallStarted
from state.events.conversation import MessageReceived
from state.events.talking import MessageEdited, RequestDropped, StopAsked
from state.journal.store import InboxRow, StoredEvent
from state.stored import JsonObject

EDITED_BUTTON: Final = "edited"
_DIGEST: Final = 16


async def offer_edited(row: InboxRow, session: Session, tools: Tools) -> None:
    """There is no answer to an edit without a new text."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    edited = EditedMessage.model_validate(row.body)
    ref, text = edited.message_id, edited.text
    events = await read_recent_events(session, tools)
    message = next((message_received for message_received in reversed(_list_messages(events)) if message_received.ref == ref), None)
    if _is_known_text(text, events, ref, message) or await _is_waiting(ref, text, session, tools):
        await session.commit(actor=actor.key, inbox_done=[row.id])
        return
    done = message is not None and _is_decided(events, message.turn_id, session)
    again = Action(words=(EDITED_BUTTON, str(ref), hash_text(text)[:_DIGEST]), label=Notice(code="button-again"))
    offer = not done and not text.startswith("/")
    reply = Reply(notices=(Notice(code="edited-done" if done else "edited"),), actions=(again,) if offer else ())
    reply_row = outbox.build_reply_row(session.key, reply, session.now, key=f"edited:{ref}")
    event = MessageEdited(ref=ref, text=text, by=actor.key)
    await session.commit(event, actor=actor.key, outbox=[reply_row], inbox_done=[row.id])


async def run_edited(row: InboxRow, session: Session, tools: Tools) -> None:
    """Works once, and only for the person who edited the message."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, ref, digest = (*FeatureClick.model_validate(row.body).words, "", "")[:3]
    events = await read_recent_events(session, tools)
    edits = _list_edits(events)
    newest = next((edit for edit in reversed(edits) if str(edit.ref) == ref and edit.by == actor.key), None)
    if newest is None or hash_text(newest.text)[:_DIGEST] != digest:
        click_toasts = build_click_toasts(row, session, Notice(code="toast-edit-gone"))
        await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id])
        return
    own, pasted = split_foreign_text(newest.text)
    first = next((said for said in reversed(_list_messages(events)) if said.ref == newest.ref), None)
    beside = first is None or first.answers_others or bool(first.quoted)  # what stood beside the message stands there still
    text_message = TextMessage(text=own, quoted=pasted, answers_others=beside, origin="button", message_id=newest.ref)
    request = build_request(row, session, text_message.to_json(), slot=f"edited/{ref}/{digest}")
    known = await is_made(request, session, tools)
    click_toasts = build_click_toasts(row, session, Notice(code="toast-already" if known else "toast-doing"))
    await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id], inbox_new=[] if known else [request])


def _list_messages(events: Sequence[StoredEvent]) -> list[MessageReceived]:
    return [MessageReceived.from_data(item.data) for item in events if item.type == "MessageReceived"]


def _list_edits(events: Sequence[StoredEvent]) -> list[MessageEdited]:
    return [MessageEdited.from_data(item.data) for item in events if item.type == "MessageEdited"]


def _is_known_text(text: str, events: Sequence[StoredEvent], ref: int, received: MessageReceived | None) -> bool:
    """As edited last, or as received: as a whole or by its parts."""
    edits = [edit.text for edit in _list_edits(events) if edit.ref == ref]
    if edits:
        return text == edits[-1]
    if received is None:
        return False
    parts = {received.text, received.quoted, received.text.partition("\n")[0], f"{received.text}\n{received.quoted}"}
    return text in parts or split_foreign_text(text) == (received.text, received.quoted)


async def _is_waiting(ref: int, text: str, session: Session, tools: Tools) -> bool:
    waiting = await tools.store.list_waiting_inbox(session.key, "turn")
    requests = (neighbour for row in waiting if isinstance(neighbour := parse_neighbour(row), TextMessage))
    return any(request.message_id == ref and request.text == text for request in requests)


def _is_decided(events: Sequence[StoredEvent], turn_id: str, session: Session) -> bool:
    """Running again would make a change twice."""
    entries = session.state.cards.values()
    if any(entry.turn_id == turn_id and entry.status not in {"requested", "denied", "expired", "superseded"} for entry in entries):
        return True
    calls = (CallStarted.from_data(event.data) for event in events if event.type == "CallStarted")
    return any(call.turn_id == turn_id and call.call_class != "R" for call in calls)


FORWARD_TEXTS = {wish: load_lexicon("requests").read_table("forwarded", wish) for wish in ("lead", "task")}


async def create_from_forward(row: InboxRow, session: Session, tools: Tools) -> None:
    """Works once."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, turn_id, wish = (*FeatureClick.model_validate(row.body).words, "", "")[:3]
    events = await read_recent_events(session, tools)
    messages = ((MessageReceived.from_data(item.data), item.actor) for item in events if item.type == "MessageReceived")
    quoted, by = next(((message.quoted, by) for message, by in messages if message.turn_id == turn_id), ("", actor.key))
    if not quoted or wish not in FORWARD_REQUESTS or by != actor.key:
        click_toasts = build_click_toasts(row, session, Notice(code="toast-not-yours" if by != actor.key else "toast-forward-gone"))
        await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id])
        return
    request = TextMessage(text=FORWARD_TEXTS[wish][actor.locale], quoted=quoted, origin="button")
    inbox_row = build_request(row, session, request.to_json(), slot=f"forward/{turn_id}/{wish}")
    again = await is_made(inbox_row, session, tools)
    click_toasts = build_click_toasts(row, session, Notice(code="toast-already" if again else "toast-doing"))
    await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id], inbox_new=[] if again else [inbox_row])


LOOK_BACK = 500


async def read_recent_events(session: Session, tools: Tools) -> Sequence[StoredEvent]:
    """Oldest first; stores buffered events before. Raises StoreError."""
    await session.flush()
    return await tools.store.read_events(session.stream, max(0, session.seq - LOOK_BACK))


def build_request(pressed: InboxRow, session: Session, body: JsonObject, *, slot: str, kind: str = TextMessage.KIND) -> InboxRow:
    """A second click makes the same row, by session and `slot`."""
    place = f"{session.key}/{slot}"
    return InboxRow(
        id=uuid5(UUID_NAMESPACE, place).hex,
        source=f"press:{place}",
        session=session.key,
        lane="turn",
        kind=kind,
        actor=pressed.actor,
        body=body,
        received_at=session.now,
    )


async def is_made(inbox_row: InboxRow, session: Session, tools: Tools) -> bool:
    """Also if it waits. Raises StoreError."""
    if any(row.id == inbox_row.id for row in await tools.store.list_waiting_inbox(inbox_row.session, inbox_row.lane)):
        return True
    return any(message.turn_id == inbox_row.id for message in _list_messages(await read_recent_events(session, tools)))


PRESS: Final = "requeue"
_LEADING: Final = frozenset({"lead", "admin"})


async def stop(row: InboxRow, session: Session, tools: Tools) -> None:
    """A sent call is not cut off. Only a lead or administrator stops somebody else's turn.

    No request that arrived before the stop begins, so none both runs and is dropped.
    """
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
    events = await read_recent_events(session, tools)
    dropped = [(item.seq, RequestDropped.from_data(item.data)) for item in events if item.type == "RequestDropped"]
    inbox_rows = [
        build_request(row, session, gone.request["body"], slot=f"requeue/{at}/{seq}", kind=gone.request["kind"])
        for seq, gone in dropped
        if gone.by == actor.key and str(gone.at) == at and gone.request
    ]
    fresh = [inbox_row for inbox_row in inbox_rows if not await is_made(inbox_row, session, tools)]
    click_toasts = build_click_toasts(row, session, Notice(code="toast-requeued", args={"count": len(fresh)}))
    await session.commit(actor=actor.key, outbox=click_toasts, inbox_done=[row.id], inbox_new=fresh)


UNREADABLE: Final = "only-text"
"""A message has nothing that the bot can read."""


def build_feature(ear: VoiceInput | None = None) -> Feature:
    """Without `ear` voice messages have no handler."""
    answer = partial(send_answer, hears=ear is not None and ear.transcriber is not None)
    return Feature(
        inbox={"answer": answer, "edited": offer_edited, **({"voice": ear.receive_voice} if ear else {})},
        commands={"stop": stop},
        buttons={
            code_notes.FORWARD_BUTTON: create_from_forward,
            EDITED_BUTTON: run_edited,
            PRESS: restore_dropped,
        },
    )


async def send_answer(row: InboxRow, session: Session, _tools: Tools, *, hears: bool) -> None:
    """With `hears` an unreadable message gets a hint at voice messages."""
    notice = DirectAnswer.model_validate(row.body).notice
    more = [Notice(code="voice-works")] if hears and notice.code == UNREADABLE else []
    reply_row = outbox.build_reply_row(session.key, build_reply(notice, *more), session.now)
    await session.commit(actor="system", outbox=[reply_row], inbox_done=[row.id])
