"""Checks that effects changed status as `_MOVES` allows, and that the table agrees. Changes nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from orchestrator.reports.reading.journal_reader import parse_event
from state.canonical import dumps, hash_text
from state.clock import format_iso
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallRefused, CallStarted, CallSucceeded, OutcomeReconciled
from state.events.confirmations import (
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
)
from state.events.conversation import PlanRecorded
from state.events.freezing import ConfirmationReopened
from state.findings import Finding
from state.journal.store import EffectRow, StoredEvent
from state.stored import JsonObject

_Decision = ConfirmationApproved | ConfirmationDenied | ConfirmationExpired | ConfirmationSuperseded | ConfirmationReopened
_Ending = CallSucceeded | CallRefused | CallOutcomeUnknown | OutcomeReconciled
EffectEvent = ConfirmationRequested | _Decision | CallStarted | _Ending
_MOVES: Final[Mapping[type[Event], tuple[frozenset[str], str]]] = {
    ConfirmationRequested: (frozenset({"absent"}), "requested"),
    ConfirmationApproved: (frozenset({"requested"}), "approved"),
    ConfirmationDenied: (frozenset({"requested"}), "denied"),
    ConfirmationExpired: (frozenset({"requested"}), "expired"),
    ConfirmationSuperseded: (frozenset({"requested", "approved"}), "superseded"),
    ConfirmationReopened: (frozenset({"approved"}), "requested"),
    CallStarted: (frozenset({"absent", "approved"}), "started"),
    CallSucceeded: (frozenset({"started"}), "succeeded"),
    CallRefused: (frozenset({"started", "approved"}), "refused"),
    CallOutcomeUnknown: (frozenset({"started", "approved"}), "unknown"),
    OutcomeReconciled: (frozenset({"unknown"}), "settled"),
}
_FINGERPRINTED = ("portal", "method", "params")
"""Covered by the fingerprint that binds an approval to this call."""
_ALWAYS_ASK = frozenset("DCMN")
_SAME_ROW: Final = ("turn_id", "slot", "requested_by", "proposed_by", "confirmation_id")
_SAME_OUTCOME: Final = ("effect_id", "method", "call_class", "total", "sums", "commands", "unchanged")


@dataclass(kw_only=True)
class _EffectHistory:
    """What is known of one effect so far."""

    status: str = "absent"
    ts: str = ""
    seq: int = 0
    asked: ConfirmationRequested | None = None
    approved: ConfirmationApproved | None = None
    started: CallStarted | None = None
    order: JsonObject = field(default_factory=dict)
    """Data of CallStarted or, if it was not started, ConfirmationRequested."""
    outcome: JsonObject = field(default_factory=dict)
    erased: bool = False


class EffectChecker:
    """For one stream: add its events in order, then list the findings."""

    def __init__(self, stream: str) -> None:
        self._stream = stream
        self._stories: dict[str, _EffectHistory] = {}
        self._modes: dict[str, str] = {}
        self._found: list[Finding] = []

    @property
    def count(self) -> int:
        return len(self._stories)

    def add_event(self, event: StoredEvent) -> None:
        typed_event = parse_event(event)
        if isinstance(typed_event, PlanRecorded):
            self._modes[f"{typed_event.turn_id}/{typed_event.iteration}"] = typed_event.mode
        if not isinstance(typed_event, EffectEvent) or _is_apart(typed_event, self._stories):
            return
        story = self._stories.setdefault(typed_event.effect_id, _EffectHistory())
        self._found += [
            self._build_finding(typed_event.effect_id, event.seq, why) for why in self._check_event(typed_event, event.actor, story)
        ]
        _move(typed_event, event, story)

    def list_findings(self, rows: Sequence[EffectRow]) -> Iterator[Finding]:
        """`rows` are all of the stream in the effects table."""
        yield from self._found
        known = {row.effect_id: row for row in rows}
        for effect_id, story in self._stories.items():
            row = known.pop(effect_id, None)
            whys = ["the effects table has no row for it"] if row is None else _compare_row(row, story)
            yield from (self._build_finding(effect_id, story.seq, why) for why in whys)
        for effect_id in known:
            yield self._build_finding(effect_id, None, "the effects table has a row for it, and no event tells of it")

    def _check_event(self, effect_event: EffectEvent, actor: str, story: _EffectHistory) -> Iterator[str]:
        if story.status not in _MOVES[type(effect_event)][0]:
            yield f"{type(effect_event).__name__} came when it stood as {story.status}"
        match effect_event:
            case ConfirmationRequested():
                yield from self._check_shadow(effect_event.slot, "a card was made")
            case ConfirmationApproved():
                yield from _check_approval(effect_event, actor, story.asked)
            case CallStarted():
                yield from self._check_start(effect_event, story)
            case _:
                pass

    def _check_start(self, call_started: CallStarted, story: _EffectHistory) -> Iterator[str]:
        request, approved = story.asked, story.approved
        if call_started.confirmation_id:
            if not approved:
                yield "it was started with a card that nobody had approved"
            elif not request or (call_started.confirmation_id, call_started.fingerprint) != (request.confirmation_id, request.fingerprint):
                yield "what was started is not what was approved: another fingerprint or another card"
            elif call_started.approved_by != approved.approved_by:
                yield f"it names {call_started.approved_by} as the one who approved, the approval is by {approved.approved_by}"
        elif request or (_ALWAYS_ASK & set(call_started.call_class) and not self._is_part(call_started)):
            yield f"a call of class {call_started.call_class} was started without a card that a person approved"
        else:
            yield from self._check_shadow(call_started.slot, "it was started")

    def _is_part(self, call_started: CallStarted) -> bool:
        """Of an approved file, whose card stands in the stream of the chat: a notice to a new owner. Nothing else in a file always asks."""
        classes = _ALWAYS_ASK & set(call_started.call_class)
        return self._stream.startswith("run:") and bool(call_started.covered_by and call_started.approved_by) and classes == {"N"}

    def _check_shadow(self, slot: str, what: str) -> Iterator[str]:
        if self._modes.get(slot.rpartition("/")[0]) == "shadow":
            yield f"{what} although its plan was made in shadow mode, which only records"

    def _build_finding(self, effect_id: str, seq: int | None, why: str) -> Finding:
        return Finding(kind="inconsistent", place=f"effect {effect_id} of {self._stream}", seq=seq, why=why)


def _move(effect_event: EffectEvent, event: StoredEvent, story: _EffectHistory) -> None:
    """`effect_event` is `event` as an object of its class."""
    status = _MOVES[type(effect_event)][1]
    match effect_event:
        case ConfirmationRequested():
            story.asked = effect_event
            story.order = story.order if story.started else event.data
        case ConfirmationApproved():
            story.approved = effect_event
        case ConfirmationReopened():
            story.approved = None
        case CallStarted():
            story.started, story.order = effect_event, event.data
        case CallSucceeded() | CallRefused() | CallOutcomeUnknown():
            story.outcome = event.data
        case OutcomeReconciled():
            status = {"done": "succeeded", "not_done": "refused"}.get(effect_event.verdict, "unknown")
        case _:
            pass
    story.status, story.seq = status, event.seq
    story.erased = story.erased or event.erased
    if not isinstance(effect_event, OutcomeReconciled) or effect_event.verdict != "unclear":
        story.ts = event.ts


def _is_apart(effect_event: EffectEvent, stories: Mapping[str, _EffectHistory]) -> bool:
    """Answers to reads, and withdrawals of cards that never existed.

    `stories` are the effects so far, by id.
    """
    if isinstance(effect_event, ConfirmationDenied):
        return effect_event.confirmation_id.startswith("none-")
    return (
        isinstance(effect_event, CallSucceeded | CallRefused)
        and set(effect_event.call_class) <= {"R"}
        and effect_event.effect_id not in stories
    )


def _check_approval(confirmation_approved: ConfirmationApproved, actor: str, request: ConfirmationRequested | None) -> Iterator[str]:
    if confirmation_approved.via == "model" or not confirmation_approved.approved_by or confirmation_approved.approved_by != actor:
        yield "its approval is not by the person whose act it was recorded as"
    if not request or confirmation_approved.confirmation_id != request.confirmation_id:
        yield "the approval is of another card"
    if request and request.four_eyes and confirmation_approved.approved_by == request.requested_by:
        yield "another person had to approve it, and the one who asked did"


def _compare_row(row: EffectRow, story: _EffectHistory) -> list[str]:
    if row.status != story.status:
        return [f"the effects table says {row.status}, the events say {story.status}"]
    order_event = story.started or story.asked
    fingerprint = order_event.fingerprint if order_event else None
    wrong = [] if row.fingerprint == fingerprint else ["fingerprint"]
    wrong += [] if format_iso(row.updated_at) == story.ts else ["updated_at"]
    if not story.erased:
        wrong += _compare_call(row.call, story.order, fingerprint)
        wrong += [name for name in _SAME_OUTCOME if _is_different(name, row.outcome, story.outcome)]
    return [f"the row of the effects table and the events differ: {', '.join(wrong)}"] if wrong else []


def _compare_call(stored: JsonObject, order: JsonObject, fingerprint: str | None) -> list[str]:
    call = stored.get("call")
    if not isinstance(call, dict):
        return ["call"]
    wrong = [name for name in _SAME_ROW if stored.get(name) != order.get(name)]
    wrong += [name for name in ("method", "params") if call.get(name) != order.get(name)]
    wrong += [] if stored.get("before") == order.get("before") else ["before"]
    wrong += [] if "".join(call.get("classes") or []) == order.get("call_class") else ["classes"]
    bound = hash_text(dumps([call.get(name) for name in _FINGERPRINTED]))
    return [*wrong, *([] if bound == fingerprint else ["the fingerprint of its call"])]


def _is_different(name: str, row: JsonObject | None, outcome: JsonObject) -> bool:
    """False if one lacks the field; None equals an empty value."""
    if row is None or name not in outcome or name not in row:
        return False
    return (row[name] or None) != (outcome[name] or None)
