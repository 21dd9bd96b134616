"""Computes earlier states of a conversation. Cannot reach the portal."""

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
    """After record `seq` at time `ts`; 0 and "" before the first."""

    stream: str
    seq: int
    ts: str
    state: SessionState


@dataclass(frozen=True, kw_only=True)
class Change:
    """The value at `path` was added, removed or replaced."""

    sign: Literal["+", "-", "~"]
    path: str
    before: object = None
    after: object = None


@dataclass(frozen=True, kw_only=True)
class Step:
    event: StoredEvent
    changes: tuple[Change, ...]


def replay_state(store: Store, stream: str, until: Moment) -> ReplayedState:
    """After record number or time `until`; later events are not applied."""
    state, seq, ts = fold.create_state(), 0, ""
    for event in read_events_until(store, stream, until):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        seq, ts = event.seq, event.ts
    return ReplayedState(stream=stream, seq=seq, ts=ts, state=state)


def replay_steps(store: Store, stream: str, until: Moment) -> Iterator[Step]:
    """Up to `until`, inclusive."""
    state = fold.create_state()
    before = _copy_state(state)
    for event in read_events_until(store, stream, until):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        after = _copy_state(state)
        yield Step(event=event, changes=tuple(compare_states(before, after)))
        before = after


def read_events_until(store: Store, stream: str, until: Moment) -> Iterator[StoredEvent]:
    """Up to `until`, inclusive."""
    moment = "" if isinstance(until, int) else format_iso(until)
    for event in read_stream(store, stream):
        if event.seq > until if isinstance(until, int) else event.ts > moment:
            return
        yield event


def compare_states(before: object, after: object, path: str = "") -> Iterator[Change]:
    """`path` is the place of both in the state."""
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
    """An item that only moved is no difference."""
    old, new = ([orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items] for items in (before, after))
    for tag, low, high, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and high - low == end - start:
            for offset in range(high - low):
                yield from compare_states(before[low + offset], after[start + offset], f"{path}[{start + offset}]")
        elif tag != "equal":
            yield from (Change(sign="-", path=f"{path}[{place}]", before=before[place]) for place in range(low, high))
            yield from (Change(sign="+", path=f"{path}[{place}]", after=after[place]) for place in range(start, end))


def _copy_state(state: SessionState) -> object:
    """Plain JSON that later events do not change."""
    return orjson.loads(orjson.dumps(state.to_stored()))
