"""What was seen of a record from the portal's side: posted events, and the changes between two looks. Ring 2, pure.

The journal keeps no author of a change made in the portal. What can be told is whether a call of the bot wrote that value meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from bitrix.catalogue import Catalogue
from bitrix.names import squeeze
from orchestrator.gate import fields
from orchestrator.gate.targets import definition
from orchestrator.reports.reading import one_line, session_of
from orchestrator.reports.stories import Story
from orchestrator.reports.unreadable import Unreadable
from orchestrator.reports.why import Found
from orchestrator.reports.words import portal_event_in_words
from state.clock import iso, parse_iso
from state.store import StoredEvent

_UNDER_WAY = timedelta(minutes=1)
"""A call may have begun before a look and have come to the portal after it."""
_HAPPENED = frozenset({"succeeded", "unknown", "started"})


def sightings(found: Found, record: str, stories: Sequence[Story], catalogue: Catalogue, *, field_name: str = "") -> Iterator[Story]:
    """Each look at the record that found something new, and each event that the portal posted about it."""
    known: Mapping[str, str] | None = None
    looked_at = ""
    for event in found.seen:
        if event.type == "PortalEventReceived":
            if not field_name:
                yield {
                    **_at(event, record),
                    "kind": "portal_event",
                    "event": one_line(event.data["event"]),
                    "words": portal_event_in_words(event.data),
                }
            continue
        now = (event.data.get("records") or {}).get(record)
        if now is None:
            yield {**_at(event, record), "kind": "gone"}
            known = None
            continue
        changes = list(_differences(known, now, record, catalogue, field_name))
        if changes:
            kind = "seen" if known is not None else "first_seen"
            stated = [{**change, **(_author(change, stories, found, (looked_at, event.ts)) if looked_at else {})} for change in changes]
            yield {**_at(event, record), "kind": kind, "changes": stated if known is not None else changes}
        known, looked_at = now, event.ts


def _at(event: StoredEvent, record: str) -> Story:
    return {"at": event.ts, "session": session_of(event.stream), "records": [record]}


def _differences(
    before: Mapping[str, str] | None, now: Mapping[str, str], record: str, catalogue: Catalogue, field_name: str
) -> Iterator[dict[str, Any]]:
    kind = record.rpartition(":")[0]
    entity = definition(kind, catalogue)
    for name, value in now.items():
        if field_name and squeeze(name, kind) != squeeze(field_name, kind):
            continue
        old = (before or {}).get(name)
        if value != old and (value or old):
            label = fields.label(entity, name, "en")
            yield {"field": name, "name": label, "before": one_line(old), "after": one_line(value)}


def _author(change: Mapping[str, Any], stories: Sequence[Story], found: Found, looks: tuple[str, str]) -> dict[str, Any]:
    """The latest call of the bot that wrote this field between the two looks; nobody known where there is none."""
    since, until = looks
    wrote = [
        story for story in stories if story["outcome"] in _HAPPENED and since < story["at"] <= until and _wrote(story, change["field"])
    ]
    last = max(wrote, key=lambda story: str(story["at"]), default=None)
    if last is None:
        early = iso(parse_iso(since) - _UNDER_WAY)
        perhaps = [event for event in found.unassigned if early < event.ts <= until]
        damaged = any(isinstance(event, Unreadable) for event in perhaps)
        return {"by": "", "through": "", "perhaps_erased": bool(perhaps), "perhaps_unreadable": damaged}
    return {"by": (last["asked"] or {}).get("person", ""), "through": last["effect_id"]}


def _wrote(story: Story, field: str) -> bool:
    return any(squeeze(change["field"]) == squeeze(field) for change in story["changes"])
