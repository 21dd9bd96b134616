"""Lists what was seen of a record in the portal: posted events, and the changes between two looks.

The journal keeps no author of a change made in the portal; it can only be told whether a call of the bot wrote that value meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from bitrix.catalogue.catalogue import Catalogue
from bitrix.catalogue.names import to_field_key
from orchestrator.gate.call import fields
from orchestrator.gate.call.targets import find_definition
from orchestrator.reports.reading.damaged_records import UnreadableEvent
from orchestrator.reports.reading.journal_reader import to_one_line, to_session_name
from orchestrator.reports.reading.sentences import describe_portal_event
from orchestrator.reports.why.call_search import FoundCalls
from orchestrator.reports.why.call_story import Story
from state.clock import format_iso, parse_iso
from state.events.portal import PortalEventReceived
from state.journal.store import StoredEvent

_UNDER_WAY = timedelta(minutes=1)
"""A call may have started before a look and reached the portal after it."""
_SENT_OUTCOMES = frozenset({"succeeded", "unknown", "started"})


def list_portal_changes(
    found: FoundCalls, record: str, stories: Sequence[Story], catalogue: Catalogue, *, field_name: str = ""
) -> Iterator[Story]:
    """Yield each look at the record that found a change, and each event that the portal posted about it."""
    known: Mapping[str, str] | None = None
    looked_at = ""
    for event in found.seen:
        if event.type == "PortalEventReceived":
            if not field_name:
                yield {
                    **_build_base(event, record),
                    "kind": "portal_event",
                    "event": to_one_line(event.data["event"]),
                    "words": describe_portal_event(PortalEventReceived.from_data(event.data)),
                }
            continue
        now = (event.data.get("records") or {}).get(record)
        if now is None:
            yield {**_build_base(event, record), "kind": "gone"}
            known = None
            continue
        changes = list(_compare_fields(known, now, record, catalogue, field_name))
        if changes:
            kind = "seen" if known is not None else "first_seen"
            stated = [
                {**change, **(_find_author(change, stories, found, (looked_at, event.ts)) if looked_at else {})} for change in changes
            ]
            yield {**_build_base(event, record), "kind": kind, "changes": stated if known is not None else changes}
        known, looked_at = now, event.ts


def _build_base(event: StoredEvent, record: str) -> Story:
    return {"at": event.ts, "session": to_session_name(event.stream), "records": [record]}


def _compare_fields(
    before: Mapping[str, str] | None, now: Mapping[str, str], record: str, catalogue: Catalogue, field_name: str
) -> Iterator[dict[str, Any]]:
    kind = record.rpartition(":")[0]
    entity = find_definition(kind, catalogue)
    for name, value in now.items():
        if field_name and to_field_key(name, kind) != to_field_key(field_name, kind):
            continue
        old = (before or {}).get(name)
        if value != old and (value or old):
            label = fields.find_label(entity, name, "en")
            yield {"field": name, "name": label, "before": to_one_line(old), "after": to_one_line(value)}


def _find_author(change: Mapping[str, Any], stories: Sequence[Story], found: FoundCalls, looks: tuple[str, str]) -> dict[str, Any]:
    """Return the latest call of the bot that wrote this field between the two looks; an empty author where there is none."""
    since, until = looks
    wrote = [
        story
        for story in stories
        if story["outcome"] in _SENT_OUTCOMES and since < story["at"] <= until and _has_written(story, change["field"])
    ]
    last = max(wrote, key=lambda story: str(story["at"]), default=None)
    if last is None:
        early = format_iso(parse_iso(since) - _UNDER_WAY)
        perhaps = [event for event in found.unassigned if early < event.ts <= until]
        damaged = any(isinstance(event, UnreadableEvent) for event in perhaps)
        return {"by": "", "through": "", "perhaps_erased": bool(perhaps), "perhaps_unreadable": damaged}
    return {"by": (last["asked"] or {}).get("person", ""), "through": last["effect_id"]}


def _has_written(story: Story, field: str) -> bool:
    return any(to_field_key(change["field"]) == to_field_key(field) for change in story["changes"])
