"""Reads calls for an audit, page by page: who requested each call, who decided, what was sent, and the outcome. Changes nothing.

One request examines at most `MAX_SCANNED` calls, in small pieces, so that it does not block other work. If it stops at that limit, its page
is short, and the next page continues from there. Calls about one record are found by the record index, all others by time.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect_record import EffectRecord
from orchestrator.features.history.record_index import RecordIndex, read_decision
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.language.text import Locale, fold
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from orchestrator.reports.reading.journal_reader import to_session_name
from orchestrator.reports.reading.narrator import Narrator
from orchestrator.reports.viewer import Viewer
from orchestrator.reports.why.call_search import CallTrail
from orchestrator.reports.why.call_story import build_story
from orchestrator.reports.why.story import CallStory
from orchestrator.reports.why.touched_records import find_touched_records
from state.clock import format_iso
from state.events.calls import CallStarted
from state.events.confirmations import ConfirmationRequested, DecisionRefused
from state.events.conversation import StepRefused
from state.journal.async_store import AsyncStore
from state.journal.store import EffectRow, Store, StoredEvent

_FirstEvent = ConfirmationRequested | CallStarted | StepRefused
_FIRST: Final[Mapping[str, type[_FirstEvent]]] = {one.__name__: one for one in (ConfirmationRequested, CallStarted, StepRefused)}
"""The events with which a call first appears in the journal."""
_SLICE: Final = 100
MAX_SCANNED: Final = 1000
"""The greatest number of calls that one request examines."""
_MAX_TRAIL: Final = 5000
"""The greatest number of events searched for the end of a call: within a day no session has more."""
_MAX_OF_RECORD: Final = 5000
"""The greatest number of calls about one record that a list with the newest first reaches back to."""
_PIECE: Final = 500
_SHORT_PIECE: Final = 32
"""The number of events read at first when searching for the end of a call.

Most calls end within a few events; each next piece is twice as large, up to `_PIECE`.
"""
_TITLES: Final = ("TITLE", "NAME", "LAST_NAME")
"""The fields by which people know a record."""
_ENDS: Final = frozenset({"CallSucceeded", "CallRefused", "ConfirmationDenied", "ConfirmationExpired", "ConfirmationSuperseded"})
_BATCH: Final = "batch"
_UNCLEAR: Final = '"verdict":"unclear"'
_LATE: Final = timedelta(minutes=1)
"""The tolerance of searches by time, because the order of event ids is only approximately that of time."""
_OUTCOMES: Final[Mapping[str, str]] = {"requested": "waiting"}


@dataclass(frozen=True, kw_only=True)
class CallFilter:
    """The conditions by which an audit selects calls: requester or decider, record ("deal:481"), and time of the request.

    A condition that is "", None or empty selects all calls.
    """

    person: str = ""
    record: str = ""
    since: datetime | None = None
    until: datetime | None = None
    methods: frozenset[str] = frozenset()
    """The methods of which the call, or a command of the batch, must have one."""
    title: str = ""
    """A part of the title of a record that the call is about, as it was called when the call was asked for."""
    outcome: str = ""
    """How the call ended, or where it stands, by the words of `AuditedCall.outcome`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCall:
    """One call in an audit: its story (what happened from request to outcome), and who requested it.

    It also lists decisions about the call that did not count, for example those of people without the right to decide.
    """

    story: CallStory
    event_id: str
    """The id of the event with which the call first appears."""
    asked_by: str
    asked_by_name: str
    asked_at: str
    outcome: str
    """The outcome as in the story, or the status of the effect if the end of the call was not found."""
    attempts: Sequence[tuple[str, DecisionRefused]]
    """The attempts to decide about the call that did not count, each with its time."""
    is_complete: bool
    """Whether the last event of the call was found."""


@dataclass(frozen=True, kw_only=True)
class CallPage:
    """One page of an audit: calls in the order of their requests.

    To load the next page, pass on `after`: the id of the last event examined, "" if there is no next page.
    """

    calls: Sequence[AuditedCall]
    after: str


