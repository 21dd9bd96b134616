"""How a record changed in the portal.

The journal tells only of fields that a call of the bot wrote between two readings.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Literal

from bitrix.catalogue.catalogue import Catalogue
from bitrix.catalogue.names import to_field_key
from orchestrator.gate.call import fields
from orchestrator.gate.call.targets import find_definition
from orchestrator.language.text import Locale
from orchestrator.reports.reading.damaged_records import UnreadableEvent
from orchestrator.reports.reading.journal_reader import to_one_line, to_session_name
from orchestrator.reports.reading.sentences import describe_portal_event
from orchestrator.reports.why.call_search import FoundCalls
from orchestrator.reports.why.story import CallStory, SeenChange, Sighting
from state.clock import format_iso, parse_iso
from state.events.portal import PortalEventReceived, RecordsSeen

_UNDER_WAY = timedelta(minutes=1)
"""A call started this long before a reading may reach the portal after it."""
_SENT_OUTCOMES = frozenset({"succeeded", "unknown", "started"})


def list_portal_changes(
    found_calls: FoundCalls, record: str, stories: Sequence[CallStory], catalogue: Catalogue, *, field_name: str = "", locale: Locale = "en"
) -> Iterator[Sighting]:
    """Posted events, and readings that found a change.

    With `field_name` only changes of this field, no posted events. `stories` may have made them.
    """
    known: Mapping[str, str] | None = None
    looked_at = ""
    for event in found_calls.seen:
        at, session, records = event.ts, to_session_name(event.stream), [record]
        if event.type == "PortalEventReceived":
            if not field_name:
                posted = PortalEventReceived.from_data(event.data)
                words = describe_portal_event(posted)
                yield Sighting(at=at, session=session, records=records, kind="portal_event", event=to_one_line(posted.event), words=words)
            continue
        now = RecordsSeen.from_data(event.data).records.get(record)
        if now is None:
            yield Sighting(at=at, session=session, records=records, kind="gone")
            known = None
            continue
        changes = list(_compare_fields(known or {}, now, record, catalogue, field_name, locale))
        if known is not None:
            changes = [_add_author(change, stories, found_calls, (looked_at, event.ts)) for change in changes]
        if changes:
            kind: Literal["seen", "first_seen"] = "seen" if known is not None else "first_seen"
            yield Sighting(at=at, session=session, records=records, kind=kind, changes=changes)
        known, looked_at = now, event.ts


def _compare_fields(
    before: Mapping[str, str], now: Mapping[str, str], record: str, catalogue: Catalogue, field_name: str, locale: Locale
) -> Iterator[SeenChange]:
    kind = record.rpartition(":")[0]
    entity = find_definition(kind, catalogue)
    for name, value in now.items():
        if field_name and to_field_key(name, kind) != to_field_key(field_name, kind):
            continue
        old = before.get(name)
        if value != old and (value or old):
            label = fields.find_label(entity, name, locale)
            yield SeenChange(field=name, name=label, before=to_one_line(old), after=to_one_line(value))


def _add_author(change: SeenChange, stories: Sequence[CallStory], found_calls: FoundCalls, looks: tuple[str, str]) -> SeenChange:
    """The latest call that wrote the field between both times of `looks`; "" if there is none."""
    since, until = looks
    wrote = [
        story
        for story in stories
        if story.outcome in _SENT_OUTCOMES
        and since < story.at <= until
        and any(to_field_key(written.field) == to_field_key(change.field) for written in story.changes)
    ]
    last = max(wrote, key=lambda story: story.at, default=None)
    if last is not None:
        return SeenChange(**change.to_json(), by=last.asked.person if last.asked else "", through=last.effect_id)
    early = format_iso(parse_iso(since) - _UNDER_WAY)
    perhaps = [event for event in found_calls.unassigned if early < event.ts <= until]
    damaged = any(isinstance(event, UnreadableEvent) for event in perhaps)
    return SeenChange(**change.to_json(), by="", through="", perhaps_erased=bool(perhaps), perhaps_unreadable=damaged)
