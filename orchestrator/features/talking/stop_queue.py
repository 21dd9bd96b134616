"""/stop means what waits, too: requests that were not begun are left out, and one press brings them back. Ring 2.

The stop is an event with its moment, and whoever comes to a request looks at it: so no request is begun and dropped at once.
"""

from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.features.talking import button_requests
from orchestrator.runtime.input_filter import wake
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor
from state.events.talking import StopAsked
from state.journal.store import InboxRow

PRESS: Final = "requeue"
_REQUESTS: Final = frozenset({"message", "voice"})
_LEADING: Final = frozenset({"lead", "admin"})


async def count_waiting(actor: Actor, session: Session, tools: Tools) -> int:
    """How many requests of that person here nobody has begun. Raises StoreError.

    One that was taken up while nothing is at work still waits: for the rest of a paste, or for its place among many.
    """
    rows = await tools.store.list_waiting_inbox(session.key, "turn")
    at_work = session.key in tools.running or session.state["turn"] is not None
    mine = (row for row in rows if row.kind in _REQUESTS and row.actor.get("key") == actor.key)
    return sum(not (row.attempts and at_work) for row in mine)


async def find_requester(session: Session, tools: Tools) -> Actor | None:
    """Whoever asked for what is at work here, None where nothing is. Raises StoreError."""
    at_work, turn = tools.running.get(session.key), session.state["turn"]
    if at_work is not None:
        return at_work.actor
    rows = await tools.store.list_waiting_inbox(session.key, "turn") if turn else ()  # of a process that died
    return next((Actor.model_validate(row.actor) for row in rows if row.id == turn["turn_id"]), None)


def may_stop(actor: Actor, person: Actor | None) -> bool:
    """Whether somebody may end what that person asked for: their own request, or any of them as a lead."""
    return person is None or person.key == actor.key or actor.role in _LEADING


def build_stop_event(row: InboxRow, person: str, *, turn_id: str = "") -> StopAsked:
    """What a /stop is to the requests of that person that came before it, or to that one turn of theirs."""
    return StopAsked(by=person, at=to_milliseconds(row), turn_id=turn_id)


def to_milliseconds(row: InboxRow) -> int:
    """When it came in, in milliseconds."""
    return int(row.received_at.timestamp() * 1000)


async def restore_dropped(row: InboxRow, session: Session, tools: Tools) -> None:
    """Bring back what a stop has left out, once; only for whoever stopped it. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    at = (*row.body["words"], "")[1]
    events = await button_requests.read_recent_events(session, tools)
    mine = [item for item in events if item.type == "RequestDropped" and item.data["by"] == actor.key and str(item.data["at"]) == at]
    made = [
        button_requests.build_request(
            row, session, dict(item.data["request"]["body"]), slot=f"requeue/{at}/{item.seq}", kind=item.data["request"]["kind"]
        )
        for item in mine
        if item.data.get("request")
    ]
    fresh = [one for one in made if not await button_requests.is_made(one, session, tools)]
    told = button_requests.build_toasts(row, session, Notice(code="toast-requeued", args={"count": len(fresh)}))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id], inbox_new=fresh)
    wake(tools.store)
