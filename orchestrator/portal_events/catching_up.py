"""At the start: what is known of the open deals is compared with the portal, since nobody posts again what was missed. Ring 2.

What is seen for the first time is remembered, so that its first change is told as was → is; what differs is due for a look.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from bitrix.catalogue import Entity
from orchestrator.directory.portal_reads import PortalReads
from orchestrator.portal_events.recent import FRESH, RecentWrites
from orchestrator.portal_events.watched import CLOSED, KINDS, Values, changes, values_of
from state.agent_state import KEEP_SEEN
from state.clock import iso, parse_iso
from state.events import CallStarted, Event, PortalEventReceived, RecordsSeen
from state.worker import AsyncStore

EVENT: Final = "START"
_METHOD: Final = "crm.deal.list"
_TAIL: Final = 50


async def open_deals(reads: PortalReads, users: Sequence[int]) -> tuple[dict[str, Values], bool]:
    """The watched values of the open deals of these employees, and whether those are all; may raise BitrixError."""
    watched = KINDS["deal"]
    wanted = {"filter": {watched.owner: list(users), CLOSED: "N"}, "select": ["ID", *watched.fields], "order": {"ID": "DESC"}}
    rows = await reads.rows(_METHOD, wanted, limit=KEEP_SEEN)
    return {f"deal:{row['ID']}": values_of("deal", row) for row in rows}, len(rows) < KEEP_SEEN


async def remember(recent: RecentWrites, store: AsyncStore, now: datetime) -> None:
    """Fill `recent` with what the journals say of the last seconds: the process before this one may have died over a call."""
    for stream in await store.streams():
        seq, _ = await store.head(stream)
        for event in await store.read_events(stream, after=max(0, seq - _TAIL)):
            if event.type == CallStarted.__name__ and now - parse_iso(event.ts) < FRESH:
                row = await store.effect(event.data["effect_id"])
                if row is not None:
                    recent.begun(row.effect_id, row.call, parse_iso(event.ts))
                    created = str((row.outcome or {}).get("created") or "")
                    if created:
                        recent.made(row.effect_id, created)


def compared(
    state: Mapping[str, Any], found: Mapping[str, Values], entity: Entity, *, whole: bool, now: datetime, look_at: datetime
) -> list[Event]:
    """The events that bring the state up to date; those of what is due set the look."""
    seen: Mapping[str, Values] = state.get("seen", {})
    due = state.get("due", {})
    new = {target: dict(values) for target, values in found.items() if target not in seen and target not in due}
    other = [target for target, values in found.items() if target in seen and changes(entity, seen[target], values)]
    other.extend(_gone(seen, found) if whole else ())
    events: list[Event] = [RecordsSeen(records=new, look_at=state.get("look_at", ""))] if new else []
    set_here = iso(look_at) if other and not due else ""
    ts = int(now.timestamp())
    return [*events, *(PortalEventReceived(event=EVENT, target=target, action="update", ts=ts, look_at=set_here) for target in other)]


def _gone(seen: Mapping[str, Values], found: Mapping[str, Values]) -> Iterable[str]:
    """Deals that were open when they were seen last and are not listed now: closed, or handed to somebody who is not listened for."""
    return (target for target, values in seen.items() if target.startswith("deal:") and values.get(CLOSED) == "N" and target not in found)
