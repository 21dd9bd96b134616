"""What waits for its turn: told at /stop, taken off by a press. Ring 2."""

from typing import Final

from orchestrator.messages import Actor, Notice
from orchestrator.session import Session
from orchestrator.talking import answering
from orchestrator.turns import Tools, admitted
from state.store import InboxRow

PRESS: Final = "unqueue"
_REQUESTS: Final = frozenset({"message", "voice"})


async def waiting(actor: Actor, session: Session, tools: Tools) -> list[InboxRow]:
    """The requests of that person here that nobody has begun, oldest first. Raises StoreError."""
    rows = await tools.store.waiting_inbox(session.key, "turn")
    return [row for row in rows if row.kind in _REQUESTS and not row.attempts and row.actor.get("key") == actor.key]


async def unqueue(row: InboxRow, session: Session, tools: Tools) -> None:
    """Take the requests that wait off the queue; what has begun goes on. Raises StoreError."""
    actor = await admitted(row, session, tools)
    if actor is None:
        return
    dropped = [item.id for item in await waiting(actor, session, tools)]
    told = answering.toast(row, session, Notice(code="toast-unqueued", args={"count": len(dropped)}))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id, *dropped])
