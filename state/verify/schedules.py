"""Compares the timers of schedules with the journal: each has exactly one."""

from collections.abc import Iterable, Iterator
from typing import Final

from state.events.schedules import list_schedules
from state.findings import Finding
from state.journal.journal import load_state, to_lease_key, to_stream
from state.journal.schedule_index import PARKED, iterate_timers
from state.journal.store import Store, Timer
from state.model.schedule_state import Schedule

TRIES: Final = 3


def check_schedules(store: Store, streams: Iterable[str]) -> Iterator[Finding]:
    """A session is looked at again if the bot changes it meanwhile."""
    for stream in sorted({*streams, *(to_stream(timer.session) for timer in iterate_timers(store))}):
        findings: list[Finding] = []
        for _ in range(TRIES):
            before = store.read_head(stream)
            findings = list(_compare(store, stream))
            if not findings or store.read_head(stream) == before:
                break
        yield from findings


def _compare(store: Store, stream: str) -> Iterator[Finding]:
    home = to_lease_key(stream)
    known = dict(list_schedules(load_state(store, stream)[0]))
    for timer in [one for one in iterate_timers(store) if one.session == home]:
        schedule = str(timer.body.get("schedule", ""))
        entry = known.pop(schedule, None)
        if entry is None:
            yield _build_finding(schedule, stream, "it has a timer, and the journal has no such schedule any more")
        elif why := _find_difference(entry, timer):
            yield _build_finding(schedule, stream, why)
    for schedule in known:
        yield _build_finding(schedule, stream, "it has no timer, so it would never be due, and no list has it")


def _find_difference(entry: Schedule, timer: Timer) -> str:
    if timer.body.get("due") != entry.due:
        return f"its timer is for {timer.body.get('due')}, the journal says {entry.due}"
    if timer.body.get("owner") != entry.owner:
        return f"its timer says that it is of {timer.body.get('owner')}, the journal says {entry.owner}"
    if (timer.due_at >= PARKED) != (entry.status == "paused"):
        return f"the journal says that it is {entry.status}, and its timer is due at {timer.due_at.isoformat()}"
    return ""


def _build_finding(schedule: str, stream: str, why: str) -> Finding:
    return Finding(kind="inconsistent", place=f"schedule {schedule} of {stream}", why=why)
