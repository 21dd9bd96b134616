"""Finds what a person has changed through the bot, in all their chats, by the clear part of the journal."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from bitrix.catalogue.catalogue import Catalogue
from bitrix.errors import BitrixError
from orchestrator.domain.actor import Actor
from orchestrator.domain.bulk import BULK, BulkDone
from orchestrator.domain.undo_request import OwnChange, UndoRequest
from orchestrator.gate.call.effect import Call
from orchestrator.gate.call.kinds.bulk_methods import build_run_key
from orchestrator.gate.call.ports import Names
from orchestrator.gate.call.serialization import StoredOrder
from orchestrator.gate.preview.field_words import find_title
from orchestrator.gate.preview.format_values import Reader
from orchestrator.gate.undo import undo_policy
from orchestrator.language.date_format import format_short_day
from orchestrator.language.time_zones import parse_moment
from state.clock import build_lower_id
from state.journal.async_store import AsyncStore
from state.journal.record_index import list_changed_records
from state.journal.run_index import PREFIX
from state.journal.store import EffectRow, Store

LONGEST: Final = timedelta(days=7)
"""Further back nothing is looked for."""
USUAL: Final = timedelta(days=1)
MOST: Final = 20
ID_LENGTH: Final = 10
_PAGE: Final = 2000
_PAGES: Final = 25
_FIELDS: Final = 6


@dataclass(frozen=True, kw_only=True)
class FoundChange:
    row: EffectRow
    is_undone: bool


@dataclass(frozen=True, kw_only=True)
class Reach:
    """`stream` is the only one that counts, "" for all of them; `read_run` tells what a change of many records has done."""

    stream: str
    store: AsyncStore
    read_run: Callable[[str], Awaitable[BulkDone | None]]


async def find_own_changes(request: UndoRequest, actor: Actor, reach: Reach, *, now: datetime) -> list[FoundChange]:
    """The newest first. Raises StoreError."""
    since = parse_moment(request.since, zone=actor.time_zone) if request.since else None
    first = max(since or now - USUAL, now - LONGEST)
    own = [one for one in await reach.store.read(_read_changes, first, actor.key) if reach.stream in {"", one.row.stream}]
    if since is not None:
        own = [one for one in own if one.row.updated_at >= since]
    if request.record:
        own = [one for one in own if request.record in list_records(one.row) or await _changed_in_run(one.row, request.record, reach)]
    if request.changes:
        return [one for one in own if any(one.row.effect_id.startswith(change) for change in request.changes)]
    if since is not None or request.record:
        return own
    standing = [one for one in own if not one.is_undone]
    return [one for one in standing if one.row.call.get("turn_id") == standing[0].row.call.get("turn_id")]


async def _changed_in_run(row: EffectRow, record: str, reach: Reach) -> bool:
    run = find_bulk_run(row)
    done = await reach.read_run(run) if run else None
    return done is not None and any(item.record == record and item.before for item in done.list_items())


def list_records(row: EffectRow) -> list[str]:
    """Changed or made by the call."""
    created = str((row.outcome or {}).get("created") or "")
    return [*list_changed_records(row.call), *([created] if created else [])]


def _read_changes(store: Store, first: datetime, person: str) -> list[FoundChange]:
    after = build_lower_id(first)
    effect_ids: list[str] = []
    for _ in range(_PAGES):
        events = store.scan_clear(("CallSucceeded",), after, _PAGE)
        effect_ids += [str(event.data["effect_id"]) for event in events if event.data.get("call_class") != "R"]
        if len(events) < _PAGE:
            break
        after = events[-1].id
    places = {effect_id: place for place, effect_id in enumerate(effect_ids)}
    rows = [row for row in store.find_effects(effect_ids) if _is_own(row, person)] if effect_ids else []
    rows.sort(key=lambda row: places[row.effect_id], reverse=True)
    runs = {run for row in rows if (run := find_bulk_run(row))}
    rows = [row for row in rows if not any(row.stream.endswith(run) for run in runs)]  # parts of a change of many records: one change
    return [FoundChange(row=row, is_undone=_is_undone(store, row.effect_id)) for row in rows]


def find_bulk_run(row: EffectRow) -> str:
    """The id of the run that changed many records; "" for another call."""
    return build_run_key(row.effect_id).removeprefix(PREFIX) if row.call["call"].get("kind") == BULK else ""


def _is_own(row: EffectRow, person: str) -> bool:
    is_change = row.status == "succeeded" and "call" in row.call  # none after an erasure
    return is_change and row.call.get("requested_by") == person and not undo_policy.parse_undo_slot(str(row.call.get("slot") or ""))


def _is_undone(store: Store, effect_id: str) -> bool:
    last = next(iter(store.list_last_index_entries(effect_id, "undo", 1)), None)
    undo = store.find_effect(last.effect_id) if last is not None else None
    return undo is not None and undo.status == "succeeded"


async def describe_changes(
    changes: Sequence[FoundChange], actor: Actor, *, names: Names, catalogue: Catalogue, now: datetime
) -> list[OwnChange]:
    reader = Reader(names=names, locale=actor.locale, zone=actor.time_zone, user=actor.bitrix_user_id or 0)
    return [await _describe(one, actor, reader, catalogue, now) for one in changes]


async def _describe(change: FoundChange, actor: Actor, reader: Reader, catalogue: Catalogue, now: datetime) -> OwnChange:
    row = change.row
    order = StoredOrder.from_data(row.call)
    done = undo_policy.find_completed(row)
    leaves = [leaf for leaf in undo_policy.list_leaves(done, catalogue) if not leaf.reads_only] if done is not None else []
    titles = [title for leaf in leaves for title in await _list_titles(leaf, reader)]
    record, when = next(iter(list_records(row)), ""), _format_when(row.updated_at, actor, now)
    title = str(order.named.get("title") or (order.named.get("changes") if find_bulk_run(row) else "") or "")
    did = " ".join(str(order.named.get(name) or "") for name in ("verb", "entity")).strip() or order.call.method
    parts = (when, title or record, ", ".join(dict.fromkeys(titles)))
    return OwnChange(
        change=row.effect_id[:ID_LENGTH],
        when=when,
        did=did,
        record=record,
        title=title,
        fields=list(dict.fromkeys(titles)),
        undone=change.is_undone,
        label=f"{'↩ ' if change.is_undone else ''}{' · '.join(part for part in parts if part)}",
    )


async def _list_titles(leaf: Call, reader: Reader) -> list[str]:
    """Of the fields of a change; none of a new record, which is named by its title."""
    if leaf.spec.verb == "add":
        return []
    try:
        return [await find_title(leaf, name, reader) for name in list(leaf.written_fields)[:_FIELDS]]
    except BitrixError:
        return list(leaf.written_fields)[:_FIELDS]


def _format_when(moment: datetime, actor: Actor, now: datetime) -> str:
    here, today = (one.astimezone(ZoneInfo(actor.time_zone)) for one in (moment, now))
    return f"{here:%H:%M}" if here.date() == today.date() else f"{format_short_day(here.date(), actor.locale)} {here:%H:%M}"
