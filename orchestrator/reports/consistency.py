"""Checks that the status of each effect (a proposed or executed call) changed only in allowed ways. Changes nothing.

It also checks that the effects table agrees with the events in the journal. Allowed changes of status are: requested → approved | denied |
expired | superseded; approved → started | refused | superseded, or unknown after a backup was restored; started → succeeded | refused |
unknown; unknown → succeeded | refused. A call that only reads leaves no event except its answer. If the model withdraws a card that never
existed, the ConfirmationDenied event is the only one.
"""

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
"""The parts of a call that its fingerprint (a hash that binds an approval to exactly this call) covers."""
_ALWAYS_ASK = frozenset("DCMN")
_SAME_ROW: Final = ("turn_id", "slot", "requested_by", "proposed_by", "confirmation_id")
_SAME_OUTCOME: Final = ("effect_id", "method", "call_class", "total", "sums", "commands", "unchanged")


@dataclass(kw_only=True)
class _EffectHistory:
    """What the events read so far tell about one effect (a proposed or executed call). `EffectChecker` keeps one instance per effect."""

    status: str = "absent"
    ts: str = ""
    seq: int = 0
    asked: ConfirmationRequested | None = None
    approved: ConfirmationApproved | None = None
    started: CallStarted | None = None
    order: JsonObject = field(default_factory=dict)
    """The data of the CallStarted event, or of the ConfirmationRequested event if the call was not started."""
    outcome: JsonObject = field(default_factory=dict)
    erased: bool = False


class EffectChecker:
    """Checks the effects of one stream (the events of one session): the caller adds its events in order, then lists the findings."""

    def __init__(self, stream: str) -> None:
        """Start the check of the stream called `stream` with no events added."""
        self._stream = stream
        self._stories: dict[str, _EffectHistory] = {}
        self._modes: dict[str, str] = {}
        self._found: list[Finding] = []

    @property
    def count(self) -> int:
        """The number of effects that the events mention."""
        return len(self._stories)

    def add_event(self, event: StoredEvent) -> None:
        """Check the next event of the stream and keep what is wrong with it for `list_findings`."""
        said = parse_event(event)
        if isinstance(said, PlanRecorded):
            self._modes[f"{said.turn_id}/{said.iteration}"] = said.mode
        if not isinstance(said, EffectEvent) or _is_apart(said, self._stories):
            return
        story = self._stories.setdefault(said.effect_id, _EffectHistory())
        self._found += [self._build_finding(said.effect_id, event.seq, why) for why in self._check_event(said, event.actor, story)]
        _move(said, event, story)

    def list_findings(self, rows: Sequence[EffectRow]) -> Iterator[Finding]:
        """Yield a finding for every inconsistency; `rows` are all rows of the effects table for this stream."""
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
        asked, approved = story.asked, story.approved
        if call_started.confirmation_id:
            if not approved:
                yield "it was started with a card that nobody had approved"
            elif not asked or (call_started.confirmation_id, call_started.fingerprint) != (asked.confirmation_id, asked.fingerprint):
                yield "what was started is not what was approved: another fingerprint or another card"
            elif call_started.approved_by != approved.approved_by:
                yield f"it names {call_started.approved_by} as the one who approved, the approval is by {approved.approved_by}"
        elif asked or _ALWAYS_ASK & set(call_started.call_class):
            yield f"a call of class {call_started.call_class} was started without a card that a person approved"
        else:
            yield from self._check_shadow(call_started.slot, "it was started")

    def _check_shadow(self, slot: str, what: str) -> Iterator[str]:
        if self._modes.get(slot.rpartition("/")[0]) == "shadow":
            yield f"{what} although its plan was made in shadow mode, which only records"

    def _build_finding(self, effect_id: str, seq: int | None, why: str) -> Finding:
        return Finding(kind="inconsistent", place=f"effect {effect_id} of {self._stream}", seq=seq, why=why)


def _move(effect_event: EffectEvent, event: StoredEvent, story: _EffectHistory) -> None:
    """Update `story`, the recorded history of an effect (above all its status), with the effect's next event.

    `effect_event` is `event` as an object of its class.
    """
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


def _is_apart(said: EffectEvent, stories: Mapping[str, _EffectHistory]) -> bool:
    """Return whether the event is about no recorded effect, so that it needs no check; `stories` are the effects met so far, by id.

    There are two such events: the answer to a call that only reads, since such a call is not recorded as an effect, and the model's
    withdrawal of a card that never existed.
    """
    if isinstance(said, ConfirmationDenied):
        return said.confirmation_id.startswith("none-")
    return isinstance(said, CallSucceeded | CallRefused) and set(said.call_class) <= {"R"} and said.effect_id not in stories


def _check_approval(confirmation_approved: ConfirmationApproved, actor: str, asked: ConfirmationRequested | None) -> Iterator[str]:
    if confirmation_approved.via == "model" or not confirmation_approved.approved_by or confirmation_approved.approved_by != actor:
        yield "its approval is not by the person whose act it was recorded as"
    if not asked or confirmation_approved.confirmation_id != asked.confirmation_id:
        yield "the approval is of another card"
    if asked and asked.four_eyes and confirmation_approved.approved_by == asked.requested_by:
        yield "another person had to approve it, and the one who asked did"


def _compare_row(row: EffectRow, story: _EffectHistory) -> list[str]:
    if row.status != story.status:
        return [f"the effects table says {row.status}, the events say {story.status}"]
    said = story.started or story.asked
    fingerprint = said.fingerprint if said else None
    wrong = [] if row.fingerprint == fingerprint else ["fingerprint"]
    wrong += [] if format_iso(row.updated_at) == story.ts else ["updated_at"]
    if not story.erased:
        wrong += _compare_call(row.call, story.order, fingerprint)
        wrong += [name for name in _SAME_OUTCOME if _is_different(name, row.outcome, story.outcome)]
    return [f"the row of the effects table and the events differ: {', '.join(wrong)}"] if wrong else []


def _compare_call(stored: JsonObject, said: JsonObject, fingerprint: str | None) -> list[str]:
    call = stored.get("call")
    if not isinstance(call, dict):
        return ["call"]
    wrong = [name for name in _SAME_ROW if stored.get(name) != said.get(name)]
    wrong += [name for name in ("method", "params") if call.get(name) != said.get(name)]
    wrong += [] if stored.get("before") == said.get("before") else ["before"]
    wrong += [] if "".join(call.get("classes") or []) == said.get("call_class") else ["classes"]
    bound = hash_text(dumps([call.get(name) for name in _FINGERPRINTED]))
    return [*wrong, *([] if bound == fingerprint else ["the fingerprint of its call"])]


def _is_different(name: str, row: JsonObject | None, said: JsonObject) -> bool:
    """Return whether the field `name` has different values in the table row and in the event.

    The result is False if one of the two lacks the field. None and an empty value count as equal.
    """
    if row is None or name not in said or name not in row:
        return False
    return (row[name] or None) != (said[name] or None)
