"""Counts what happened in one pass over the journal. Changes nothing."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Final, NamedTuple

from orchestrator.reports.reading.journal_reader import Narrator, bind_reader, parse_event, scan_events, to_one_line, to_session_name
from state.clock import format_iso, parse_iso
from state.events.base import Event
from state.events.calls import CallOutcomeUnknown, CallRefused, CallSucceeded, OutcomeReconciled
from state.events.confirmations import (
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
)
from state.events.conversation import MessageReceived, ModelAnswered, ModelFailed, StepRefused, TurnFinished, TurnResumed
from state.events.freezing import ConfirmationReopened
from state.events.runs import NodeDone, NodeFailed
from state.journal.store import Store, StoredEvent
from state.stored import JsonObject

_DECIDED: Final = {
    "ConfirmationApproved": "approved",
    "ConfirmationDenied": "denied",
    "ConfirmationExpired": "expired",
    "ConfirmationSuperseded": "superseded",
}
_CALLS: Final = {"CallSucceeded": "succeeded", "CallRefused": "refused", "CallOutcomeUnknown": "unknown"}
_REASON: Final = 60
DayCounts = Mapping[str, int]
"""What one event adds to its day, by name ("turns")."""


@dataclass
class Counts:
    """Since the time `since` (ISO, UTC; "": all)."""

    since: str
    events: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    paused: set[str] = field(default_factory=set)
    """Counted when they ended with cards; they may go on."""
    messages: Counter[str] = field(default_factory=Counter)
    calls: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    waits: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    refused: Counter[str] = field(default_factory=Counter)
    reconciled: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    models: Counter[str] = field(default_factory=Counter)
    model_seconds: float = 0.0
    failures: Counter[str] = field(default_factory=Counter)
    days: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    open_cards: dict[str, str] = field(default_factory=dict)
    unknown_calls: dict[str, str] = field(default_factory=dict)
    """By effect id, since when (ISO, UTC)."""
    bytes: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)
    largest: tuple[int, str, int, str] = (0, "", 0, "")
    """(bytes, stream, number, type)."""

    @property
    def median_waits(self) -> Mapping[str, float]:
        """Seconds from request to decision, by kind of decision."""
        return {status: round(median(waits), 3) for status, waits in self.waits.items()}


class Backlog(NamedTuple):
    """What waits in the inbox or outbox."""

    sessions_waiting: int
    """Of the outbox, the number of messages that are due."""
    oldest_seconds: float | None
    """None if nothing waits."""


def count_journal(store: Store, since: datetime | None = None) -> Counts:
    """From `since` on (None: all); open cards, unknown calls and sizes of the whole journal."""
    counts = Counts(since=format_iso(since) if since else "")
    for event in scan_events(store):
        _measure_size(counts, event)
        counted = event.ts >= counts.since
        _track_open(counts, event, counted=counted)
        if counted:
            counts.events += 1
            counter = _COUNTERS.get(event.type)
            counts.days[event.ts[:10]].update({"events": 1, **(counter(counts, event) if counter else {})})
    return counts


def _measure_size(counts: Counts, event: StoredEvent) -> None:
    length = len(event.raw.encode())
    counts.records[event.stream] += 1
    counts.bytes[event.stream] += length
    counts.largest = max(counts.largest, (length, event.stream, event.seq, event.type))


def _track_open(counts: Counts, event: StoredEvent, *, counted: bool) -> None:
    """`counted`: in the period, so the wait of a decided card counts."""
    match parse_event(event):
        case ConfirmationRequested() | ConfirmationReopened() as card:
            counts.open_cards[card.confirmation_id] = event.ts
        case ConfirmationApproved() | ConfirmationDenied() | ConfirmationExpired() | ConfirmationSuperseded() as card:
            requested_at = counts.open_cards.pop(card.confirmation_id, "")
            if requested_at and counted:
                counts.waits[_DECIDED[event.type]].append((parse_iso(event.ts) - parse_iso(requested_at)).total_seconds())
        case CallOutcomeUnknown() as call:
            counts.unknown_calls[call.effect_id] = event.ts
        case OutcomeReconciled() as call if call.verdict != "unclear":
            counts.unknown_calls.pop(call.effect_id, None)
        case _:
            pass


def _count_message(counts: Counts, _said: MessageReceived, event: StoredEvent) -> DayCounts:
    counts.messages[event.actor] += 1
    return {"messages": 1}


def _count_turn(counts: Counts, turn_finished: TurnFinished, _event: StoredEvent) -> DayCounts:
    counts.turns[turn_finished.reason] += 1
    if turn_finished.goes_on:
        counts.paused.add(turn_finished.turn_id)
    return {"turns": 1}


def _count_resumption(counts: Counts, turn_resumed: TurnResumed, _event: StoredEvent) -> DayCounts:
    """A turn that goes on is counted when it ends for good."""
    if turn_resumed.turn_id not in counts.paused:
        return {}
    counts.paused.discard(turn_resumed.turn_id)
    counts.turns["waiting"] -= 1
    return {"turns": -1}


def _count_answer(counts: Counts, answer: ModelAnswered | NodeDone, _event: StoredEvent) -> DayCounts:
    """Nodes without a model count nothing."""
    if isinstance(answer, NodeDone) and not answer.model:
        return {}
    counts.models[answer.model or "?"] += 1
    counts.model_seconds += answer.seconds
    return _count_tokens(counts, answer)


def _count_failure(counts: Counts, failure: ModelFailed | NodeFailed, _event: StoredEvent) -> DayCounts:
    """A node may fail of something else."""
    if isinstance(failure, NodeFailed) and failure.code != "degraded":
        return {}
    reason = failure.detail if isinstance(failure, NodeFailed) else failure.reason
    counts.failures[to_one_line(reason, limit=_REASON) or "?"] += 1
    return {"model failures": 1, **_count_tokens(counts, failure)}


def _count_tokens(counts: Counts, usage: ModelAnswered | ModelFailed | NodeDone | NodeFailed) -> DayCounts:
    counts.prompt_tokens += usage.prompt_tokens
    counts.completion_tokens += usage.completion_tokens
    tokens = usage.prompt_tokens + usage.completion_tokens
    return {"tokens": tokens} if tokens else {}


def _count_call(counts: Counts, call_end: CallSucceeded | CallRefused | CallOutcomeUnknown, event: StoredEvent) -> DayCounts:
    outcome = _CALLS[event.type]
    counts.calls[call_end.call_class, call_end.method, outcome] += 1
    if isinstance(call_end, CallRefused):
        counts.refused[call_end.code or "?"] += 1
    return {"calls": 1} if call_end.call_class == "R" else {"calls": 1, "writes": int(outcome == "succeeded")}


def _count_step_refusal(counts: Counts, step_refused: StepRefused, _event: StoredEvent) -> DayCounts:
    counts.refused[step_refused.code] += 1
    return {"refused": 1}


def _count_decision(counts: Counts, _said: Event, event: StoredEvent) -> DayCounts:
    counts.decisions[_DECIDED[event.type]] += 1
    return {_DECIDED[event.type]: 1}


def _count_request(counts: Counts, _said: ConfirmationRequested, _event: StoredEvent) -> DayCounts:
    counts.decisions.update(requested=1)
    return {"cards": 1}


def _count_reconciled(counts: Counts, outcome_reconciled: OutcomeReconciled, _event: StoredEvent) -> DayCounts:
    counts.reconciled[outcome_reconciled.verdict] += 1
    return {}


_COUNTERS: Final = {
    **bind_reader(MessageReceived, _count_message),
    **bind_reader(TurnFinished, _count_turn),
    **bind_reader(TurnResumed, _count_resumption),
    **bind_reader(ModelAnswered, _count_answer),
    **bind_reader(ModelFailed, _count_failure),
    **bind_reader(NodeDone, _count_answer),
    **bind_reader(NodeFailed, _count_failure),
    **bind_reader(StepRefused, _count_step_refusal),
    **bind_reader(ConfirmationRequested, _count_request),
    **bind_reader(OutcomeReconciled, _count_reconciled),
    **bind_reader(ConfirmationApproved, _count_decision),
    **bind_reader(ConfirmationDenied, _count_decision),
    **bind_reader(ConfirmationExpired, _count_decision),
    **bind_reader(ConfirmationSuperseded, _count_decision),
    **bind_reader(CallSucceeded, _count_call),
    **bind_reader(CallRefused, _count_call),
    **bind_reader(CallOutcomeUnknown, _count_call),
}


def as_report(counts: Counts, store: Store, voice: Narrator, now: datetime) -> JsonObject:
    """With the present backlog; groups begin with the largest count."""
    largest = dict(zip(("bytes", "stream", "seq", "type"), counts.largest, strict=True))
    return {
        "since": counts.since,
        "until": format_iso(now),
        "events": counts.events,
        "turns": {"total": counts.turns.total(), "ended": dict(counts.turns.most_common())},
        "messages": {"total": counts.messages.total(), "by_person": name_people(counts, voice)},
        "calls": [
            {"class": kind, "method": method, "outcome": outcome, "count": number}
            for (kind, method, outcome), number in counts.calls.most_common()
        ],
        "cards": {
            **dict(counts.decisions.most_common()),
            "median_wait_seconds": counts.median_waits,
            "open": len(counts.open_cards),
            "oldest_open": min(counts.open_cards.values(), default=""),
        },
        "refused": dict(counts.refused.most_common()),
        "unknown": {
            "open": sorted(counts.unknown_calls),
            "oldest": min(counts.unknown_calls.values(), default=""),
            "looks": dict(counts.reconciled),
        },
        "model": {
            "answers": counts.models.total(),
            "prompt_tokens": counts.prompt_tokens,
            "completion_tokens": counts.completion_tokens,
            "failures": counts.failures.total(),
            "seconds": round(counts.model_seconds, 1),
            "by_model": dict(counts.models.most_common()),
            "failed_because": dict(counts.failures.most_common(10)),
        },
        "days": {day: dict(numbers) for day, numbers in sorted(counts.days.items())},
        "journal": {
            "records": counts.records.total(),
            "bytes": counts.bytes.total(),
            "streams": [
                {"session": to_session_name(stream), "records": counts.records[stream], "bytes": size}
                for stream, size in counts.bytes.most_common()
            ],
            "largest_record": largest if counts.largest[0] else None,
        },
        "inbox": measure_inbox(store, now)._asdict(),
        "outbox": measure_outbox(store, counts, now)._asdict(),
    }


def name_people(counts: Counts, voice: Narrator) -> Mapping[str, int]:
    """Name → messages sent, most first."""
    return {voice.format_person(key): number for key, number in counts.messages.most_common()}


def measure_inbox(store: Store, now: datetime) -> Backlog:
    """Sessions with rows to handle."""
    rows = [row for session, lane in store.list_ready_sessions() for row in store.list_waiting_inbox(session, lane, 1)]
    oldest = min((row.received_at for row in rows), default=None)
    return Backlog(len({row.session for row in rows}), _measure_age(oldest, now))


def measure_outbox(store: Store, counts: Counts, now: datetime) -> Backlog:
    """Only channels of the journal, at most 1,000 messages of each."""
    channels = sorted({to_session_name(stream).partition(":")[0] for stream in counts.records} - {"run", "portal"})
    rows = [row for channel in channels for row in store.list_due_outbox(channel, now, limit=1000)]
    return Backlog(len(rows), _measure_age(min((row.created_at for row in rows), default=None), now))


def _measure_age(moment: datetime | None, now: datetime) -> float | None:
    return None if moment is None else round((now - moment).total_seconds(), 1)
