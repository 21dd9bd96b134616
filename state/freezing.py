"""The switch that freezes writes, as the database has it (ring 1): set, lifted, and looked at by every process alike.

It is one small value, checked in the very transaction that would start a call (`Commit.switch`, `EffectChange.though_frozen`); who set it
and why is an event in the stream of session `freeze`, stored by the same commit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import orjson

from state.canonical import dumps
from state.clock import iso
from state.events import Event
from state.events_freezing import WritesFrozen, WritesReleased
from state.store import SWITCH, Commit, InboxRow, Lease, Store, StoreError

SESSION: Final = "freeze"
STREAM: Final = f"session:{SESSION}"
_HELD_FOR: Final = timedelta(seconds=5)
"""So long the next one waits when whoever works the switch dies with their hand on it."""
LONGEST_REASON: Final = 200


class SwitchBusy(StoreError):
    """Somebody else has the hand on the switch in this very moment: try again."""


@dataclass(frozen=True, kw_only=True)
class Hand:
    """Who works the switch, from where ("telegram", "cli", "http"), and when."""

    key: str
    name: str
    via: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Writes are frozen. What cannot be read of it is blank: they are frozen all the same."""

    at: str = ""
    by: str = ""
    name: str = ""
    reason: str = ""
    seq: int = 0
    """Which freeze it is: the number of its event."""


@dataclass(frozen=True, kw_only=True)
class Turned:
    """What came of it: whether anything changed, and how things stand now."""

    changed: bool
    standing: Standing | None


def standing(store: Store) -> Standing | None:
    """How the switch stands, None while writes may start; raises StoreError where nobody can tell."""
    value = store.get_value(SWITCH)
    if not value:
        return None
    found = _read(value)
    return _with_words(found, store) if found.seq else found


def freeze(store: Store, hand: Hand, reason: str = "", tell: Sequence[InboxRow] = ()) -> Turned:
    """Freeze writes: when it returns none starts any more, in no process; where they are frozen already nothing changes.

    `tell` are inputs that are stored along with it. Raises SwitchBusy, or StoreError: then nothing has changed.
    """
    lease = _taken(store, hand)
    try:
        now = standing(store)
        if now is not None:
            return Turned(changed=False, standing=now)
        seq = store.head(STREAM)[0] + 1
        event = WritesFrozen(by=hand.key, by_name=hand.name, reason=reason[:LONGEST_REASON], via=hand.via)
        _commit(store, lease, hand, event, dumps({"at": iso(hand.at), "by": hand.key, "seq": seq}), tell)
        return Turned(changed=True, standing=Standing(at=iso(hand.at), by=hand.key, name=hand.name, reason=event.reason, seq=seq))
    finally:
        store.release(lease)


def release(store: Store, hand: Hand, seq: int | None = None, tell: Sequence[InboxRow] = ()) -> Turned:
    """Let writes start again; with `seq` only if it is still that freeze. Raises SwitchBusy or StoreError: nothing has changed."""
    lease = _taken(store, hand)
    try:
        now = standing(store)
        if now is None or seq not in (None, now.seq):
            return Turned(changed=False, standing=now)
        event = WritesReleased(by=hand.key, by_name=hand.name, via=hand.via, frozen_seq=now.seq)
        _commit(store, lease, hand, event, "", tell)
        return Turned(changed=True, standing=None)
    finally:
        store.release(lease)


def _taken(store: Store, hand: Hand) -> Lease:
    lease = store.acquire(SESSION, f"switch:{uuid4().hex}", hand.at, hand.at + _HELD_FOR)
    if lease is None:
        raise SwitchBusy("somebody else works the switch that freezes writes")
    return lease


def _commit(store: Store, lease: Lease, hand: Hand, event: Event, value: str, tell: Sequence[InboxRow]) -> None:
    step = Commit(stream=STREAM, epoch=lease.epoch, actor=hand.key, now=hand.at, events=[event], switch=value, inbox_new=tell)
    store.commit(step)


def _read(value: str) -> Standing:
    """Whatever stands there, it freezes; only nothing does not."""
    try:
        data = orjson.loads(value)
        return Standing(at=str(data["at"]), by=str(data["by"]), seq=int(data["seq"]))
    except (ValueError, TypeError, KeyError):
        return Standing()


def _with_words(found: Standing, store: Store) -> Standing:
    """With the name and the reason, which are sealed in the journal; without them where they cannot be read or were erased."""
    try:
        events = store.read_events(STREAM, found.seq - 1, 1)
    except (StoreError, ValueError):
        return found
    if not events or events[0].type != WritesFrozen.__name__:
        return found
    return Standing(at=found.at, by=found.by, name=str(events[0].data["by_name"]), reason=str(events[0].data["reason"]), seq=found.seq)
