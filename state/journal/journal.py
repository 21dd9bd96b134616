"""The hash chain of the journal: builds the text that a hash covers and verifies it. Also loads the state of a stream. Writes nothing."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import orjson

from state import canonical
from state.events import fold
from state.journal.store import Snapshot, Store, StoredEvent
from state.model.session_state import SessionState

log = logging.getLogger(__name__)

SNAPSHOT_EVERY = 50
SNAPSHOT_VERSION = 2
"""Increase it with every change of the fold in `state/events/fold.py`: snapshots of another version are not used."""

PAGE = 1000


class RecordHead(NamedTuple):
    """All columns of a journal record except its data, in the order in which the queries read them."""

    stream: str
    seq: int
    id: str
    ts: str
    type: str
    v: int
    actor: str


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The result for an intact chain: `seq` (number) and `hash` of its last record; 0 and "" for an empty stream."""

    seq: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Damage:
    """The result for a damaged chain: the `seq` (number) of the first record that is not as it was written, and why."""

    seq: int
    why: str


def record_text(head: RecordHead, data: str) -> str:
    """Return the canonical JSON text of one record, which its hash covers. `data` is the record's data as stored JSON text."""
    stream, seq, id_, ts, type_, version, actor = head
    rest = {"id": id_, "seq": seq, "stream": stream, "ts": ts, "type": type_, "v": version}
    # What is no JSON value stands in a damaged column: its text fits no hash.
    return f'{{"actor":{_quote(actor)},"data":{data},{orjson.dumps(rest, default=str).decode()[1:]}'


@lru_cache(1024)  # actors recur in many records
def _quote(text: str) -> str:
    return orjson.dumps(text).decode()


def hash_record(prev: str, raw: str) -> str:
    """Return the hash of the record `raw` that follows the one with hash `prev` ("" for the first)."""
    return sha256((prev + raw).encode()).hexdigest()


def verify(events: Iterable[StoredEvent]) -> Verified | Damage:
    """Verify that `events`, a whole stream from its first event on, are numbered without gaps, chained and unchanged.

    This does not notice that events are missing at the end. `verify_stream` does: the number and hash of the last event are also stored
    apart from the events, and it compares with these.
    """
    seq, head, stream = 0, "", None
    for event in events:
        seq += 1
        stream = stream or event.stream
        why = _find_damage(event, stream=stream, seq=seq, prev=head)
        if why:
            return Damage(seq=seq, why=why)
        head = event.hash
    return Verified(seq=seq, hash=head)


def _find_damage(event: StoredEvent, *, stream: str, seq: int, prev: str) -> str:
    if event.seq != seq:
        return f"record {seq} is missing, {event.seq} stands in its place"
    if event.prev != prev:
        return "it does not follow the record before it"
    if event.hash != hash_record(prev, event.raw):
        return "its hash does not fit its text"
    try:
        record = canonical.loads(event.raw)
    except orjson.JSONDecodeError:
        return "its text is no JSON"
    if event.stream != stream:
        return f"it belongs to {event.stream}"
    record_head = RecordHead(stream, seq, event.id, event.ts, event.type, event.v, event.actor)
    if record_head != tuple(record.get(key) for key in RecordHead._fields):
        return "its fields differ from its text"
    return ""


def verify_stream(store: Store, stream: str) -> Verified | Damage:
    """Verify that a stored stream is numbered without gaps, chained and unchanged, and complete up to its end. Decrypts nothing.

    The end is known because the number and hash of the last event are also stored apart from the events.
    """
    seq, head = 0, ""
    while page := store.read_records(stream, after=seq, limit=PAGE):
        for number, raw, hash_ in page:
            if number != seq + 1:
                return Damage(seq=seq + 1, why=f"record {seq + 1} is missing, {number} stands in its place")
            if hash_ != hash_record(head, raw):
                return Damage(seq=number, why="its hash does not fit its text")
            seq, head = number, hash_
    end, kept = store.read_head(stream)
    if (seq, head) != (end, kept):
        return Damage(seq=seq + 1, why=f"the stream ends at {seq}, its head says {end}")
    return Verified(seq=seq, hash=head)


def load_state(store: Store, stream: str) -> tuple[SessionState, int]:
    """Return the state of a stream and the seq (number) of its last event, computed from the snapshot, if it is valid, and later events."""
    state, seq = _load_from_snapshot(store, stream) or (fold.create_state(), 0)
    for event in _iterate_pages(store, stream, after=seq):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        seq = event.seq
    return state, seq


def build_snapshot(stream: str, seq: int, state: SessionState) -> Snapshot:
    """Return the snapshot of `state`, the state of `stream` after its event `seq`; the caller stores it in the commit of that event."""
    return Snapshot(stream=stream, seq=seq, state={"shape": SNAPSHOT_VERSION, "state": state.to_stored()})


def _load_from_snapshot(store: Store, stream: str) -> tuple[SessionState, int] | None:
    snapshot = store.load_snapshot(stream)
    if snapshot is None:
        return None
    shape, state = snapshot.state.get("shape"), snapshot.state.get("state")
    if shape != SNAPSHOT_VERSION or not isinstance(state, dict) or snapshot.seq > store.read_head(stream)[0]:
        log.warning("snapshot of %s not used, state rebuilt", stream, extra={"action": "journal.rebuild"})
        return None
    return SessionState.from_stored(state), snapshot.seq


def _iterate_pages(store: Store, stream: str, *, after: int) -> Iterator[StoredEvent]:
    while True:
        page = store.read_events(stream, after=after, limit=PAGE)
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].seq
