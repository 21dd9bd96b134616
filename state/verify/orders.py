"""Compares the timers of standing orders with the journal: each has exactly one."""

from collections.abc import Iterable, Iterator

from state.findings import Finding
from state.journal.journal import to_lease_key, to_stream
from state.journal.order_index import iterate_timers, load_orders
from state.journal.schedule_index import PARKED
from state.journal.store import Store, Timer
from state.model.order_state import StandingOrder
from state.verify.schedules import TRIES


def check_orders(store: Store, streams: Iterable[str]) -> Iterator[Finding]:
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
    known = load_orders(store, home)
    for timer in [one for one in iterate_timers(store) if one.session == home]:
        order = str(timer.body.get("order", ""))
        entry = known.pop(order, None)
        why = "it has a timer, and the journal has no such order any more" if entry is None else _find_difference(entry, timer)
        if why:
            yield _build_finding(order, stream, why)
    for order in known:
        yield _build_finding(order, stream, "it has no timer, so it would never end, and no look finds it")


def _find_difference(entry: StandingOrder, timer: Timer) -> str:
    for name, stored in (("due", entry.due), ("owner", entry.owner), ("watches", entry.status == "waiting" and not entry.due)):
        if timer.body.get(name) != stored:
            return f"its timer says {name} {timer.body.get(name)}, the journal says {stored}"
    if (timer.due_at >= PARKED) != (entry.status == "paused"):
        return f"the journal says that it is {entry.status}, and its timer is due at {timer.due_at.isoformat()}"
    return ""


def _build_finding(order: str, stream: str, why: str) -> Finding:
    return Finding(kind="inconsistent", place=f"order {order} of {stream}", why=why)
