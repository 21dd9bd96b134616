"""Words that were changed after they were sent: what was begun goes on as it was, and the new words are one press away. Ring 2."""

from collections.abc import Sequence
from typing import Any, Final

from orchestrator import outgoing
from orchestrator.asked import wake
from orchestrator.messages import Action, Notice, Reply
from orchestrator.session import Session
from orchestrator.talking import answering
from orchestrator.turns import Tools, admit_actor
from state.canonical import hash_text
from state.events_talking import MessageEdited
from state.store import InboxRow, StoredEvent

EDITED_BUTTON: Final = "edited"
_DECISIONS: Final = frozenset({"ConfirmationApproved", "CallStarted"})
_DIGEST: Final = 16


async def offer_edited(row: InboxRow, session: Session, tools: Tools) -> None:
    """Offer to work the new words; nothing is said of an edit that changed no word. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    ref, text = int(row.body["message_id"]), str(row.body["text"])
    events = await answering.read_recent_events(session, tools)
    said = next((item for item in reversed(events) if item.type == "MessageReceived" and _has_ref(item, ref)), None)
    known = _list_known_words(events, ref, said)
    if text in known or await _is_waiting(ref, text, session, tools):
        await session.commit(actor=actor.key, inbox_done=[row.id])
        return
    done = said is not None and _is_decided(events, str(said.data["turn_id"]), session)
    again = Action(words=(EDITED_BUTTON, str(ref), hash_text(text)[:_DIGEST]), label=Notice(code="button-again"))
    offer = not done and not text.startswith("/")
    reply = Reply(notices=(Notice(code="edited-done" if done else "edited"),), actions=(again,) if offer else ())
    told = outgoing.build_reply_row(session.key, reply, session.now, key=f"edited:{ref}")
    event = MessageEdited(ref=ref, text=text, by=actor.key)
    await session.commit(event, actor=actor.key, outbox=[told], inbox_done=[row.id])


async def run_edited(row: InboxRow, session: Session, tools: Tools) -> None:
    """Work the changed words as a request, once; only for whoever changed them. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    _, ref, digest = (*row.body["words"], "", "")[:3]
    events = await answering.read_recent_events(session, tools)
    mine = [item for item in events if item.type == "MessageEdited" and str(item.data["ref"]) == ref and item.data["by"] == actor.key]
    newest = mine[-1] if mine else None
    if newest is None or hash_text(newest.data.get("text", ""))[:_DIGEST] != digest:
        told = answering.build_toasts(row, session, Notice(code="toast-edit-gone"))
        await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id])
        return
    body: dict[str, Any] = {"text": newest.data["text"], "quoted": "", "origin": "button", "message_id": int(ref)}
    made = answering.build_request(row, session, body, slot=f"edited/{ref}/{digest}")
    known = await answering.is_made(made, session, tools)
    told = answering.build_toasts(row, session, Notice(code="toast-already" if known else "toast-doing"))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id], inbox_new=[] if known else [made])
    wake(tools.store)


def _has_ref(event: StoredEvent, ref: int) -> bool:
    return bool(event.data.get("ref") == ref)


def _list_known_words(events: Sequence[StoredEvent], ref: int, said: StoredEvent | None) -> set[str]:
    """The words that the message had when it was taken, or at its last edit; of one that was joined with others each line."""
    edits = [item.data.get("text", "") for item in events if item.type == "MessageEdited" and item.data["ref"] == ref]
    if edits:
        return {edits[-1]}
    if said is None:
        return set()
    text, quoted = str(said.data.get("text", "")), str(said.data.get("quoted", ""))
    return {text, quoted, text.partition("\n")[0], f"{text}\n{quoted}"}


async def _is_waiting(ref: int, text: str, session: Session, tools: Tools) -> bool:
    """Whether it waits for its turn with these very words."""
    waiting = await tools.store.list_waiting_inbox(session.key, "turn")
    return any(row.body.get("message_id") == ref and row.body.get("text") == text for row in waiting)


def _is_decided(events: Sequence[StoredEvent], turn_id: str, session: Session) -> bool:
    """Whether somebody has approved what came of it, or it has changed something: to work it anew would do it twice."""
    entries = session.state["agent"]["confirmations"].values()
    if any(
        entry.get("turn_id") == turn_id and entry["status"] not in {"requested", "denied", "expired", "superseded"} for entry in entries
    ):
        return True
    return any(
        event.type in _DECISIONS and event.data.get("turn_id") == turn_id and event.data.get("call_class", "R") != "R" for event in events
    )
