"""Checks that every effect went through allowed states only, and that the effects table agrees with the events. Changes nothing.

Allowed: requested → approved | denied | expired | superseded; approved → started | refused | superseded, or unknown after a backup was
restored; started → succeeded | refused | unknown; unknown → succeeded | refused. A read leaves only its answer; a denial by the model of
a card that never existed leaves only itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from state.canonical import dumps, hash_text
from state.clock import format_iso
from state.findings import Finding
from state.journal.store import EffectRow, StoredEvent

_MOVES: Final[Mapping[str, tuple[frozenset[str], str]]] = {
    "ConfirmationRequested": (frozenset({"absent"}), "requested"),
    "ConfirmationApproved": (frozenset({"requested"}), "approved"),
    "ConfirmationDenied": (frozenset({"requested"}), "denied"),
    "ConfirmationExpired": (frozenset({"requested"}), "expired"),
    "ConfirmationSuperseded": (frozenset({"requested", "approved"}), "superseded"),
    "ConfirmationReopened": (frozenset({"approved"}), "requested"),
    "CallStarted": (frozenset({"absent", "approved"}), "started"),
    "CallSucceeded": (frozenset({"started"}), "succeeded"),
    "CallRefused": (frozenset({"started", "approved"}), "refused"),
    "CallOutcomeUnknown": (frozenset({"started", "approved"}), "unknown"),
    "OutcomeReconciled": (frozenset({"unknown"}), "settled"),
}
_ALWAYS_ASK = frozenset("DCMN")
_SAME_ROW: Final = ("turn_id", "slot", "requested_by", "proposed_by", "confirmation_id")
_SAME_OUTCOME: Final = ("effect_id", "method", "call_class", "total", "sums", "commands", "unchanged")


@dataclass(kw_only=True)
class _EffectHistory:
    """What the events say about one effect."""

    status: str = "absent"
    ts: str = ""
    seq: int = 0
    asked: Mapping[str, Any] = field(default_factory=dict)
    approved: Mapping[str, Any] = field(default_factory=dict)
    started: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)
    erased: bool = False


class EffectChecker:
    """Checks the effects of one stream: takes its events in order, then lists the findings."""

    def __init__(self, stream: str) -> None:
        """Start a stream with no events seen."""
        self._stream = stream
        self._stories: dict[str, _EffectHistory] = {}
        self._modes: dict[str, str] = {}
        self._found: list[Finding] = []

    @property
    def count(self) -> int:
        """The number of effects that the events mention."""
        return len(self._stories)

    def add_event(self, event: StoredEvent) -> None:
        """Check the next event of the stream."""
        if event.type == "PlanRecorded":
            self._modes[f"{event.data['turn_id']}/{event.data['iteration']}"] = event.data["mode"]
        if event.type not in _MOVES or _is_apart(event, self._stories):
            return
        story = self._stories.setdefault(event.data["effect_id"], _EffectHistory())
        for why in self._check_event(event, story):
            self._add(event.data["effect_id"], event.seq, why)
        self._move(event, story)

    def list_findings(self, rows: Sequence[EffectRow]) -> Iterator[Finding]:
        """Yield what is inconsistent; `rows` are all rows of the effects table for this stream."""
        yield from self._found
        known = {row.effect_id: row for row in rows}
        for effect_id, story in self._stories.items():
            row = known.pop(effect_id, None)
            whys = ["the effects table has no row for it"] if row is None else _compare_row(row, story)
            yield from (self._build_finding(effect_id, story.seq, why) for why in whys)
        for effect_id in known:
            yield self._build_finding(effect_id, None, "the effects table has a row for it, and no event tells of it")

    def _move(self, event: StoredEvent, story: _EffectHistory) -> None:
        data = event.data
        status = _MOVES[event.type][1]
        if event.type == "OutcomeReconciled":
            status = {"done": "succeeded", "not_done": "refused"}.get(data["verdict"], "unknown")
        match event.type:
            case "ConfirmationRequested":
                story.asked = data
            case "ConfirmationApproved":
                story.approved = data
            case "ConfirmationReopened":
                story.approved = {}
            case "CallStarted":
                story.started = data
            case "CallSucceeded" | "CallRefused" | "CallOutcomeUnknown":
                story.outcome = data
        story.status, story.seq = status, event.seq
        story.erased = story.erased or event.erased
        if event.type != "OutcomeReconciled" or data["verdict"] != "unclear":
            story.ts = event.ts

    def _check_event(self, event: StoredEvent, story: _EffectHistory) -> Iterator[str]:
        if story.status not in _MOVES[event.type][0]:
            yield f"{event.type} came when it stood as {story.status}"
        match event.type:
            case "ConfirmationRequested":
                yield from self._check_shadow(event.data, "a card was made")
            case "ConfirmationApproved":
                yield from _check_approval(event, story)
            case "CallStarted":
                yield from self._check_start(event, story)

    def _check_start(self, event: StoredEvent, story: _EffectHistory) -> Iterator[str]:
        data = event.data
        if data["confirmation_id"]:
            if not story.approved:
                yield "it was started with a card that nobody had approved"
            elif (data["confirmation_id"], data["fingerprint"]) != (story.asked.get("confirmation_id"), story.asked.get("fingerprint")):
                yield "what was started is not what was approved: another fingerprint or another card"
            elif data["approved_by"] != story.approved["approved_by"]:
                yield f"it names {data['approved_by']} as the one who approved, the approval is by {story.approved['approved_by']}"
        elif story.asked or _ALWAYS_ASK & set(data["call_class"]):
            yield f"a call of class {data['call_class']} was started without a card that a person approved"
        else:
            yield from self._check_shadow(data, "it was started")

    def _check_shadow(self, data: Mapping[str, Any], what: str) -> Iterator[str]:
        if self._modes.get(data["slot"].rpartition("/")[0]) == "shadow":
            yield f"{what} although its plan was made in shadow mode, which only records"

    def _add(self, effect_id: str, seq: int, why: str) -> None:
        self._found.append(self._build_finding(effect_id, seq, why))

    def _build_finding(self, effect_id: str, seq: int | None, why: str) -> Finding:
        return Finding(kind="inconsistent", place=f"effect {effect_id} of {self._stream}", seq=seq, why=why)


def _is_apart(event: StoredEvent, stories: Mapping[str, _EffectHistory]) -> bool:
    """Return whether the event belongs to no effect: the answer to a read, or a denial by the model of a card that never existed."""
    data = event.data
    if event.type == "ConfirmationDenied":
        return bool(data["confirmation_id"].startswith("none-"))
    reads = event.type in {"CallSucceeded", "CallRefused"} and set(data["call_class"]) <= {"R"}
    return reads and data["effect_id"] not in stories


def _check_approval(event: StoredEvent, story: _EffectHistory) -> Iterator[str]:
    data = event.data
    if data["via"] == "model" or not data["approved_by"] or data["approved_by"] != event.actor:
        yield "its approval is not by the person whose act it was recorded as"
    if data["confirmation_id"] != story.asked.get("confirmation_id"):
        yield "the approval is of another card"
    if story.asked.get("four_eyes") and data["approved_by"] == story.asked["requested_by"]:
        yield "another person had to approve it, and the one who asked did"


def _compare_row(row: EffectRow, story: _EffectHistory) -> list[str]:
    if row.status != story.status:
        return [f"the effects table says {row.status}, the events say {story.status}"]
    said = story.started or story.asked
    fingerprint = said.get("fingerprint")
    wrong = [] if row.fingerprint == fingerprint else ["fingerprint"]
    wrong += [] if format_iso(row.updated_at) == story.ts else ["updated_at"]
    if not story.erased:
        wrong += _compare_call(row.call, said, fingerprint)
        wrong += [name for name in _SAME_OUTCOME if _is_different(name, row.outcome, story.outcome)]
    return [f"the row of the effects table and the events differ: {', '.join(wrong)}"] if wrong else []


def _compare_call(stored: Mapping[str, Any], said: Mapping[str, Any], fingerprint: object) -> list[str]:
    call = stored.get("call")
    if not isinstance(call, dict):
        return ["call"]
    wrong = [name for name in _SAME_ROW if stored.get(name) != said.get(name)]
    wrong += [name for name in ("method", "params") if call.get(name) != said.get(name)]
    wrong += [] if stored.get("before") == said.get("before") else ["before"]
    wrong += [] if "".join(call.get("classes") or []) == said.get("call_class") else ["classes"]
    bound = hash_text(dumps([call.get("portal"), call.get("method"), call.get("params")]))
    return [*wrong, *([] if bound == fingerprint else ["the fingerprint of its call"])]


def _is_different(name: str, row: Mapping[str, Any] | None, said: Mapping[str, Any]) -> bool:
    """Return whether the row and the event both have the field and differ."""
    if row is None or name not in said or name not in row:
        return False
    return (row[name] or None) != (said[name] or None)
