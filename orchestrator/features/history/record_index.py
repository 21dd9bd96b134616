"""Which calls were about which record: what the store keeps of it, read for each question. Ring 2; keeps nothing, reads only.

The rows come with the events that they follow from (`state.journal.record_index`), so an answer costs what it tells,
however long the journal is.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from state.clock import parse_iso
from state.journal.async_store import AsyncStore
from state.journal.store import EffectRow, Store, StoredEvent

CALLS: Final = 300
"""So many calls about one record, and so many looks at it, are told: the youngest."""


class CardDecision(NamedTuple):
    """Who decided a card, and in which way."""

    by: str
    via: str


class RecordIndex:
    """See the module docstring. Its methods may raise StoreError."""

    def __init__(self, store: AsyncStore) -> None:
        """Nothing is read yet."""
        self._store = store

    async def list_calls(self, target: str, *, maker: str = "") -> list[EffectRow]:
        """The calls about a record, the youngest first, as they stand now; those too that made it: `maker` if the record itself says so."""
        rows = await self._store.read(_read_calls, target, maker)
        return sorted(rows, key=find_start_time, reverse=True)

    async def list_first_event_ids(self, target: str, after: str, limit: int) -> list[str]:
        """The first events of calls about a record, by their ids: so many of those behind that place, the oldest first."""
        return await self._store.read(_read_first_event_ids, target, after, limit)

    async def list_probes(self, target: str) -> list[StoredEvent]:
        """The looks at the record that followed events of the portal, oldest first."""
        return await self._store.read(_read_probes, target)

    async def find_decision(self, effect_id: str) -> CardDecision | None:
        """Who decided the call's card, None where there was none or nobody has."""
        return await self._store.read(_read_decision, effect_id)

    async def find_undo(self, effect_id: str) -> EffectRow | None:
        """The last call that was to take this one back, None for none."""
        return await self._store.read(_read_undo, effect_id)


def find_start_time(row: EffectRow) -> datetime:
    """When the call was sent, else when it was last decided."""
    started = row.call.get("started_at")
    return parse_iso(started) if started else row.updated_at


def _read_calls(store: Store, target: str, maker: str) -> list[EffectRow]:
    found = [*store.list_last_index_entries(target, "call", CALLS), *store.list_last_index_entries(target, "made", CALLS)]
    ids = dict.fromkeys([*([maker] if maker else []), *(one.effect_id for one in found)])
    return [row for one in ids if (row := store.find_effect(one)) is not None and "call" in row.call]  # an erased person's has none


def _read_first_event_ids(store: Store, target: str, after: str, limit: int) -> list[str]:
    found = {one.event_id for one in store.list_index_entries(target, "call", after, limit)}
    for made in store.list_last_index_entries(target, "made", CALLS):
        found |= {one.event_id for one in store.list_index_entries(made.effect_id, "began", after, 1)}
    return sorted(found)[:limit]


def _read_probes(store: Store, target: str) -> list[StoredEvent]:
    found = [event for one in store.list_last_index_entries(target, "look", CALLS) for event in _read_event(store, one.event_id)]
    return sorted(found, key=lambda event: (event.ts, event.stream, event.seq))


def _read_decision(store: Store, effect_id: str) -> CardDecision | None:
    for one in store.list_last_index_entries(effect_id, "decision", 1):
        for event in _read_event(store, one.event_id):
            return CardDecision(str(event.data.get("approved_by") or event.data.get("denied_by") or ""), str(event.data["via"]))
    return None


def _read_undo(store: Store, effect_id: str) -> EffectRow | None:
    last = next(iter(store.list_last_index_entries(effect_id, "undo", 1)), None)
    return store.find_effect(last.effect_id) if last is not None else None


def _read_event(store: Store, event_id: str) -> Sequence[StoredEvent]:
    """The event with that id: it is what follows the place just before it."""
    found: Sequence[StoredEvent] = DamageTolerantStore(store).scan((), event_id[:-1], 1)
    return [event for event in found if event.id == event_id]


def find_origin_effect(record: Mapping[str, Any]) -> str:
    """The effect that made this record, by the mark that the gate sets; "" for records of others."""

    def field(name: str, other: str) -> str:
        return str(record.get(name) or record.get(other) or "")

    if field("ORIGINATOR_ID", "originatorId") != "sdelka":
        return ""
    return field("ORIGIN_ID", "originId")[:32]
