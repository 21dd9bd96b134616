"""Finds schedules by their timers: each that is not over has exactly one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.fold import fold_events
from state.events.schedules import list_schedules
from state.journal.journal import load_state, to_stream
from state.journal.store import Store, Timer
from state.model.schedule_state import Schedule
from state.model.session_state import SessionState

TIMER: Final = "schedule"
PARKED: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""A paused schedule's timer is never due but remains in the index."""
_PAGE: Final = 1000
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSchedule:
    """`home` is the session in whose chat it is shown."""

    schedule: str
    home: str
    entry: Schedule

    @property
    def sort_key(self) -> tuple[bool, str, str]:
        return self.entry.status == "paused", self.entry.due, self.schedule


def name_timer(schedule: str) -> str:
    return f"{TIMER}:{schedule}"


def build_timer(schedule: str, entry: Schedule | None, events: Sequence[Event], *, home: str, now: datetime, seq: int) -> Timer:
    """The timer is deleted if the schedule is over.

    `entry` is the schedule before (None: new), `seq` the last event of `home`. It makes the time unique: a timer must never be set to the
    same time twice.
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
    return Timer(id=name_timer(schedule), due_at=now, session=home, kind=TIMER, delete=True)


def find_schedule(store: Store, schedule: str) -> FoundSchedule | None:
    """None also if it is over."""
    timer = store.find_timer(name_timer(schedule))
    if timer is None or timer.kind != TIMER:
        return None
    state, _ = load_state(store, to_stream(timer.session))
    entry = list_schedules(state).get(schedule)
    return FoundSchedule(schedule=schedule, home=timer.session, entry=entry) if entry is not None else None


def collect_schedules(store: Store, fits: Callable[[str, str], bool] = lambda _owner, _home: True) -> list[FoundSchedule]:
    homes: dict[str, set[str]] = {}
    for timer in iterate_timers(store):
        if fits(str(timer.body.get("owner", "")), timer.session):
            homes.setdefault(timer.session, set()).add(str(timer.body.get("schedule", "")))
    schedules = []
    for home, ids in homes.items():
        state, _ = load_state(store, to_stream(home))
        known = list_schedules(state)
        schedules += [FoundSchedule(schedule=schedule, home=home, entry=known[schedule]) for schedule in ids if schedule in known]
    return sorted(schedules, key=lambda schedule: schedule.sort_key)


def count_schedules(store: Store, owner: str) -> int:
    return sum(timer.body.get("owner") == owner for timer in iterate_timers(store))


def iterate_timers(store: Store) -> Iterator[Timer]:
    after = ""
    while page := store.list_timers(TIMER, after, _PAGE):
        yield from page
        after = page[-1].id
