"""Finds schedules in all sessions. Each schedule that is not over has exactly one timer, which names it, its session and its owner.

The timer changes in the commits that change the schedule, so the timers are an index of the schedules.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.fold import fold_events
from state.events.schedules import list_schedules
from state.journal.journal import load_state
from state.journal.store import Store, Timer
from state.journal.streams import to_stream
from state.model.schedule_state import Schedule
from state.model.session_state import SessionState

TIMER: Final = "schedule"
"""The kind of the timers."""
PARKED: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""When the timer of a paused schedule is due: never, but it remains in the index."""
_PAGE: Final = 1000
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSchedule:
    """A schedule with its id and the key of the session in whose chat it is shown."""

    schedule: str
    home: str
    entry: Schedule

    @property
    def sort_key(self) -> tuple[bool, str, str]:
        """The place in a list: the one that is due next first, paused ones last."""
        return self.entry.status == "paused", self.entry.due, self.schedule


def name_timer(schedule: str) -> str:
    """Return the id of the timer of a schedule."""
    return f"{TIMER}:{schedule}"


def build_timer(schedule: str, entry: Schedule | None, events: Sequence[Event], *, home: str, now: datetime, seq: int) -> Timer:
    """Return the timer of a schedule after `events`, to be stored with them: it is set, or deleted if the schedule is over.

    `entry` is the schedule before the events, None for a new one; `seq` is the number of the last event of the session `home` before them.
    A timer that is due becomes an input once for each time to which it is set, so it must never be set to the same time twice. The number
    of the event adds less than a second and makes the time unique. A moment that is over is due now.
    """
    state = SessionState(schedules={schedule: entry} if entry is not None else None)
    fold_events(state, ((type(event).__name__, event.model_dump(mode="json"), format_iso(now)) for event in events))
    entry = list_schedules(state).get(schedule)
    if entry is None:
        return build_timer_deletion(schedule, home, now)
    moment = PARKED if entry.status == "paused" else max(parse_iso(entry.due), now)
    due_at = moment + timedelta(microseconds=(seq + len(events)) % _MICROSECONDS)
    body = {"schedule": schedule, "due": entry.due, "owner": entry.owner}
    return Timer(id=name_timer(schedule), due_at=due_at, session=home, kind=TIMER, body=body)


def build_timer_deletion(schedule: str, home: str, now: datetime) -> Timer:
    """Return the change that deletes the timer of a schedule."""
    return Timer(id=name_timer(schedule), due_at=now, session=home, kind=TIMER, delete=True)


def find_schedule(store: Store, schedule: str) -> FoundSchedule | None:
    """Return the schedule with this id, None if there is none or it is over."""
    timer = store.find_timer(name_timer(schedule))
    if timer is None or timer.kind != TIMER:
        return None
    state, _ = load_state(store, to_stream(timer.session))
    entry = list_schedules(state).get(schedule)
    return FoundSchedule(schedule=schedule, home=timer.session, entry=entry) if entry is not None else None


def collect_schedules(store: Store, fits: Callable[[str, str], bool] = lambda _owner, _home: True) -> list[FoundSchedule]:
    """Return the schedules of all sessions for whose owner and session `fits` returns True, the one that is due next first."""
    homes: dict[str, set[str]] = {}
    for timer in iterate_timers(store):
        if fits(str(timer.body.get("owner", "")), timer.session):
            homes.setdefault(timer.session, set()).add(str(timer.body.get("schedule", "")))
    found = []
    for home, wanted in homes.items():
        state, _ = load_state(store, to_stream(home))
        known = list_schedules(state)
        found += [FoundSchedule(schedule=schedule, home=home, entry=known[schedule]) for schedule in wanted if schedule in known]
    return sorted(found, key=lambda one: one.sort_key)


def count_schedules(store: Store, owner: str) -> int:
    """Return how many schedules of this person or token are not over, in all sessions."""
    return sum(timer.body.get("owner") == owner for timer in iterate_timers(store))


def iterate_timers(store: Store) -> Iterator[Timer]:
    """Yield the timers of all schedules, sorted by id."""
    after = ""
    while page := store.list_timers(TIMER, after, _PAGE):
        yield from page
        after = page[-1].id
