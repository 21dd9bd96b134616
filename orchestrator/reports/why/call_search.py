"""Finds all events about a call, card or record, with their turns. Reads only.

Few types name records; only streams with matches are read whole, and only matches stay in memory.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.engines.base import PlanStep
from orchestrator.gate.call.serialization import build_effect_id
from orchestrator.reports.reading.journal_reader import MILLISECOND, PAGE, AmbiguousName, NotFound, scan_events
from orchestrator.reports.why.touched_records import TouchedRecord, find_created_record, find_touched_records
from state.events.calls import CallStarted, CallSucceeded, OutcomeReconciled
from state.events.confirmations import ConfirmationDenied, ConfirmationRequested
from state.events.conversation import MessageReceived, NameAsked, PlanRecorded, StepRefused
from state.events.portal import PortalEventReceived, RecordsSeen
from state.journal.blobs import parse_blob
from state.journal.store import Store, StoredEvent
from state.sql.search_encrypted import Search

_Call = ConfirmationRequested | ConfirmationDenied | CallStarted | StepRefused
_WITH_PARAMS: Final[Mapping[str, type[_Call]]] = {
    kind.__name__: kind for kind in (ConfirmationRequested, ConfirmationDenied, CallStarted, StepRefused)
}
_CALLS: Final = (*_WITH_PARAMS, "PlanRecorded")
_PORTAL: Final = ("RecordsSeen", "PortalEventReceived")
_IDENTIFIED: Final = (*_CALLS, "CallSucceeded", "CallRefused", "CallOutcomeUnknown", "OutcomeReconciled")
_OF_TURNS: Final = frozenset({"MessageReceived", "ModelAnswered", "PlanRecorded", "TurnFinished"})
_SHORTEST: Final = 4
_SHORTEST_TURN: Final = 8
_FIRST_PAGE: Final = 3
_MAX_SINGLE_READS: Final = 5000
"""Above it, reading page by page is faster than one by one."""
_WHOLE: Final = range(1, sys.maxsize)
"""All numbers of a stream."""
_BEFORE: Final = 1_000
_AFTER: Final = 5_000
"""Events searched around a call's first one: no session has more in a day."""
_ADD_SUFFIX: Final = ".add"
"""Ends methods that create a record, whose id is only in the answer."""
_ID_PATTERN: Final = re.compile(r'"(?:effect|turn)_id":"([^"]+)"')
"""A deeper id matches, too: records may be found needlessly, none is missed."""
SearchedEffects = dict[str, dict[str, set[str]]]
"""Stream → effect id → ids of turns that mention it."""


@dataclass(kw_only=True)
class CallTrail:
    stream: str
    effect_id: str
    events: list[StoredEvent] = field(default_factory=list)
    turn: list[StoredEvent] = field(default_factory=list)
    question: str = ""
    """The text that led to a question which the turn answers; else ""."""
    slot: str = ""

    def find_first(self, *types: str) -> StoredEvent | None:
        return next((event for event in self.events if event.type in types), None)


@dataclass(kw_only=True)
class FoundCalls:
    """`seen`: events in which the bot saw the record in the portal."""

    trails: list[CallTrail]
    seen: list[StoredEvent] = field(default_factory=list)
    unassigned: list[StoredEvent] = field(default_factory=list)
    """Sent calls, erased or unreadable, that may have been about any record."""


def find_by_record(store: Store, record: str, catalogue: Catalogue, *, field_name: str = "", sift: Search | None = None) -> FoundCalls:
    """Calls meant to change `record` ("deal:481"), and sightings of it.

    `field_name` keeps calls that write it. Without `sift`, which finds events quickly, all are read.
    """
    effects: SearchedEffects = {}
    seen: list[StoredEvent] = []
    unassigned: list[StoredEvent] = []
    kind, _, number = record.rpartition(":")
    for event in _scan_relevant(store, number, sift):
        if event.type in _PORTAL:
            if _is_seen(event, record):
                seen.append(event)
            continue
        if event.type == "CallStarted" and event.erased and CallStarted.from_data(event.data).call_class != "R":
            unassigned.append(event)
            continue
        for effect_id, touched in _find_touched(event, catalogue, number):
            fitting = [touch for touch in touched if not touch.reads and (not field_name or touch.is_writing(field_name))]
            adds = [touch for touch in fitting if touch.created_kind == kind] if event.type == "CallStarted" else []
            if any(touch.target == record for touch in fitting) or (adds and _has_created(event, effect_id, adds, record, store)):
                _add_effect(effects, event, effect_id)
    return FoundCalls(trails=_build_trails(store, effects), seen=seen, unassigned=unassigned)