@dataclass(kw_only=True)
class CallAudit:
    """Searches the journal for calls, and builds the story of each (what happened to it from request to outcome)."""

    store: AsyncStore
    index: RecordIndex

    async def load_page(
        self,
        viewer: Viewer,
        wanted: CallFilter,
        voice: Narrator,
        *,
        after: str,
        limit: int,
        newest_first: bool = False,
        locale: Locale = "en",
    ) -> CallPage:
        """Return the next page: up to `limit` calls that match `wanted` and that the viewer may see. Raises StoreError.

        `after` is the value of that name in the previous page, "" for the first page. The calls are in the order of their requests, or with
        `newest_first` in the opposite order. `voice` puts the stories into words, in which fields are named in the language `locale`.
        """
        audited_calls: list[AuditedCall] = []
        looked, last = 0, after
        back = self._read_first_events_back(wanted, after)
        async for event in back if newest_first else self._read_first_events(wanted, max(after, _event_id_at(wanted.since))):
            if len(audited_calls) == limit or looked == MAX_SCANNED:
                return CallPage(calls=audited_calls, after=last)
            looked, last = looked + 1, event.id
            if (
                self._is_match(event, viewer, wanted)
                and (not wanted.outcome or await self.store.read(_find_outcome, event) == wanted.outcome)
                and await self._is_about(event, wanted.person)
            ):
                audited_calls.append(await self.store.read(_audit_call, event, voice, viewer, wanted.record, locale))
        return CallPage(calls=audited_calls, after="")

    async def _read_first_events_back(self, wanted: CallFilter, before: str) -> AsyncIterator[StoredEvent]:
        """Yield what `_read_first_events` yields, the newest first, beginning before the event id `before` ("" for the newest)."""
        if wanted.record:
            ids = await self.index.list_first_event_ids(wanted.record, "", _MAX_OF_RECORD)
            older = [one for one in reversed(ids) if not before or one < before]
            for start in range(0, len(older), _SLICE):
                for event in await self.store.read(_read_events, older[start : start + _SLICE]):
                    yield event
            return
        start_id, end = before or (_event_id_at(wanted.until + 2 * _LATE) if wanted.until else ""), _event_id_at(wanted.since)
        while page := await self.store.read(_read_slice_back, start_id):
            for event in page:
                if event.id < end:
                    return
                yield event
            start_id = page[-1].id

    async def _read_first_events(self, wanted: CallFilter, after: str) -> AsyncIterator[StoredEvent]:
        """Yield the first event of each call that `wanted` may select, oldest first, beginning after the event id `after`."""
        if wanted.record:
            while ids := await self.index.list_first_event_ids(wanted.record, after, _SLICE):
                for event in await self.store.read(_read_events, ids):
                    yield event
                after = ids[-1]
            return
        end = _event_id_at(wanted.until + _LATE) if wanted.until else ""
        while page := await self.store.read(_read_slice, after):
            for event in page:
                if end and event.id > end:
                    return
                yield event
            after = page[-1].id

    def _is_match(self, event: StoredEvent, viewer: Viewer, wanted: CallFilter) -> bool:
        first = _read_first(event)
        if isinstance(first, CallStarted) and first.confirmation_id:  # reported together with its card
            return False
        if (wanted.until and event.ts >= format_iso(wanted.until)) or (wanted.since and event.ts < format_iso(wanted.since)):
            return False
        if wanted.methods and not _has_method(first, wanted.methods, viewer):
            return False
        return _may_see(viewer, event) and (not wanted.title or _is_titled(first, wanted.title))

    async def _is_about(self, event: StoredEvent, person: str) -> bool:
        """Whether `person` requested or decided the call; always True if no person is named."""
        if person in {"", _find_requester(event)}:
            return True
        return event.type == ConfirmationRequested.__name__ and await self.store.read(_find_decider, event) == person


def _read_first(event: StoredEvent) -> _FirstEvent:
    return _FIRST[event.type].from_data(event.data)


def _has_method(first: _FirstEvent, methods: frozenset[str], viewer: Viewer) -> bool:
    if first.method != _BATCH:
        return first.method in methods
    return any(touch.method in methods for touch in find_touched_records(first.method, first.params, viewer.deps.catalogue))


def _is_titled(first: _FirstEvent, words: str) -> bool:
    """Whether a record of the call was called so, whatever the case of the letters; a record that it creates is called as it is given."""
    fields = first.params.get("fields")
    given = [fields] if isinstance(fields, Mapping) else []
    known = [] if isinstance(first, StepRefused) else [one for one in first.before.values() if isinstance(one, Mapping)]
    titles = [str(one[name]) for one in (*given, *known) for name in _TITLES if one.get(name)]
    if isinstance(first, ConfirmationRequested):
        preview = Preview.model_validate(first.preview)
        titles += [part.title for part in (preview, *preview.items)]
    return any(fold(words) in fold(title) for title in titles)


def _find_outcome(store: Store, first: StoredEvent) -> str:
    """Return the outcome of the call that begins with this event, as far as its row in the table of effects says it."""
    begun = _read_first(first)
    if isinstance(begun, StepRefused):
        return "refused"
    row = store.find_effect(begun.effect_id)
    return _OUTCOMES.get(row.status, row.status) if row is not None else ""


def may_see_story(viewer: Viewer, trail: CallTrail) -> bool:
    """Return whether the viewer may see the call of which `trail` holds the events, by the rule of the audit; False for no call."""
    first = trail.find_first(*_FIRST)
    return first is not None and _may_see(viewer, first)


def _may_see(viewer: Viewer, first: StoredEvent) -> bool:
    begun, session = _read_first(first), to_session_name(first.stream)
    if isinstance(begun, StepRefused):
        return viewer.may_see_call(session, before={}, by=first.actor, user=None)
    return viewer.may_see_call(session, before=begun.before, by=_find_requester(first), user=begun.requested_by_user)


