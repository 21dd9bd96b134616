"""Reads calls for an audit, page by page. A request examines at most `MAX_SCANNED` calls."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import EffectRecord
from orchestrator.features.history.record_index import RecordIndex, read_decision
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.language.text import Locale, fold
from orchestrator.reports.reading.damaged_records import DamageTolerantStore
from orchestrator.reports.reading.journal_reader import Narrator, to_session_name
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
"""How calls first appear in the journal."""
_SLICE: Final = 100
MAX_SCANNED: Final = 1000
_MAX_TRAIL: Final = 5000
"""Events; within a day no session has more."""
_MAX_OF_RECORD: Final = 5000
"""Calls about one record with the newest first."""
_PIECE: Final = 500
_SHORT_PIECE: Final = 32
"""Most calls end within so few events."""
_TITLES: Final = ("TITLE", "NAME", "LAST_NAME")
"""By them people know a record."""
_ENDS: Final = frozenset({"CallSucceeded", "CallRefused", "ConfirmationDenied", "ConfirmationExpired", "ConfirmationSuperseded"})
_BATCH: Final = "batch"
_UNCLEAR: Final = '"verdict":"unclear"'
_LATE: Final = timedelta(minutes=1)
"""Event ids are only roughly in the order of time."""
_OUTCOMES: Final[Mapping[str, str]] = {"requested": "waiting"}


@dataclass(frozen=True, kw_only=True)
class CallFilter:
    """A condition that is "", None or empty selects all calls."""

    person: str = ""
    record: str = ""
    since: datetime | None = None
    until: datetime | None = None
    methods: frozenset[str] = frozenset()
    """One of them is the call's or a command's."""
    title: str = ""
    """A part of the title at the time of the request."""
    outcome: str = ""
    """In the words of `AuditedCall.outcome`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedCall:
    """With decisions that did not count."""

    story: CallStory
    event_id: str
    asked_by: str
    asked_by_name: str
    asked_at: str
    outcome: str
    """The effect's status if the end was not found."""
    attempts: Sequence[tuple[str, DecisionRefused]]
    is_complete: bool


@dataclass(frozen=True, kw_only=True)
class CallPage:
    """`after` loads the next page; "" if there is none."""

    calls: Sequence[AuditedCall]
    after: str


@dataclass(kw_only=True)
class CallAudit:
    store: AsyncStore
    index: RecordIndex

    async def load_page(
        self,
        viewer: Viewer,
        call_filter: CallFilter,
        voice: Narrator,
        *,
        after: str,
        limit: int,
        newest_first: bool = False,
        locale: Locale = "en",
    ) -> CallPage:
        """`after` is that of the previous page. Raises StoreError."""
        audited_calls: list[AuditedCall] = []
        looked, last = 0, after
        back = self._read_first_events_back(call_filter, after)
        async for event in back if newest_first else self._read_first_events(call_filter, max(after, _event_id_at(call_filter.since))):
            if len(audited_calls) == limit or looked == MAX_SCANNED:
                return CallPage(calls=audited_calls, after=last)
            looked, last = looked + 1, event.id
            if (
                self._is_match(event, viewer, call_filter)
                and (not call_filter.outcome or await self.store.read(_find_outcome, event) == call_filter.outcome)
                and await self._is_about(event, call_filter.person)
            ):
                audited_calls.append(await self.store.read(_audit_call, event, voice, viewer, call_filter.record, locale))
        return CallPage(calls=audited_calls, after="")

    async def _read_first_events_back(self, call_filter: CallFilter, before: str) -> AsyncIterator[StoredEvent]:
        """Before `before`, "" for the newest."""
        if call_filter.record:
            ids = await self.index.list_first_event_ids(call_filter.record, "", _MAX_OF_RECORD)
            older = [one for one in reversed(ids) if not before or one < before]
            for start in range(0, len(older), _SLICE):
                for event in await self.store.read(_read_events, older[start : start + _SLICE]):
                    yield event
            return
        start_id, end = (
            before or (_event_id_at(call_filter.until + 2 * _LATE) if call_filter.until else ""),
            _event_id_at(call_filter.since),
        )
        while page := await self.store.read(_read_slice_back, start_id):
            for event in page:
                if event.id < end:
                    return
                yield event
            start_id = page[-1].id

    async def _read_first_events(self, call_filter: CallFilter, after: str) -> AsyncIterator[StoredEvent]:
        if call_filter.record:
            while ids := await self.index.list_first_event_ids(call_filter.record, after, _SLICE):
                for event in await self.store.read(_read_events, ids):
                    yield event
                after = ids[-1]
            return
        end = _event_id_at(call_filter.until + _LATE) if call_filter.until else ""
        while page := await self.store.read(_read_slice, after):
            for event in page:
                if end and event.id > end:
                    return
                yield event
            after = page[-1].id

    def _is_match(self, event: StoredEvent, viewer: Viewer, call_filter: CallFilter) -> bool:
        first = _read_first(event)
        if isinstance(first, CallStarted) and first.confirmation_id:  # reported together with its card
            return False
        if (call_filter.until and event.ts >= format_iso(call_filter.until)) or (
            call_filter.since and event.ts < format_iso(call_filter.since)
        ):
            return False
        if call_filter.methods and not _has_method(first, call_filter.methods, viewer):
            return False
        return _may_see(viewer, event) and (not call_filter.title or _is_titled(first, call_filter.title))

    async def _is_about(self, event: StoredEvent, person: str) -> bool:
        """True if no person is named."""
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
    """A created record is called as the call names it."""
    fields = first.params.get("fields")
    created = [fields] if isinstance(fields, Mapping) else []
    known = [] if isinstance(first, StepRefused) else [one for one in first.before.values() if isinstance(one, Mapping)]
    titles = [str(one[name]) for one in (*created, *known) for name in _TITLES if one.get(name)]
    if isinstance(first, ConfirmationRequested):
        preview = Preview.model_validate(first.preview)
        titles += [part.title for part in (preview, *preview.items)]
    return any(fold(words) in fold(title) for title in titles)