def find_by_id(store: Store, text: str) -> FoundCalls:
    """By either end of an effect or card id, or by the end of a turn's (trace) id.

    Raises NotFound, AmbiguousName.
    """
    query = text.strip().lower().rstrip("…")
    if len(query) < _SHORTEST:
        raise NotFound(f"{text!r} is too short for an id: give at least {_SHORTEST} characters")
    hits: dict[str, SearchedEffects] = {}
    turns: dict[str, SearchedEffects] = {}
    for event in scan_events(store, _IDENTIFIED):
        turn = _find_turn_id(event)
        for effect_id, card in _find_ids(event):
            if len(query) >= _SHORTEST_TURN and turn.endswith(query):
                _add_effect(turns.setdefault(turn, {}), event, effect_id)
            if any(name.startswith(query) or name.endswith(query) for name in (effect_id, card) if name):
                _add_effect(hits.setdefault(effect_id, {}), event, effect_id)
    hits = hits or turns
    if len(hits) > 1 and query not in hits:
        raise AmbiguousName(text, sorted(hits))
    return FoundCalls(trails=_build_trails(store, hits.get(query) or next(iter(hits.values()), {})))


def find_by_effect(store: Store, stream: str, effect_id: str, *, near: int = 0) -> CallTrail | None:
    """None if the stream does not speak of it.

    `near`, its first number, limits the reading.
    """
    span = range(max(1, near - _BEFORE), near + _AFTER) if near else _WHOLE
    return next(_build_stream_trails(store, stream, {effect_id: set(_find_refused_turns(store, stream, effect_id, span))}, span), None)


def find_beginning(store: Store, effect_id: str) -> StoredEvent | None:
    """By the index; None for a call that is not in it, or was erased."""
    return next((event for one in store.list_index_entries(effect_id, "began", "", 1) if (event := find_event(store, one.event_id))), None)


def find_event(store: Store, event_id: str) -> StoredEvent | None:
    """The store can only scan forward from an id."""
    return next((event for event in store.scan((), event_id[:-1], 1) if event.id == event_id), None)


def _find_refused_turns(store: Store, stream: str, effect_id: str, span: range) -> Iterator[str]:
    """Refused at once: such a record names its step, not the call."""
    for _, kind, text in _read_unopened(store, stream, span):
        if kind == StepRefused.__name__:
            refused = orjson.loads(text)
            if build_effect_id(str(refused.get("slot"))) == effect_id:
                yield str(refused.get("turn_id"))


def _add_effect(effects: SearchedEffects, event: StoredEvent, effect_id: str) -> None:
    turns = effects.setdefault(event.stream, {}).setdefault(effect_id, set())
    turns.update({_find_turn_id(event)} - {""})


def _scan_relevant(store: Store, number: str, sift: Search | None) -> Iterator[StoredEvent]:
    """Events that may be about the record or its creation; all without `sift`."""
    types = (*_CALLS, *_PORTAL)
    if sift is None:
        yield from scan_events(store, types)
        return
    names = _build_number_filter(number)
    places = sift({**dict.fromkeys(types, names), "CallStarted": lambda text: _ADD_SUFFIX in text or names(text)})
    # Of an erased call only the fact that it was sent is still useful.
    near = [place for place in places if place.why != "erased" or place.type == "CallStarted"]
    if len(near) > _MAX_SINGLE_READS:
        yield from scan_events(store, types)
        return
    for place in sorted(near, key=lambda place: (place.id[:MILLISECOND], place.stream, place.seq)):
        yield from store.scan((), place.id[:-1], 1)


def _build_number_filter(number: str) -> Callable[[str], bool]:
    """Alone, not inside a longer one; also after a percent-encoded character, as in batches."""
    alone = re.compile(rf"(?:(?<!\d)|(?<=%[0-9A-Fa-f]{{2}}))0*{int(number)}(?!\d)")
    return lambda text: number in text and alone.search(text) is not None


def _find_touched(event: StoredEvent, catalogue: Catalogue, number: str) -> Iterator[tuple[str, list[TouchedRecord]]]:
    """(effect id, touched records) of calls that may touch or create the record `number`.

    Skips texts without the number, much faster than parsing.
    """
    if event.type == "PlanRecorded":
        for step in _read_planned(event):
            yield build_effect_id(step.slot), find_touched_records(step.method, step.params, catalogue)
        return
    call = _WITH_PARAMS[event.type].from_data(event.data)
    text = str(call.params)
    if number in text or (isinstance(call, CallStarted) and (_ADD_SUFFIX in call.method or _ADD_SUFFIX in text)):
        effect_id = build_effect_id(call.slot) if isinstance(call, StepRefused) else call.effect_id
        yield effect_id, find_touched_records(call.method, call.params, catalogue)


def read_steps(event: StoredEvent) -> list[PlanStep]:
    return [PlanStep.from_stored(step) for step in PlanRecorded.from_data(event.data).steps]


def _read_planned(event: StoredEvent) -> list[PlanStep]:
    """In shadow mode; calls of other plans have their own events."""
    return [] if PlanRecorded.from_data(event.data).executed else read_steps(event)


def _has_created(started: StoredEvent, effect_id: str, adding: Sequence[TouchedRecord], record: str, store: Store) -> bool:
    """`adding` are the commands that create a record."""
    for event in _read_after(started, store):
        if effect_id not in (named for named, _ in _find_ids(event)):
            continue
        if event.type == "CallSucceeded":
            result = load_answer(event, store)
            answers = ((touch, result.get(touch.key) if touch.key and isinstance(result, Mapping) else result) for touch in adding)
            return any(find_created_record(touch, answer) == record for touch, answer in answers)
        if event.type == "OutcomeReconciled":
            kind, _, number = record.rpartition(":")
            return str(OutcomeReconciled.from_data(event.data).changes.objects.get(f"current_{kind}_id")) == number
        if event.type == "CallRefused":
            return False
    return False


