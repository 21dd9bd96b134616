"""Replays a conversation: computes its state at an earlier record or time, what each event changed, and how two states differ.

Every state is computed from the first record of the stream on. The module imports no performer (which executes calls) and no client, so it
cannot reach the portal.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import orjson

from orchestrator.reports.reading.journal_reader import Moment, read_stream
from state.clock import format_iso
from state.events import fold
from state.journal.store import Store, StoredEvent
from state.model.session_state import SessionState
from state.stored import JsonObject


@dataclass(frozen=True, kw_only=True)
class ReplayedState:
    """The state of a stream after its record number `seq`, stored at time `ts`. Before the first record these are 0 and ""."""

    stream: str
    seq: int
    ts: str
    state: SessionState


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference between two states: the value at `path` was added, removed or replaced."""

    sign: Literal["+", "-", "~"]
    path: str
    before: object = None
    after: object = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One event and the changes it made to the state."""

    event: StoredEvent
    changes: tuple[Change, ...]


def replay_state(store: Store, stream: str, until: Moment) -> ReplayedState:
    """Return the state of the stream after the record with number `until`, or at the time `until`.

    For a time, the events are applied in order; the first event that is later than this time ends the replay and is not applied.
    """
    state, seq, ts = fold.create_state(), 0, ""
    for event in read_events_until(store, stream, until):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        seq, ts = event.seq, event.ts
    return ReplayedState(stream=stream, seq=seq, ts=ts, state=state)


def replay_steps(store: Store, stream: str, until: Moment) -> Iterator[Step]:
    """Yield each event of the stream up to the record number or time `until`, with the changes that it made to the state."""
    state = fold.create_state()
    before = _copy_state(state)
    for event in read_events_until(store, stream, until):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        after = _copy_state(state)
        yield Step(event=event, changes=tuple(compare_states(before, after)))
        before = after


def read_events_until(store: Store, stream: str, until: Moment) -> Iterator[StoredEvent]:
    """Yield the events of the stream up to the record number or time `until`, inclusive."""
    moment = "" if isinstance(until, int) else format_iso(until)
    for event in read_stream(store, stream):
        if event.seq > until if isinstance(until, int) else event.ts > moment:
            return
        yield event


def compare_states(before: object, after: object, path: str = "") -> Iterator[Change]:
    """Yield the differences between two states, with the path of each value; `path` is the place of `before` and `after` in the state."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_mappings(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    elif before != after:
        yield Change(sign="~", path=path, before=before, after=after)


def _compare_mappings(before: JsonObject, after: JsonObject, path: str) -> Iterator[Change]:
    for key in (*before, *(key for key in after if key not in before)):
        place = f"{path}.{key}" if path else str(key)
        if key not in after:
            yield Change(sign="-", path=place, before=before[key])
        elif key not in before:
            yield Change(sign="+", path=place, after=after[key])
        else:
            yield from compare_states(before[key], after[key], place)


def _compare_lists(before: Sequence[object], after: Sequence[object], path: str) -> Iterator[Change]:
    """Yield the differences between two lists: items added, removed or replaced.

    An item that only moved because others were added or removed is no difference.
    """
    old, new = ([orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items] for items in (before, after))
    for tag, low, high, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and high - low == end - start:
            for offset in range(high - low):
                yield from compare_states(before[low + offset], after[start + offset], f"{path}[{start + offset}]")
        elif tag != "equal":
            yield from (Change(sign="-", path=f"{path}[{place}]", before=before[place]) for place in range(low, high))
            yield from (Change(sign="+", path=f"{path}[{place}]", after=after[place]) for place in range(start, end))


def _copy_state(state: SessionState) -> object:
    """Return a copy of the state as plain JSON data. It stays the same when further events are applied to `state`."""
    return orjson.loads(orjson.dumps(state.to_stored()))
