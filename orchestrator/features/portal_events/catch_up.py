"""Compares stored records with the portal at startup: missed events are not sent again.

Deals always, other kinds only after their first event, so that a restart causes no message of its own.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bitrix.catalogue.catalogue import Entity
from bitrix.errors import BitrixError, Refused
from bitrix.limits.limiter import Priority
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.address import parse_target
from orchestrator.features.portal_events.recent_writes import FRESH, RecentWrites
from orchestrator.reports.record_changes import CLOSED, KINDS, Values, compare_values, extract_values, parse_kind
from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.calls import CallStarted
from state.events.portal import KEEP_SEEN, PortalEventReceived, RecordsSeen
from state.journal.async_store import AsyncStore
from state.model.session_state import PortalState

log = logging.getLogger(__name__)

START_EVENT: Final = "START"
MOST_ALONE: Final = 500
"""One by one, those seen last."""
_OPEN: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "deal": ("crm.deal.list", {CLOSED: "N"}),
    "lead": ("crm.lead.list", {"STATUS_SEMANTIC_ID": "P"}),
    "task": ("tasks.task.list", {"<REAL_STATUS": 5}),
}
"""Smart processes have no filter for open items."""
_TAIL: Final = 50


@dataclass(frozen=True, kw_only=True)
class ScanResult:
    """`gone` are deleted records, and deals no longer open."""

    records: dict[str, Values]
    gone: list[str]


async def scan_records(reads: PortalReader, users: Sequence[int], seen: Mapping[str, Values]) -> ScanResult:
    """At most KEEP_SEEN; unreadable records are left out."""
    scan = ScanResult(records={}, gone=[])
    try:
        if users:
            deals = await _list_open(reads, "deal", users, KEEP_SEEN)
            scan.records.update(deals or {})
            if deals is not None and len(deals) < KEEP_SEEN:
                scan.gone.extend(_find_closed_deals(seen, deals))
            await _add_others(scan, reads, users, seen)
    except BitrixError as error:  # the portal as a whole failed: ask it nothing more
        _log_unread("the portal", error)
    return scan


async def _add_others(scan: ScanResult, reads: PortalReader, users: Sequence[int], seen: Mapping[str, Values]) -> None:
    for kind in [kind for kind in _OPEN if kind != "deal" and any(parse_kind(target) == kind for target in seen)]:
        room = KEEP_SEEN - len({*seen, *scan.records})
        if room > 0:  # new records must not push known ones out of the bounded state
            scan.records.update(await _list_open(reads, kind, users, room) or {})
    rest = [target for target in seen if parse_kind(target) != "deal" and target not in scan.records][-MOST_ALONE:]
    for (kind, number), record in (await reads.load_each_record([parse_target(target) for target in rest], Priority.BULK)).items():
        if record is None:
            scan.gone.append(f"{kind}:{number}")
        elif not isinstance(record, BitrixError):
            scan.records[f"{kind}:{number}"] = extract_values(kind, record)


async def _list_open(reads: PortalReader, kind: str, users: Sequence[int], limit: int) -> dict[str, Values] | None:
    """None if the portal refuses the list."""
    watched = KINDS[kind]
    method, is_open = _OPEN[kind]
    params = {"filter": {watched.owner: list(users), **is_open}, "select": ["ID", *watched.fields], "order": {"ID": "DESC"}}
    try:
        rows = await reads.load_rows(method, params, limit=limit)
    except Refused as error:
        _log_unread(f"the list of open {kind}s", error)
        return None
    return {f"{kind}:{row.get('ID') or row['id']}": extract_values(kind, row) for row in rows}


def _log_unread(what: str, error: BitrixError) -> None:
    log.warning("%s cannot be read at the start: %s", what, error, extra={"action": "portal_start_failed"})


async def restore_recent_writes(recent: RecentWrites, store: AsyncStore, now: datetime) -> None:
    """The previous process may have crashed during a call."""
    for stream in await store.list_streams():
        seq, _ = await store.read_head(stream)
        for event in await store.read_events(stream, after=max(0, seq - _TAIL)):
            if event.type == CallStarted.__name__ and now - parse_iso(event.ts) < FRESH:
                row = await store.find_effect(CallStarted.from_data(event.data).effect_id)
                if row is not None:
                    recent.record_call(row.effect_id, row.call, parse_iso(event.ts))
                    created = str((row.outcome or {}).get("created") or "")
                    if created:
                        recent.record_created(row.effect_id, created)


def compare_with_portal(
    portal: PortalState, scan: ScanResult, entities: Mapping[str, Entity], *, now: datetime, look_at: datetime
) -> list[Event]:
    """Records that differ are read at `look_at`."""
    seen, due = portal.seen, portal.due
    new = {target: dict(values) for target, values in scan.records.items() if target not in seen and target not in due}
    other = [
        target
        for target, values in scan.records.items()
        if target in seen and compare_values(entities[parse_kind(target)], seen[target], values)
    ]
    other.extend(target for target in scan.gone if target not in due)  # its event may say that it was deleted
    events: list[Event] = [RecordsSeen(records=new, look_at=portal.look_at)] if new else []
    set_here = format_iso(look_at) if other and not due else ""
    ts = int(now.timestamp())
    return [*events, *(PortalEventReceived(event=START_EVENT, target=target, action="update", ts=ts, look_at=set_here) for target in other)]


def _find_closed_deals(seen: Mapping[str, Values], open_deals: Mapping[str, Values]) -> Iterable[str]:
    """Or of an employee who does not use the bot."""
    return (
        target for target, values in seen.items() if parse_kind(target) == "deal" and values.get(CLOSED) == "N" and target not in open_deals
    )
