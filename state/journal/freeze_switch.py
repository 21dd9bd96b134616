"""The switch that freezes all writes: a stored value, checked by the transaction that starts a call."""

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
LONGEST_REASON: Final = 200


class SwitchBusy(StoreError):
    pass


@dataclass(frozen=True, kw_only=True)
class SwitchOperator:
    """`via` is the channel: "tg", "cli", "http" or "console"."""

    key: str
    name: str
    via: str
    at: datetime


@dataclass(frozen=True, kw_only=True)
class FreezeState:
    """Unreadable fields are blank; writes are frozen all the same."""

    at: str = ""
    by: str = ""
    name: str = ""
    reason: str = ""
    seq: int = 0


@dataclass(frozen=True, kw_only=True)
class SwitchResult:
    """`state` is None if writes may start."""

    changed: bool
    state: FreezeState | None


def find_freeze(store: Store) -> FreezeState | None:
    """Return None while writes may start. Raises StoreError if the switch cannot be read."""
    value = store.get_value(SWITCH)
    if not value:
        return None
    freeze = _parse_freeze(value)
    return _add_words(freeze, store) if freeze.seq else freeze


def freeze_writes(store: Store, hand: SwitchOperator, reason: str = "", tell: Sequence[InboxRow] = ()) -> SwitchResult:
    """Once this has returned, no process starts a write.

    `tell` is stored in the same commit. Raises SwitchBusy or StoreError; then nothing has changed.
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
    """Release only the freeze `seq`, if given; otherwise as `freeze_writes`."""
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
    """An unreadable value still means frozen."""
    try:
        data = orjson.loads(value)
        return FreezeState(at=str(data["at"]), by=str(data["by"]), seq=int(data["seq"]))
    except (ValueError, TypeError, KeyError):
        return FreezeState()


def _add_words(freeze: FreezeState, store: Store) -> FreezeState:
    try:
        events = store.read_events(STREAM, freeze.seq - 1, 1)
    except (StoreError, ValueError):
        return freeze
    if not events or events[0].type != WritesFrozen.__name__:
        return freeze
    return FreezeState(
        at=freeze.at, by=freeze.by, name=str(events[0].data["by_name"]), reason=str(events[0].data["reason"]), seq=freeze.seq
    )
