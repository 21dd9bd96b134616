"""Finds standing orders by their timers: each that is not over has exactly one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.fold import fold_events
from state.events.orders import list_orders
from state.journal.journal import load_state, to_stream
from state.journal.schedule_index import PARKED
from state.journal.store import Store, Timer
from state.model.order_state import StandingOrder
from state.model.session_state import SessionState

TIMER: Final = "order"
_PAGE: Final = 1000
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundOrder:
    order: str
    home: str
    entry: StandingOrder


def name_timer(order: str) -> str:
    return f"{TIMER}:{order}"


def build_timer(order: str, entry: StandingOrder | None, events: Sequence[Event], *, home: str, now: datetime, seq: int) -> Timer:
    """Due at the next moment, at the latest at the end; deleted if the order is over.

    `entry` is the order before (None: new), `seq` the last event of `home`, which makes the time unique.
    """
    state = SessionState(orders={order: entry} if entry is not None else None)
    fold_events(state, ((type(event).__name__, event.model_dump(mode="json"), format_iso(now)) for event in events))
    entry = list_orders(state).get(order)
    if entry is None:
        return build_timer_deletion(order, home, now)
    due = min(filter(None, (entry.due, entry.until)))
    moment = PARKED if entry.status == "paused" else max(parse_iso(due), now)
    due_at = moment + timedelta(microseconds=(seq + len(events)) % _MICROSECONDS)
    watches = entry.status == "waiting" and not entry.due
    body = {"order": order, "due": entry.due, "owner": entry.owner, "watches": watches}
    return Timer(id=name_timer(order), due_at=due_at, session=home, kind=TIMER, body=body)


def build_timer_deletion(order: str, home: str, now: datetime) -> Timer:
    return Timer(id=name_timer(order), due_at=now, session=home, kind=TIMER, delete=True)


def list_watching_homes(store: Store) -> list[str]:
    """The sessions of orders that changes wake."""
    return sorted({timer.session for timer in iterate_timers(store) if timer.body.get("watches")})


def load_orders(store: Store, home: str) -> dict[str, StandingOrder]:
    return dict(list_orders(load_state(store, to_stream(home))[0]))


def iterate_timers(store: Store) -> Iterator[Timer]:
    after = ""
    while page := store.list_timers(TIMER, after, _PAGE):
        yield from page
        after = page[-1].id
