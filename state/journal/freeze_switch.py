"""The switch that freezes (stops) all writes, stored in the database: any process can freeze and release, and every process obeys.

The switch is one small stored value. A commit sets it (`Commit.switch`) and also stores an event with the person and the reason in the
stream of session `freeze`. The transaction that would start a call checks the switch, unless the call has `EffectChange.though_frozen`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import orjson

from state.canonical import dumps
from state.clock import format_iso
from state.events.base import Event
from state.events.freezing import WritesFrozen, WritesReleased
from state.journal.store import SWITCH, Commit, InboxRow, Lease, Store, StoreError

SESSION: Final = "freeze"
STREAM: Final = f"session:{SESSION}"
_HELD_FOR: Final = timedelta(seconds=5)
"""The lease on the switch: how long others wait if its operator's process dies while setting it."""
LONGEST_REASON: Final = 200


class SwitchBusy(StoreError):
    """Somebody else is setting the switch at this moment: try again."""


@dataclass(frozen=True, kw_only=True)
class SwitchOperator:
    """The person who operates the switch, through which channel ("tg", "cli", "http", "console"), and when."""

    key: str
    name: str
    via: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class FreezeState:
    """Who froze writes, when and why. Fields that cannot be read are blank; writes are frozen all the same."""

    at: str = ""
    by: str = ""
    name: str = ""
    reason: str = ""
    seq: int = 0
    """The seq of its WritesFrozen event, which identifies the freeze."""


@dataclass(frozen=True, kw_only=True)
class SwitchResult:
    """The result of freezing or releasing: whether the switch changed, and its state now (None if writes may start)."""

    changed: bool
    state: FreezeState | None


def find_freeze(store: Store) -> FreezeState | None:
    """Return the current freeze (by whom, when and why), None while writes may start. Raises StoreError if the switch cannot be read."""
    value = store.get_value(SWITCH)
    if not value:
        return None
    found = _parse_freeze(value)
    return _add_words(found, store) if found.seq else found


def freeze_writes(store: Store, hand: SwitchOperator, reason: str = "", tell: Sequence[InboxRow] = ()) -> SwitchResult:
    """Freeze writes: once this has returned, no process starts a write. If writes are frozen already, change nothing.

    `hand` is the person who does it. `tell` are inbox rows to store in the same commit, to notify others. Raises SwitchBusy or StoreError;
    then nothing has changed.
    """
    lease = _acquire_lease(store, hand)
    try:
        now = find_freeze(store)
        if now is not None:
            return SwitchResult(changed=False, state=now)
        seq = store.read_head(STREAM)[0] + 1
        event = WritesFrozen(by=hand.key, by_name=hand.name, reason=reason[:LONGEST_REASON], via=hand.via)
        _commit(store, lease, hand, event, dumps({"at": format_iso(hand.at), "by": hand.key, "seq": seq}), tell)
        return SwitchResult(
            changed=True, state=FreezeState(at=format_iso(hand.at), by=hand.key, name=hand.name, reason=event.reason, seq=seq)
        )
    finally:
        store.release(lease)


def release_writes(store: Store, hand: SwitchOperator, seq: int | None = None, tell: Sequence[InboxRow] = ()) -> SwitchResult:
    """Let writes start again; if `seq` is given, only if the freeze (the stop of all writes) with that `FreezeState.seq` still lasts.

    `hand` and `tell` are as in `freeze_writes`. Raises SwitchBusy or StoreError; then nothing has changed.
    """
    lease = _acquire_lease(store, hand)
    try:
        now = find_freeze(store)
        if now is None or seq not in (None, now.seq):
            return SwitchResult(changed=False, state=now)
        event = WritesReleased(by=hand.key, by_name=hand.name, via=hand.via, frozen_seq=now.seq)
        _commit(store, lease, hand, event, "", tell)
        return SwitchResult(changed=True, state=None)
    finally:
        store.release(lease)


def _acquire_lease(store: Store, hand: SwitchOperator) -> Lease:
    lease = store.acquire(SESSION, f"switch:{uuid4().hex}", hand.at, hand.at + _HELD_FOR)
    if lease is None:
        raise SwitchBusy("somebody else works the switch that freezes writes")
    return lease


def _commit(store: Store, lease: Lease, hand: SwitchOperator, event: Event, value: str, tell: Sequence[InboxRow]) -> None:
    step = Commit(stream=STREAM, epoch=lease.epoch, actor=hand.key, now=hand.at, events=[event], switch=value, inbox_new=tell)
    store.commit(step)


def _parse_freeze(value: str) -> FreezeState:
    """Parse the switch's value; a value that cannot be parsed still means frozen."""
    try:
        data = orjson.loads(value)
        return FreezeState(at=str(data["at"]), by=str(data["by"]), seq=int(data["seq"]))
    except (ValueError, TypeError, KeyError):
        return FreezeState()


def _add_words(found: FreezeState, store: Store) -> FreezeState:
    """Return `found` with the person's name and the reason from the encrypted event; unchanged if they cannot be read or were erased."""
    try:
        events = store.read_events(STREAM, found.seq - 1, 1)
    except (StoreError, ValueError):
        return found
    if not events or events[0].type != WritesFrozen.__name__:
        return found
    return FreezeState(at=found.at, by=found.by, name=str(events[0].data["by_name"]), reason=str(events[0].data["reason"]), seq=found.seq)
