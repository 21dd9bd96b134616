"""Compares the stored switch that freezes writes with its events; people decide which is right."""

from collections.abc import Iterator

from state.events.freezing import WritesFrozen, WritesReleased
from state.findings import Finding
from state.journal.freeze_switch import STREAM, FreezeState, find_freeze
from state.journal.store import Store, StoredEvent

PAGE = 500
TRIES = 3
PLACE = "switch freeze"
_TURNS = frozenset({WritesFrozen.__name__, WritesReleased.__name__})


def check_switch(store: Store) -> list[Finding]:
    """The comparison is repeated if somebody sets it meanwhile. Only for an intact chain."""
    findings: list[Finding] = []
    for _ in range(TRIES):
        before = store.read_head(STREAM)
        try:
            stands, last_event = find_freeze(store), _find_last(store)
        except Exception as error:  # noqa: BLE001 - whatever a damaged row makes the driver say is the finding
            return [Finding(kind="damaged", place=PLACE, why=f"it cannot be read: {error}")]
        findings = list(_compare(stands, last_event))
        if not findings or store.read_head(STREAM) == before:
            break
    return findings


def _find_last(store: Store) -> StoredEvent | None:
    last, after = None, 0
    while page := store.read_events(STREAM, after=after, limit=PAGE):
        last = next((event for event in reversed(page) if event.type in _TURNS), last)
        after = page[-1].seq
    return last


def _compare(stands: FreezeState | None, stored_event: StoredEvent | None) -> Iterator[Finding]:
    frozen = stored_event is not None and stored_event.type == WritesFrozen.__name__
    seq = stored_event.seq if stored_event is not None else None
    if stands is None:
        if frozen:
            yield _build_finding(seq, f"writes may start, although event {seq} froze them and none has released them")
    elif not stands.seq:
        yield _build_finding(seq, "it holds what nobody has written, and freezes writes")
    elif not frozen:
        last = f"event {seq} released them" if stored_event is not None else "no event tells of it"
        yield _build_finding(seq, f"writes are frozen, although {last}")
    elif stored_event is not None:
        by_event = {"seq": stored_event.seq, "at": stored_event.ts, "by": stored_event.data["by"]}
        wrong = [name for name, value in by_event.items() if getattr(stands, name) != value]
        if wrong:
            yield _build_finding(seq, f"writes are frozen, and it names another freeze than event {seq}: {', '.join(wrong)}")


def _build_finding(seq: int | None, why: str) -> Finding:
    return Finding(kind="inconsistent", place=PLACE, seq=seq, why=why)
