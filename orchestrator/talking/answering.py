"""Small things that the handlers of talking share: answering a press, finding what was said. Ring 2."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid5

from orchestrator import outgoing
from orchestrator.messages import Notice
from orchestrator.session import Session
from orchestrator.turns import Tools
from state.clock import UUID_NAMESPACE
from state.store import InboxRow, OutboxRow, StoredEvent

LOOK_BACK = 500
"""Events of a conversation in which something that was said is looked for."""


async def read_recent_events(session: Session, tools: Tools) -> Sequence[StoredEvent]:
    """The last events of the conversation, as stored. Raises StoreError."""
    await session.flush()
    return await tools.store.read_events(session.stream, max(0, session.seq - LOOK_BACK))


def build_toasts(row: InboxRow, session: Session, notice: Notice) -> list[OutboxRow]:
    """The answer to the press that `row` is."""
    callback = str(row.body.get("callback_id") or "")
    return [outgoing.build_toast_row(session.key, callback, notice, session.now)] if callback else []


def build_request(pressed: InboxRow, session: Session, body: dict[str, Any], *, slot: str, kind: str = "message") -> InboxRow:
    """A request that a press makes; the same `slot` of the same conversation gives the same one, so that it is worked once."""
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
    """Whether that request is there already: waiting or at work, which is looked at first, or worked. Raises StoreError."""
    if any(row.id == made.id for row in await tools.store.list_waiting_inbox(made.session, made.lane)):
        return True
    return any(event.type == "MessageReceived" and event.data["turn_id"] == made.id for event in await read_recent_events(session, tools))