def _find_requester(event: StoredEvent) -> str:
    """Return the key of the person who requested the call that begins with this event."""
    first = _read_first(event)
    return event.actor if isinstance(first, StepRefused) else first.requested_by or event.actor


def _find_decider(store: Store, first: StoredEvent) -> str:
    """Return the key of the person who decided the card that the event `first` requested; "" if nobody decided.

    If the card was approved, the call's row in the table of effects usually names that person; otherwise the event of the decision does.
    """
    row = store.find_effect(ConfirmationRequested.from_data(first.data).effect_id)
    if row is None or row.status in {"requested", "expired"}:
        return ""
    if approved_by := EffectRecord.model_validate(row.call).approved_by:
        return approved_by
    past = cast("Store", DamageTolerantStore(store))
    trail, _ = _collect_trail(past, first, row.effect_id, row)
    decisions = filter(None, map(read_decision, reversed(trail.events)))  # an approval may have led to no call
    return next((decision.by for decision in decisions), "")


def _audit_call(store: Store, first: StoredEvent, voice: Narrator, viewer: Viewer, record: str, locale: Locale) -> AuditedCall:
    """Return the audit entry of the call that begins with the event `first`, with fields named in the language `locale`.

    `record` is the record ("deal:481") that the audit's filter names, "" for none. Of a batch, the story then includes only the commands
    about this record.
    """
    past = cast("Store", DamageTolerantStore(store))
    begun = _read_first(first)
    effect_id = build_effect_id(begun.slot) if isinstance(begun, StepRefused) else begun.effect_id
    row = None if isinstance(begun, StepRefused) else store.find_effect(effect_id)
    trail, is_complete = _collect_trail(past, first, effect_id, row)
    story = build_story(trail, past, voice=voice, catalogue=viewer.deps.catalogue, record=record, locale=locale)
    by = _find_requester(first)
    return AuditedCall(
        story=story,
        event_id=first.id,
        asked_by=by,
        asked_by_name=voice.find_name(by),
        asked_at=first.ts,
        outcome=story.outcome if is_complete or row is None else _OUTCOMES.get(row.status, row.status),
        attempts=[(event.ts, DecisionRefused.from_data(event.data)) for event in trail.events if event.type == DecisionRefused.__name__],
        is_complete=is_complete,
    )


def _collect_trail(store: Store, first: StoredEvent, effect_id: str, row: EffectRow | None) -> tuple[CallTrail, bool]:
    """Return the events of one call, in order, and whether the last of them was found.

    `first` is the first event of the call. `row` is the call's row in the table of effects (calls that the bot proposed); it is None if the
    gate refused the call at once, so that `first` is its only event.
    """
    trail = CallTrail(stream=first.stream, effect_id=effect_id, events=[first], slot=_read_first(first).slot)
    if row is None:
        return trail, True
    named = f'"effect_id":"{effect_id}"'
    after, over, end = first.seq, row.status == "requested", first.seq + _MAX_TRAIL
    seqs: list[int] = []
    piece = min(_SHORT_PIECE, _PIECE)
    while page := store.read_encrypted(first.stream, after, piece):
        for seq, kind, data in page:
            if named in data and not over:
                seqs.append(seq)
                over = _is_end(kind, data, row.status)
        after, piece = page[-1][0], min(2 * piece, _PIECE)
        if over or after >= end:
            break
    trail.events.extend(event for seq in seqs for event in store.read_events(first.stream, seq - 1, 1))
    return trail, over


def _is_end(kind: str, data: str, status: str) -> bool:
    """Whether this event is the last one of its call.

    `kind` and `data` are the type and the JSON of the event; `status` is the present status of the call in the table of effects.
    """
    if kind == "CallOutcomeUnknown":
        return status == "unknown"
    return kind in _ENDS or (kind == "OutcomeReconciled" and _UNCLEAR not in data)


def _read_slice(store: Store, after: str) -> Sequence[StoredEvent]:
    return list(DamageTolerantStore(store).scan(tuple(_FIRST), after, _SLICE))


def _read_slice_back(store: Store, before: str) -> Sequence[StoredEvent]:
    return list(DamageTolerantStore(store).scan_back(tuple(_FIRST), before, _SLICE))


def _read_events(store: Store, ids: Sequence[str]) -> Sequence[StoredEvent]:
    """Return the events with these ids; ids without an event are skipped.

    The store can only scan forward from an id, so each scan starts just before the wanted id.
    """
    return [event for one in ids for event in DamageTolerantStore(store).scan((), one[:-1], 1) if event.id == one]


def _event_id_at(moment: datetime | None) -> str:
    """Return an event id from which to scan for events made at or after `moment`; "" for None.

    An event id begins with the time of the event. The result is one minute early (`_LATE`), because ids are ordered by time only roughly.
    """
    if moment is None:
        return ""
    digits = f"{max(0, int((moment - _LATE).timestamp() * 1000)):012x}"
    return f"{digits[:8]}-{digits[8:]}"
