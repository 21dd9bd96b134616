"""The hash chain of the journal: builds the text that a hash covers. Also loads the state of a stream. Writes nothing."""

import logging
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import orjson

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
