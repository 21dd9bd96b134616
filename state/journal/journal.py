import logging
from collections.abc import Iterator
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

import orjson

from state.events import fold
from state.journal.store import Snapshot, Store, StoredEvent
from state.model.session_state import SessionState


@lru_cache(4096)
def to_lease_key(stream: str) -> str:
    """Return the key of the lease that guards `stream`. Raises ValueError."""
    kind, _, key = stream.partition(":")
    if kind == "session" and key and not key.startswith("run:"):
        return key
    if kind == "run" and key:
        return stream
    msg = f"a stream is session:<key> or run:<id>, not {stream!r}"
    raise ValueError(msg)


def to_stream(key: str) -> str:
    return key if key.startswith("run:") else f"session:{key}"


log = logging.getLogger(__name__)

SNAPSHOT_EVERY = 50
SNAPSHOT_VERSION = 2
"""Increase it with every change of `state/events/fold.py`."""

PAGE = 1000


class RecordHead(NamedTuple):
    """A record's columns without its data, in the order of the queries."""

    stream: str
    seq: int
    id: str
    ts: str
    type: str
    v: int
    actor: str


def record_text(head: RecordHead, data: str) -> str:
    """Return the canonical JSON that a record's hash covers."""
    stream, seq, id_, ts, type_, version, actor = head
    rest = {"id": id_, "seq": seq, "stream": stream, "ts": ts, "type": type_, "v": version}
    # What is no JSON value stands in a damaged column: its text fits no hash.
    return f'{{"actor":{_quote(actor)},"data":{data},{orjson.dumps(rest, default=str).decode()[1:]}'


@lru_cache(1024)  # actors recur in many records
def _quote(text: str) -> str:
    return orjson.dumps(text).decode()


def hash_record(prev: str, raw: str) -> str:
    """`prev` is the hash before, "" for the first."""
    return sha256((prev + raw).encode()).hexdigest()


def load_state(store: Store, stream: str) -> tuple[SessionState, int]:
    """Return state and last seq."""
    state, seq = _load_from_snapshot(store, stream) or (fold.create_state(), 0)
    for event in _iterate_pages(store, stream, after=seq):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        seq = event.seq
    return state, seq


def build_snapshot(stream: str, seq: int, state: SessionState) -> Snapshot:
    """To be stored in the commit of the event `seq`."""
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