def _read_after(event: StoredEvent, store: Store) -> Iterator[StoredEvent]:
    """The first page is small: most calls end soon."""
    after, limit = event.seq, _FIRST_PAGE
    while page := store.read_events(event.stream, after=after, limit=limit):
        yield from page
        after, limit = page[-1].seq, PAGE


def load_answer(event: StoredEvent, store: Store) -> object:
    answered = CallSucceeded.from_data(event.data)
    if not answered.result_blob:
        return answered.result
    text = store.load_blob(answered.result_blob)
    return parse_blob(text) if text else None


def _is_seen(event: StoredEvent, record: str) -> bool:
    if event.type == "PortalEventReceived":
        return PortalEventReceived.from_data(event.data).target == record
    seen = RecordsSeen.from_data(event.data)
    return record in seen.records or record in seen.gone


def _find_ids(event: StoredEvent) -> Iterator[tuple[str, str]]:
    """(effect id, card id or "")."""
    data = event.data
    if event.type == "PlanRecorded":
        yield from ((build_effect_id(step.slot), "") for step in _read_planned(event))
    elif data.get("effect_id"):
        yield data["effect_id"], data.get("confirmation_id") or ""
    elif data.get("slot"):
        yield build_effect_id(data["slot"]), ""


def _build_trails(store: Store, effects: SearchedEffects) -> list[CallTrail]:
    return [trail for stream, effect in effects.items() for trail in _build_stream_trails(store, stream, effect)]


def _read_around(store: Store, stream: str, turns_by_effect: Mapping[str, set[str]], span: range) -> Iterator[StoredEvent]:
    """Also all NameAsked.

    Ids are not encrypted, so other records are not decrypted.
    """
    mentions = [(seq, kind, set(_ID_PATTERN.findall(data))) for seq, kind, data in _read_unopened(store, stream, span)]
    near = set(turns_by_effect).union(*turns_by_effect.values(), *(ids for _, _, ids in mentions if not ids.isdisjoint(turns_by_effect)))
    seqs = [seq for seq, kind, ids in mentions if kind == "NameAsked" or not ids.isdisjoint(near)]
    start = 0
    for index, seq in enumerate(seqs):
        if index + 1 == len(seqs) or seqs[index + 1] != seq + 1 or index - start + 1 == PAGE:
            yield from store.read_events(stream, after=seqs[start] - 1, limit=index - start + 1)
            start = index + 1


def _read_unopened(store: Store, stream: str, span: range) -> Iterator[tuple[int, str, str]]:
    """(number, type, text), with what is encrypted unread."""
    after = span.start - 1
    while after + 1 < span.stop and (page := store.read_encrypted(stream, after, min(PAGE, span.stop - after - 1))):
        yield from page
        after = page[-1][0]


def _build_stream_trails(store: Store, stream: str, turns_by_effect: Mapping[str, set[str]], span: range = _WHOLE) -> Iterator[CallTrail]:
    """A turn begins before its effects, so its events are kept until its outcome is known."""
    trails: dict[str, CallTrail] = {}
    turns: dict[str, list[StoredEvent]] = {}
    questions: dict[str, str] = {}
    turn_id = ""
    for event in _read_around(store, stream, turns_by_effect, span):
        if event.type == "NameAsked":
            question = NameAsked.from_data(event.data)
            questions[question.question_id] = question.text
        if event.type in _OF_TURNS:
            if event.type == "MessageReceived":
                _drop_turn(turns, trails, turn_id)
                turn_id = _find_turn_id(event)
            turns.setdefault(_find_turn_id(event), []).append(event)
        for effect_id, _ in _find_ids(event):
            if effect_id in turns_by_effect:
                trail = trails.setdefault(effect_id, CallTrail(stream=stream, effect_id=effect_id))
                trail.events.append(event)
                trail.slot = trail.slot or _find_slot(event, effect_id)
                trail.turn = trail.turn or turns.get(_find_turn_id(event), [])
    for trail in trails.values():
        messages = (MessageReceived.from_data(event.data) for event in trail.turn if event.type == "MessageReceived")
        trail.question = next((questions[message.answers] for message in messages if message.answers in questions), "")
    yield from trails.values()


def _drop_turn(turns: dict[str, list[StoredEvent]], trails: Mapping[str, CallTrail], turn_id: str) -> None:
    """Unless one of `trails` holds its events."""
    turn = turns.get(turn_id)
    if turn is not None and not any(trail.turn is turn for trail in trails.values()):
        del turns[turn_id]


def _find_turn_id(event: StoredEvent) -> str:
    return str(event.data.get("turn_id") or "")


def _find_slot(event: StoredEvent, effect_id: str) -> str:
    if event.type == "PlanRecorded":
        return next(step.slot for step in read_steps(event) if build_effect_id(step.slot) == effect_id)
    return str(event.data.get("slot") or "")
