"""Requests made with a button, about an edited or forwarded message, whose text is only quoted."""

from collections.abc import Sequence
from typing import Final
from uuid import uuid5

from orchestrator.domain.inputs import EditedMessage, FeatureClick, TextMessage, parse_neighbour
from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import split_foreign_text
from orchestrator.replies.code_notes import FORWARD_REQUESTS
from orchestrator.sessions import outbox
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Tools
from orchestrator.turns.turn import admit_actor, build_click_toasts
from state.canonical import hash_text
from state.clock import UUID_NAMESPACE
from state.events.calls import CallStarted
from state.events.conversation import MessageReceived
from state.events.talking import MessageEdited
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
