"""What becomes of words before they are a request: an answer to a question of ours, or nothing, because of a /stop. Ring 2."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid5

from orchestrator.runtime.session import Session
from state.clock import UUID_NAMESPACE, generate_id
from state.events.cards import build_question_key, list_edits
from state.events.leads import find_awaited_denial
from state.events.talking import RequestDropped, find_stop_time
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow


async def recognize_answer(row: InboxRow, session: Session, store: AsyncStore) -> InboxRow | None:
    """The input that a message is when it answers such a question, None for any other. Raises StoreError.

    A value answers the very message that asks for it; a reason is the next thing that the lead writes where they were asked.
    """
    if row.kind != "message" or row.body.get("origin") != "typed" or not row.body.get("text") or "pieces" in row.body:
        return None
    person = str(row.actor.get("key", ""))
    reply_to = row.body.get("reply_to")
    if reply_to:
        for confirmation_id, edit in list_edits(dict(session.state)).items():
            key = build_question_key(confirmation_id, edit["ask"])
            if edit["by"] == person and (await store.find_sent_ref(session.key, key)).partition("@")[0] == str(reply_to):
                return _to_kind(row, "edit_value", {"confirmation_id": confirmation_id, "ask": edit["ask"]})
    if find_awaited_denial(session.state, person, session.now) is not None:
        return _to_kind(row, "reason", {})
    return None


def build_dropped_event(row: InboxRow, session: Session) -> RequestDropped | None:
    """What is noted of a request that came before its person said /stop and was not begun by then; None for any other."""
    if not is_cancelled(row, session) or (session.state["turn"] or {}).get("turn_id") == row.id:
        return None
    person = str(row.actor.get("key", ""))
    at = find_stop_time(dict(session.state), person)
    return RequestDropped(by=person, at=at, request={"kind": row.kind, "body": dict(row.body)})


def is_cancelled(row: InboxRow, session: Session) -> bool:
    """Whether its person has said /stop after it came, or somebody who may while it was worked."""
    turn = session.state["turn"] or {}
    if turn.get("turn_id") == row.id and turn.get("stopped"):
        return True
    return int(row.received_at.timestamp() * 1000) < find_stop_time(dict(session.state), str(row.actor.get("key", "")))


def wake(store: AsyncStore) -> None:
    """Have an input begun at once that a handler put into another lane; nobody else tells of those."""
    for listener in store.listeners:
        listener()


def build_cross_session_row(kind: str, row: InboxRow, home: str, body: Mapping[str, Any], session: Session) -> InboxRow:
    """What `row` asks of another conversation, once for each; whoever hands it in wakes the workers."""
    return InboxRow(
        id=generate_id(),
        source=f"{kind}:{row.id}:{home}",
        session=home,
        lane="express",
        kind=kind,
        actor=row.actor,
        body=body,
        received_at=session.now,
    )


def _to_kind(row: InboxRow, kind: str, body: dict[str, Any]) -> InboxRow:
    """The same words as an input of another kind; made anew after a crash it is the same one."""
    said = {"text": row.body["text"], "message_id": row.body.get("message_id", 0)}
    return InboxRow(
        id=uuid5(UUID_NAMESPACE, f"{row.id}/{kind}").hex,
        source=f"{row.source}:{kind}",
        session=row.session,
        lane="express",
        kind=kind,
        actor=row.actor,
        body={**body, **said},
        received_at=row.received_at,
    )


def build_system_row(kind: str, session: str, source: str, now: datetime, *, body: Mapping[str, Any] | None = None) -> InboxRow:
    """An input of nobody's asking for that conversation, once for each source; it overtakes what people asked for."""
    return InboxRow(
        id=generate_id(),
        source=source,
        session=session,
        lane="express",
        kind=kind,
        actor={"key": "system", "name": "system"},
        body=body or {},
        received_at=now,
    )
