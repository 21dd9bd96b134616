"""A conversation's state as it was: at a record or a moment, step by step, and what changed between two. Ring 2.

It folds the journal again from its first record. It knows no performer and no client: nothing here can reach the portal.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from orchestrator.reports.reading.journal_reader import Moment, read_stream
from state.clock import format_iso
from state.events import fold
from state.events.fold import State
from state.journal.store import Store, StoredEvent


@dataclass(frozen=True, kw_only=True)
class ReplayedState:
    """The state after the record `seq`, which was made at `ts`; 0 and "" before the first."""

    stream: str
    seq: int
    ts: str
    state: State


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference of two states: what stands at `path` appeared, went away, or is another."""

    sign: Literal["+", "-", "~"]
    path: str
    before: Any = None
    after: Any = None


@dataclass(frozen=True, kw_only=True)
class Step:
    """One event and what it changed."""

    event: StoredEvent
    changes: tuple[Change, ...]


def replay_state(store: Store, stream: str, until: Moment) -> ReplayedState:
    """The state as it was at that record or moment; a moment counts up to the first record that is later."""
    state, seq, ts = fold.create_state(), 0, ""
    for event in read_events_until(store, stream, until):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        seq, ts = event.seq, event.ts
    return ReplayedState(stream=stream, seq=seq, ts=ts, state=state)


def replay_steps(store: Store, stream: str, until: Moment) -> Iterator[Step]:
    """Every event up to that record or moment with the change it made."""
    state = fold.create_state()
    before = _copy_state(state)
    for event in read_events_until(store, stream, until):
        fold.fold_events(state, ((event.type, dict(event.data), event.ts),))
        after = _copy_state(state)
        yield Step(event=event, changes=tuple(compare_states(before, after)))
        before = after


def read_events_until(store: Store, stream: str, until: Moment) -> Iterator[StoredEvent]:
    """The events of the stream up to that record or moment."""
    moment = "" if isinstance(until, int) else format_iso(until)
    for event in read_stream(store, stream):
        if event.seq > until if isinstance(until, int) else event.ts > moment:
            return
        yield event


def compare_states(before: Any, after: Any, path: str = "") -> Iterator[Change]:
    """What differs between two states, by the path of each value."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _compare_mappings(before, after, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_lists(before, after, path)
    elif before != after:
        yield Change(sign="~", path=path, before=before, after=after)


def _compare_mappings(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[Change]:
    for key in (*before, *(key for key in after if key not in before)):
        place = f"{path}.{key}" if path else str(key)
        if key not in after:
            yield Change(sign="-", path=place, before=before[key])
        elif key not in before:
            yield Change(sign="+", path=place, after=after[key])
        else:
            yield from compare_states(before[key], after[key], place)


def _compare_lists(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Change]:
    """Items that came and went, not every item that stands elsewhere because of it."""
    old, new = ([orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in items] for items in (before, after))
    for tag, low, high, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and high - low == end - start:
            for offset in range(high - low):
                yield from compare_states(before[low + offset], after[start + offset], f"{path}[{start + offset}]")
        elif tag != "equal":
            yield from (Change(sign="-", path=f"{path}[{place}]", before=before[place]) for place in range(low, high))
            yield from (Change(sign="+", path=f"{path}[{place}]", after=after[place]) for place in range(start, end))


def _copy_state(state: State) -> Any:
    """A copy that goes on standing while the fold changes the original."""
    return orjson.loads(orjson.dumps(state))
