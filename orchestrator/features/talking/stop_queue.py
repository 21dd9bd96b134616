"""/stop also covers waiting requests: those that have not begun are dropped, and one click queues them again.

The stop is an event with its time, which is checked before each request begins, so that no request is both run and dropped.
"""

from typing import Final

from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import REQUEST_KINDS, FeatureClick
from orchestrator.domain.outputs import Notice
from orchestrator.features.talking import button_requests
from orchestrator.runtime.input_filter import wake
from orchestrator.runtime.session import Session
from orchestrator.runtime.turn import Tools, admit_actor, build_click_toasts
from state.events.talking import RequestDropped, StopAsked
from state.journal.store import InboxRow

PRESS: Final = "requeue"
_LEADING: Final = frozenset({"lead", "admin"})


async def count_waiting(actor: Actor, session: Session, tools: Tools) -> int:
    """Return how many requests of `actor` in this session have not begun. Raises StoreError.

    A request taken up while nothing is running still waits: for further parts of a paste, or for a free place among the turns.
    """
    rows = await tools.store.list_waiting_inbox(session.key, "turn")
    at_work = session.key in tools.running or session.state.turn is not None
    mine = (row for row in rows if row.kind in REQUEST_KINDS and row.actor_key == actor.key)
    return sum(not (row.attempts and at_work) for row in mine)


async def find_requester(session: Session, tools: Tools) -> Actor | None:
    """Return the requester of the work running in this session, None if nothing runs. Raises StoreError."""
    at_work, turn = tools.running.get(session.key), session.state.turn
    if at_work is not None:
        return at_work.actor
    rows = await tools.store.list_waiting_inbox(session.key, "turn") if turn else ()  # of a process that died
    return next((Actor.model_validate(row.actor) for row in rows if turn and row.id == turn.turn_id), None)


def may_stop(actor: Actor, person: Actor | None) -> bool:
    """Whether `actor` may stop a request of `person`: their own, or any as a lead."""
    return person is None or person.key == actor.key or actor.role in _LEADING


def build_stop_event(row: InboxRow, person: str, *, turn_id: str = "") -> StopAsked:
    """Return the event of a /stop: for all earlier requests of that person, or for one turn of theirs."""
    return StopAsked(by=person, at=to_milliseconds(row), turn_id=turn_id)


def to_milliseconds(row: InboxRow) -> int:
    """Return the time at which the input was received, in milliseconds since the epoch."""
    return int(row.received_at.timestamp() * 1000)


async def restore_dropped(row: InboxRow, session: Session, tools: Tools) -> None:
    """Queue again what a /stop dropped, once, and only for the person who stopped it. Raises StoreError."""
    actor = await admit_actor(row, session, tools)
    if actor is None:
        return
    at = (*FeatureClick.model_validate(row.body).words, "")[1]
    events = await button_requests.read_recent_events(session, tools)
    dropped = [(item.seq, RequestDropped.from_data(item.data)) for item in events if item.type == "RequestDropped"]
    made = [
        button_requests.build_request(row, session, gone.request["body"], slot=f"requeue/{at}/{seq}", kind=gone.request["kind"])
        for seq, gone in dropped
        if gone.by == actor.key and str(gone.at) == at and gone.request
    ]
    fresh = [one for one in made if not await button_requests.is_made(one, session, tools)]
    told = build_click_toasts(row, session, Notice(code="toast-requeued", args={"count": len(fresh)}))
    await session.commit(actor=actor.key, outbox=told, inbox_done=[row.id], inbox_new=fresh)
    wake(tools.store)
