"""Requests made by a button: run an edited message anew, and create a lead or a task from a forwarded message.

A turn that has begun is not changed by an edit. A forwarded message stays quoted text: the request itself comes from code.
"""

from collections.abc import Sequence
from typing import Any, Final
from uuid import uuid5

from orchestrator.domain.outputs import Action, Notice, Reply
from orchestrator.language.lexicon import load_lexicon
from orchestrator.replies.code_notes import FORWARD_REQUESTS
from orchestrator.runtime import outbox
from orchestrator.runtime.input_filter import wake
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor
from state.canonical import hash_text
from state.clock import UUID_NAMESPACE
from state.events.talking import MessageEdited
from state.journal.store import InboxRow, OutboxRow, StoredEvent

EDITED_BUTTON: Final = "edited"
_DECISIONS: Final = frozenset({"ConfirmationApproved", "CallStarted"})
_DIGEST: Final = 16


async def offer_edited(row: InboxRow, session: Session, tools: Tools) -> None:
    """Offer to run the edited text; an edit that changed no word gets no answer. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    ref, text = int(row.body["message_id"]), str(row.body["text"])
    events = await read_recent_events(session, tools)
    said = next((item for item in reversed(events) if item.type == "MessageReceived" and _has_ref(item, ref)), None)
    known = _list_known_words(events, ref, said)
    if text in known or await _is_waiting(ref, text, session, tools):
        await session.commit(actor=actor.key, inbox_done=[row.id])
        return
    done = said is not None and _is_decided(events, str(said.data["turn_id"]), session)
    again = Action(words=(EDITED_BUTTON, str(ref), hash_text(text)[:_DIGEST]), label=Notice(code="button-again"))
    offer = not done and not text.startswith("/")
    reply = Reply(notices=(Notice(code="edited-done" if done else "edited"),), actions=(again,) if offer else ())
    told = outbox.build_reply_row(session.key, reply, session.now, key=f"edited:{ref}")
    event = MessageEdited(ref=ref, text=text, by=actor.key)
    await session.commit(event, actor=actor.key, outbox=[told], inbox_done=[row.id])


async def run_edited(row: InboxRow, session: Session, tools: Tools) -> None:
    """Run the edited text as a request, once, and only for the person who edited it. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, ref, digest = (*row.body["words"], "", "")[:3]
    events = await read_recent_events(session, tools)
    mine = [item for item in events if item.type == "MessageEdited" and str(item.data["ref"]) == ref and item.data["by"] == actor.key]
    newest = mine[-1] if mine else None
    if newest is None or hash_text(newest.data.get("text", ""))[:_DIGEST] != digest:
        told = build_toasts(row, session, Notice(code="toast-edit-gone"))
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    body: dict[str, Any] = {"text": newest.data["text"], "quoted": "", "origin": "button", "message_id": int(ref)}
    made = build_request(row, session, body, slot=f"edited/{ref}/{digest}")
    known = await is_made(made, session, tools)
    told = build_toasts(row, session, Notice(code="toast-already" if known else "toast-doing"))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id], inbox_new=[] if known else [made])
    wake(tools.store)


def _has_ref(event: StoredEvent, ref: int) -> bool:
    return bool(event.data.get("ref") == ref)


def _list_known_words(events: Sequence[StoredEvent], ref: int, said: StoredEvent | None) -> set[str]:
    """Return the texts the message had when it was received or last edited; for a merged message, its parts."""
    edits = [item.data.get("text", "") for item in events if item.type == "MessageEdited" and item.data["ref"] == ref]
    if edits:
        return {edits[-1]}
    if said is None:
        return set()
    text, quoted = str(said.data.get("text", "")), str(said.data.get("quoted", ""))
    return {text, quoted, text.partition("\n")[0], f"{text}\n{quoted}"}


async def _is_waiting(ref: int, text: str, session: Session, tools: Tools) -> bool:
    """Whether the message already waits for its turn with exactly this text."""
    waiting = await tools.store.list_waiting_inbox(session.key, "turn")
    return any(row.body.get("message_id") == ref and row.body.get("text") == text for row in waiting)


def _is_decided(events: Sequence[StoredEvent], turn_id: str, session: Session) -> bool:
    """Whether a change of that turn was approved or made: running it anew would make it twice."""
    entries = session.state.cards.values()
    if any(entry.turn_id == turn_id and entry.status not in {"requested", "denied", "expired", "superseded"} for entry in entries):
        return True
    return any(
        event.type in _DECISIONS and event.data.get("turn_id") == turn_id and event.data.get("call_class", "R") != "R" for event in events
    )


FORWARD_TEXTS = {wish: load_lexicon("requests").read_table("forwarded", wish) for wish in ("lead", "task")}
"""The person's request behind each button; holds nothing of the forwarded message."""


async def create_from_forward(row: InboxRow, session: Session, tools: Tools) -> None:
    """Create from the forwarded message what the button says, once. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, turn_id, wish = (*row.body["words"], "", "")[:3]
    events = await read_recent_events(session, tools)
    said = next((item for item in events if item.type == "MessageReceived" and item.data["turn_id"] == turn_id), None)
    if said is None or not said.data.get("quoted") or wish not in FORWARD_REQUESTS or said.actor != actor.key:
        code = "toast-not-yours" if said is not None and said.actor != actor.key else "toast-forward-gone"
        told = build_toasts(row, session, Notice(code=code))
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    body = {"text": FORWARD_TEXTS[wish][actor.locale], "quoted": said.data["quoted"], "origin": "button"}
    made = build_request(row, session, body, slot=f"forward/{turn_id}/{wish}")
    again = await is_made(made, session, tools)
    told = build_toasts(row, session, Notice(code="toast-already" if again else "toast-doing"))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id], inbox_new=[] if again else [made])
    wake(tools.store)


LOOK_BACK = 500
"""How many recent events of a session are searched for a message."""


async def read_recent_events(session: Session, tools: Tools) -> Sequence[StoredEvent]:
    """Return the last `LOOK_BACK` events of the session, as stored. Raises StoreError."""
    await session.flush()
    return await tools.store.read_events(session.stream, max(0, session.seq - LOOK_BACK))


def build_toasts(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """Return the answer to the click `row`, if it is one."""
    callback = str(row.body.get("callback_id") or "")
    return [outbox.build_toast_row(session.key, callback, notice, session.now)] if callback else []


def build_request(pressed: InboxRow, session: Session, body: dict[str, Any], *, slot: str, kind: str = "message") -> InboxRow:
    """Return the request that a click makes; the same `slot` in the same session gives the same id, so that it runs once."""
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


async def is_made(made: InboxRow, session: Session, tools: Tools) -> bool:
    """Whether the request exists already: waiting or running, which is checked first, or finished. Raises StoreError."""
    if any(row.id == made.id for row in await tools.store.list_waiting_inbox(made.session, made.lane)):
        return True
    return any(event.type == "MessageReceived" and event.data["turn_id"] == made.id for event in await read_recent_events(session, tools))