def _find_outcome(store: Store, first: StoredEvent) -> str:
    begun = _read_first(first)
    if isinstance(begun, StepRefused):
        return "refused"
    row = store.find_effect(begun.effect_id)
    return _OUTCOMES.get(row.status, row.status) if row is not None else ""


def may_see_story(viewer: Viewer, trail: CallTrail) -> bool:
    first = trail.find_first(*_FIRST)
    return first is not None and _may_see(viewer, first)


def _may_see(viewer: Viewer, first: StoredEvent) -> bool:
    begun, session = _read_first(first), to_session_name(first.stream)
    if isinstance(begun, StepRefused):
        return viewer.may_see_call(session, before={}, by=first.actor, user=None)
    return viewer.may_see_call(session, before=begun.before, by=_find_requester(first), user=begun.requested_by_user)


def _find_requester(event: StoredEvent) -> str:
    first = _read_first(event)
    return event.actor if isinstance(first, StepRefused) else first.requested_by or event.actor


def _find_decider(store: Store, first: StoredEvent) -> str:
    """ "" if nobody decided."""
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
    """Of a batch, only commands about `record`."""
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
    """And whether the last event was found. `row` is None if the gate refused at once."""
    trail = CallTrail(stream=first.stream, effect_id=effect_id, events=[first], slot=_read_first(first).slot)
    if row is None:
        return trail, True
    mark = f'"effect_id":"{effect_id}"'
    after, over, end = first.seq, row.status == "requested", first.seq + _MAX_TRAIL
    seqs: list[int] = []
    piece = min(_SHORT_PIECE, _PIECE)
    while page := store.read_encrypted(first.stream, after, piece):
        for seq, kind, data in page:
            if mark in data and not over:
                seqs.append(seq)
                over = _is_end(kind, data, row.status)
        after, piece = page[-1][0], min(2 * piece, _PIECE)
        if over or after >= end:
            break
    trail.events.extend(event for seq in seqs for event in store.read_events(first.stream, seq - 1, 1))
    return trail, over


def _is_end(kind: str, data: str, status: str) -> bool:
    if kind == "CallOutcomeUnknown":
        return status == "unknown"
    return kind in _ENDS or (kind == "OutcomeReconciled" and _UNCLEAR not in data)


def _read_slice(store: Store, after: str) -> Sequence[StoredEvent]:
    return list(DamageTolerantStore(store).scan(tuple(_FIRST), after, _SLICE))


def _read_slice_back(store: Store, before: str) -> Sequence[StoredEvent]:
    return list(DamageTolerantStore(store).scan_back(tuple(_FIRST), before, _SLICE))


def _read_events(store: Store, ids: Sequence[str]) -> Sequence[StoredEvent]:
    """The store only scans forward. Unknown ids are skipped."""
    return [event for one in ids for event in DamageTolerantStore(store).scan((), one[:-1], 1) if event.id == one]


def _event_id_at(moment: datetime | None) -> str:
    """A minute early: ids are roughly in the order of time."""
    if moment is None:
        return ""
    digits = f"{max(0, int((moment - _LATE).timestamp() * 1000)):012x}"
    return f"{digits[:8]}-{digits[8:]}"
