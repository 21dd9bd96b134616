"""Finds the calls about a record by an index in the database, at the cost of the result."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.clock import parse_iso
from state.events.confirmations import ConfirmationApproved, ConfirmationDenied
from state.journal.async_store import AsyncStore
from state.journal.store import EffectRow, Store, StoredEvent

CALLS: Final = 300
"""Only the newest calls are returned."""


class CardDecision(NamedTuple):
    by: str
    via: str


class RecordIndex:
    """All methods may raise StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        self._store = store

    async def list_calls(self, target: str, *, maker: str = "") -> list[EffectRow]:
        """Newest first. `maker` is the record's origin mark, "" for none."""
        rows = await self._store.read(_read_calls, target, maker)
        return sorted(rows, key=find_start_time, reverse=True)

    async def list_first_event_ids(self, target: str, after: str, limit: int) -> list[str]:
        """Oldest first, after `after`."""
        return await self._store.read(_read_first_event_ids, target, after, limit)

    async def list_probes(self, target: str) -> list[StoredEvent]:
        """Reads of the record after portal events, oldest first."""
        return await self._store.read(_read_probes, target)

    async def find_decision(self, effect_id: str) -> CardDecision | None:
        """None if nobody decided."""
        return await self._store.read(_read_decision, effect_id)

    async def find_undo(self, effect_id: str) -> EffectRow | None:
        return await self._store.read(_read_undo, effect_id)


def find_start_time(row: EffectRow) -> datetime:
    """Or when its row last changed."""
    started = row.call.get("started_at")
    return parse_iso(started) if started else row.updated_at


def _read_calls(store: Store, target: str, maker: str) -> list[EffectRow]:
    entries = [*store.list_last_index_entries(target, "call", CALLS), *store.list_last_index_entries(target, "made", CALLS)]
    ids = dict.fromkeys([*([maker] if maker else []), *(one.effect_id for one in entries)])
    return [row for one in ids if (row := store.find_effect(one)) is not None and "call" in row.call]  # none after an erasure


def _read_first_event_ids(store: Store, target: str, after: str, limit: int) -> list[str]:
    ids = {index_entry.event_id for index_entry in store.list_index_entries(target, "call", after, limit)}
    for index_entry in store.list_last_index_entries(target, "made", CALLS):
        ids |= {index_entry.event_id for index_entry in store.list_index_entries(index_entry.effect_id, "began", after, 1)}
    return sorted(ids)[:limit]


def _read_probes(store: Store, target: str) -> list[StoredEvent]:
    events = [event for one in store.list_last_index_entries(target, "look", CALLS) for event in _read_event(store, one.event_id)]
    return sorted(events, key=lambda event: (event.ts, event.stream, event.seq))


def _read_decision(store: Store, effect_id: str) -> CardDecision | None:
    entries = store.list_last_index_entries(effect_id, "decision", 1)
    return next((read_decision(event) for one in entries for event in _read_event(store, one.event_id)), None)


def read_decision(event: StoredEvent) -> CardDecision | None:
    if event.type == ConfirmationApproved.__name__:
        approved = ConfirmationApproved.from_data(event.data)
        return CardDecision(approved.approved_by, approved.via)
    if event.type == ConfirmationDenied.__name__:
        denied = ConfirmationDenied.from_data(event.data)
        return CardDecision(denied.denied_by, denied.via)
    return None


def _read_undo(store: Store, effect_id: str) -> EffectRow | None:
    last = next(iter(store.list_last_index_entries(effect_id, "undo", 1)), None)
    return store.find_effect(last.effect_id) if last is not None else None


def _read_event(store: Store, event_id: str) -> Sequence[StoredEvent]:
    """The store only scans forward."""
    stored_events: Sequence[StoredEvent] = DamageTolerantStore(store).scan((), event_id[:-1], 1)
    return [event for event in stored_events if event.id == event_id]
