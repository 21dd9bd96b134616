"""All about one call and what followed. Who sees it need not be allowed to read its conversation: words are then left out."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from bot.console.audit.query import ADDRESS
from bot.console.audit.search import ChangedField, find_name
from bot.console.visit import Visit
from bot.console.words import describe_call, find_run_title
from bot.http_api.audit.audit_trail import build_voice
from bot.http_api.server.errors import ApiError
from orchestrator.domain.effect import EffectRecord
from orchestrator.features.history.call_audit import may_see_story
from orchestrator.features.history.record_index import find_start_time
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from orchestrator.reports.reading.journal_reader import Narrator
from orchestrator.reports.viewer import Viewer
from orchestrator.reports.why.call_search import CallTrail, FoundCalls, find_beginning, find_by_effect, find_event
from orchestrator.reports.why.call_story import build_story
from orchestrator.reports.why.portal_changes import list_portal_changes
from orchestrator.reports.why.story import CallStory
from orchestrator.reports.why.touched_records import find_touched_records
from state.clock import format_iso
from state.events.confirmations import DecisionRefused
from state.journal.run_index import PREFIX as RUN
from state.journal.store import EffectRow, Store

_EFFECT: Final = re.compile(r"[0-9a-f]{8,64}", re.ASCII)
_EVENT: Final = re.compile(r"[0-9a-f-]{36}", re.ASCII)
_RECORDS: Final = 5
"""Records of a call that are followed."""
_LATER: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedAttempt:
    """A decision that did not count."""

    at: str
    by: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaterChange:
    """Another call, or a change that the bot saw in the portal."""

    at: str
    who: str
    what: str
    changes: Sequence[ChangedField] = ()
    status: str = ""
    """Of the call; "" for a change in the portal."""
    is_undo: bool = False
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class WhyView:
    story: CallStory
    asked_by: str
    """"" if the name is not known any more."""
    decided_by: str
    attempts: Sequence[RefusedAttempt]
    shows_words: bool
    """The person may read the conversation."""
    later: Sequence[LaterChange]
    run_id: str = ""
    """"" for a call of a conversation."""
    run_title: str = ""


async def load_why(visit: Visit, effect_id: str, event_id: str) -> WhyView:
    """`event_id` finds a call refused at once, which no table names. Raises ApiError 404 also if it may not be seen."""
    viewer, voice, locale = visit.viewer, build_voice(visit.services.desk, visit.caller), visit.tr.locale

    def read(store: Store) -> tuple[CallTrail, CallStory] | None:
        past = cast("Store", DamageTolerantStore(store))
        trail = _find_trail(past, effect_id, event_id)
        if trail is None or not may_see_story(viewer, trail):
            return None
        return trail, build_story(trail, past, voice=voice, catalogue=viewer.deps.catalogue, locale=locale)

    trail_and_story = await visit.services.store.read(read)
    if trail_and_story is None:
        raise ApiError(404, "call_not_found", "There is no such call.")
    trail, story = trail_and_story
    decided = story.card.decided if story.card is not None else None
    run_id = story.session.removeprefix(RUN) if story.session.startswith(RUN) else ""
    return WhyView(
        story=story,
        asked_by=voice.find_name(story.asked.by) if story.asked is not None else "",
        decided_by=find_name(visit, decided.by) if decided is not None else "",
        attempts=_list_attempts(trail, voice),
        shows_words=_may_read_words(viewer, story),
        later=await _load_later(visit, viewer, story),
        run_id=run_id,
        run_title=await find_run_title(visit, run_id) if run_id else "",
    )


def _find_trail(store: Store, effect_id: str, event_id: str) -> CallTrail | None:
    row = store.find_effect(effect_id) if _EFFECT.fullmatch(effect_id) else None
    if row is not None:
        first = find_beginning(store, effect_id)  # none of a call whose person was erased: its stream is then searched
        return find_by_effect(store, row.stream, effect_id, near=first.seq if first is not None and first.stream == row.stream else 0)
    first = find_event(store, event_id) if _EVENT.fullmatch(event_id) else None
    return find_by_effect(store, first.stream, effect_id, near=first.seq) if first is not None else None


def _may_read_words(viewer: Viewer, story: CallStory) -> bool:
    owner = story.asked.by if story.asked is not None else ""
    if story.session.startswith(RUN):
        return bool(owner) and viewer.may_see_run(owner, with_words=True)
    return owner == viewer.actor.key or viewer.may_see_session(story.session)


def _list_attempts(trail: CallTrail, voice: Narrator) -> Sequence[RefusedAttempt]:
    refused = [(event.ts, DecisionRefused.from_data(event.data)) for event in trail.events if event.type == DecisionRefused.__name__]
    return tuple(RefusedAttempt(at=at, by=voice.find_name(one.by) or one.by, why=voice.describe_code(one.code)) for at, one in refused)


async def _load_later(visit: Visit, viewer: Viewer, story: CallStory) -> Sequence[LaterChange]:
    """Oldest first."""
    later_changes: list[LaterChange] = []
    undo = await visit.services.desk.index.find_undo(story.effect_id)
    for record in story.records[:_RECORDS]:
        fields = [change.field for change in story.changes if change.record == record]
        rows = await visit.services.desk.index.list_calls(record)
        newer = [row for row in rows if format_iso(find_start_time(row)) > story.at and row.effect_id != story.effect_id]
        later_changes += [change for row in newer if (change := _describe_later(visit, viewer, row, record, fields, undo)) is not None]
        later_changes += await _load_portal_changes(visit, viewer, story, record, fields)
    unique = {(later_change.at, later_change.what, later_change.address): later_change for later_change in later_changes}
    return tuple(sorted(unique.values(), key=lambda later_change: later_change.at)[:_LATER])


def _describe_later(
    visit: Visit, viewer: Viewer, row: EffectRow, record: str, fields: Sequence[str], undo: EffectRow | None
) -> LaterChange | None:
    """None if it did nothing to these fields, or is hidden from the person."""
    effect, is_undo = EffectRecord.model_validate(row.call), undo is not None and undo.effect_id == row.effect_id
    call = effect.call
    if call is None or not viewer.may_see_call(
        row.stream.removeprefix("session:"), before=effect.before, by=effect.requested_by, user=None
    ):
        return None
    touched = [
        touch
        for leaf in call.leaves
        for touch in find_touched_records(leaf.method, leaf.params, viewer.deps.catalogue)
        if touch.target == record and not touch.reads
    ]
    if not is_undo and fields and not any(touch.is_writing(field) for touch in touched for field in fields):
        return None
    return LaterChange(
        at=format_iso(find_start_time(row)),
        who=find_name(visit, effect.requested_by),
        what=describe_call(visit.tr, call.method, [record]),
        status=row.status,
        is_undo=is_undo,
        address=f"{ADDRESS}/{row.effect_id}",
    )


async def _load_portal_changes(visit: Visit, viewer: Viewer, story: CallStory, record: str, fields: Sequence[str]) -> list[LaterChange]:
    """Changes that the bot saw afterwards and no call of it made."""
    probes = await visit.services.desk.index.list_probes(record)
    seen = FoundCalls(trails=[], seen=list(probes))
    portal_changes = list_portal_changes(seen, record, [story], viewer.deps.catalogue, locale=visit.tr.locale)
    later_changes = []
    for portal_change in portal_changes:
        changes = tuple(
            ChangedField(record=record, name=change.name, before=change.before, after=change.after)
            for change in portal_change.changes
            if not change.through and change.field in fields
        )
        if portal_change.at > story.at and portal_change.kind == "seen" and changes:
            later_changes.append(LaterChange(at=portal_change.at, who="", what="", changes=changes))
    return later_changes
