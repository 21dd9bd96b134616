"""Finds the calls about a record, using an index in the database. Holds no state and only reads.

The index rows are stored together with the events that they refer to (`state.journal.record_index`). So the cost of a query depends on the
size of the result, not on the length of the journal.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.clock import parse_iso
from state.events.confirmations import ConfirmationApproved, ConfirmationDenied
from state.journal.async_store import AsyncStore
from state.journal.store import EffectRow, Store, StoredEvent

CALLS: Final = 300
"""The greatest number of calls about one record, and of reads of it after portal events, that are returned: the newest ones."""


class CardDecision(NamedTuple):
    """Who decided a card (the person's key), and through which channel."""

    by: str
    via: str


class RecordIndex:
    """Answers queries about the calls that concern a record. All methods may raise StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        """Keep the store."""
        self._store = store

    async def list_calls(self, target: str, *, maker: str = "") -> list[EffectRow]:
        """Return the calls about a record in their present state, newest first, including the call that created the record.

        `maker` is the effect id of the creating call, which the record itself holds as its origin mark; "" if it holds none.
        """
        rows = await self._store.read(_read_calls, target, maker)
        return sorted(rows, key=find_start_time, reverse=True)

    async def list_first_event_ids(self, target: str, after: str, limit: int) -> list[str]:
        """Return the id of the first event of each call about the record, oldest first.

        The result contains only ids that come after `after`, and at most `limit` of them.
        """
        return await self._store.read(_read_first_event_ids, target, after, limit)

    async def list_probes(self, target: str) -> list[StoredEvent]:
        """Return the events of the probes of this record, oldest first.

        A probe reads a record after the portal has reported a change of it; its event contains the values read.
        """
        return await self._store.read(_read_probes, target)

    async def find_decision(self, effect_id: str) -> CardDecision | None:
        """Return who decided the card of this call, and where; None if there was no card or nobody decided."""
        return await self._store.read(_read_decision, effect_id)

    async def find_undo(self, effect_id: str) -> EffectRow | None:
        """Return the latest call that was made to undo the call `effect_id`; None if there is none."""
        return await self._store.read(_read_undo, effect_id)


def find_start_time(row: EffectRow) -> datetime:
    """Return when the call was started; for a call that was not started, when its row last changed."""
    started = row.call.get("started_at")
    return parse_iso(started) if started else row.updated_at


def _read_calls(store: Store, target: str, maker: str) -> list[EffectRow]:
    found = [*store.list_last_index_entries(target, "call", CALLS), *store.list_last_index_entries(target, "made", CALLS)]
    ids = dict.fromkeys([*([maker] if maker else []), *(one.effect_id for one in found)])
    return [row for one in ids if (row := store.find_effect(one)) is not None and "call" in row.call]  # none after an erasure


def _read_first_event_ids(store: Store, target: str, after: str, limit: int) -> list[str]:
    found = {index_entry.event_id for index_entry in store.list_index_entries(target, "call", after, limit)}
    for index_entry in store.list_last_index_entries(target, "made", CALLS):
        found |= {index_entry.event_id for index_entry in store.list_index_entries(index_entry.effect_id, "began", after, 1)}
    return sorted(found)[:limit]


def _read_probes(store: Store, target: str) -> list[StoredEvent]:
    found = [event for one in store.list_last_index_entries(target, "look", CALLS) for event in _read_event(store, one.event_id)]
    return sorted(found, key=lambda event: (event.ts, event.stream, event.seq))


def _read_decision(store: Store, effect_id: str) -> CardDecision | None:
    entries = store.list_last_index_entries(effect_id, "decision", 1)
    return next((read_decision(event) for one in entries for event in _read_event(store, one.event_id)), None)


def read_decision(event: StoredEvent) -> CardDecision | None:
    """Return the decision about a card that this event records: who decided and where; None if it records no decision."""
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
    """Return a list with the event of that id, or an empty list if there is none.

    The store can only scan forward from an id, so the scan starts just before the wanted one.
    """
    stored_events: Sequence[StoredEvent] = DamageTolerantStore(store).scan((), event_id[:-1], 1)
    return [event for event in stored_events if event.id == event_id]
