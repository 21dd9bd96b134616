"""Counts what happened in one pass over the journal; only counts are kept in memory. Changes nothing."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Final, NamedTuple

from orchestrator.reports.reading.journal_reader import bind_reader, parse_event, scan_events, to_one_line, to_session_name
from orchestrator.reports.reading.narrator import Narrator
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
"""The numbers that one event adds to the counts of its day, by name ("turns", "messages")."""


@dataclass
class Counts:
    """The numbers of turns, messages, calls, decisions and tokens since the time `since` (ISO, UTC; "": all)."""

    since: str
    events: int = 0
    turns: Counter[str] = field(default_factory=Counter)
    paused: set[str] = field(default_factory=set)
    """The turns that were counted when they ended with cards and may go on."""
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
    """By card id, the time when each waiting card was requested (ISO, UTC)."""
    unknown_calls: dict[str, str] = field(default_factory=dict)
    """By effect id, the time when the outcome of each call that is still unknown became so (ISO, UTC)."""
    bytes: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)
    largest: tuple[int, str, int, str] = (0, "", 0, "")
    """The largest record: its size in bytes, its stream, its number in the stream and its type."""

    @property
    def median_waits(self) -> Mapping[str, float]:
        """The median time in seconds from the request of a card to its decision, by kind of decision."""
        return {status: round(median(waits), 3) for status, waits in self.waits.items()}


class Backlog(NamedTuple):
    """The size and age of what waits in the inbox (rows not yet handled) or in the outbox (messages not yet delivered)."""

    sessions_waiting: int
    """For the inbox, the number of sessions with rows to handle; for the outbox, the number of messages that are due."""
    oldest_seconds: float | None
    """The age of the oldest waiting row; None if nothing waits."""


def count_journal(store: Store, since: datetime | None = None) -> Counts:
    """Return the counts of the events at or after `since` (None: all).

    Open cards, calls of unknown outcome and sizes are always those of the whole journal.
    """
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
    """Update the open cards and the calls of unknown outcome in `counts` with this event.

    `counted` says whether the event lies in the period of the report. If so, and if it decides a card, the time that the card had waited is
    added to `counts`.
    """
    match parse_event(event):
        case ConfirmationRequested() | ConfirmationReopened() as card:
            counts.open_cards[card.confirmation_id] = event.ts
        case ConfirmationApproved() | ConfirmationDenied() | ConfirmationExpired() | ConfirmationSuperseded() as card:
            asked = counts.open_cards.pop(card.confirmation_id, "")
            if asked and counted:
                counts.waits[_DECIDED[event.type]].append((parse_iso(event.ts) - parse_iso(asked)).total_seconds())
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
    """Take back that a turn has ended with cards, if that was counted: it goes on, and is counted when it ends for good."""
    if turn_resumed.turn_id not in counts.paused:
        return {}
    counts.paused.discard(turn_resumed.turn_id)
    counts.turns["waiting"] -= 1
    return {"turns": -1}


def _count_answer(counts: Counts, said: ModelAnswered | NodeDone, _event: StoredEvent) -> DayCounts:
    """Count an answer: to a turn, to a node of a run, or to a service that a turn or run has asked. Other nodes ask no model."""
    if isinstance(said, NodeDone) and not said.model:
        return {}
    counts.models[said.model or "?"] += 1
    counts.model_seconds += said.seconds
    return _count_tokens(counts, said)


def _count_failure(counts: Counts, said: ModelFailed | NodeFailed, _event: StoredEvent) -> DayCounts:
    """Count a call of the model that gave no usable answer. A node may fail of something else."""
    if isinstance(said, NodeFailed) and said.code != "degraded":
        return {}
    reason = said.detail if isinstance(said, NodeFailed) else said.reason
    counts.failures[to_one_line(reason, limit=_REASON) or "?"] += 1
    return {"model failures": 1, **_count_tokens(counts, said)}


def _count_tokens(counts: Counts, said: ModelAnswered | ModelFailed | NodeDone | NodeFailed) -> DayCounts:
    counts.prompt_tokens += said.prompt_tokens
    counts.completion_tokens += said.completion_tokens
    tokens = said.prompt_tokens + said.completion_tokens
    return {"tokens": tokens} if tokens else {}


def _count_call(counts: Counts, said: CallSucceeded | CallRefused | CallOutcomeUnknown, event: StoredEvent) -> DayCounts:
    outcome = _CALLS[event.type]
    counts.calls[said.call_class, said.method, outcome] += 1
    if isinstance(said, CallRefused):
        counts.refused[said.code or "?"] += 1
    return {"calls": 1} if said.call_class == "R" else {"calls": 1, "writes": int(outcome == "succeeded")}


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
    """Return the counts and the present backlog of inbox and outbox as JSON data.

    Most groups of counts (by person, by model and so on) begin with the largest count.
    """
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
    """Return name of a person (as `voice` writes it) → number of messages that the person sent, largest number first."""
    return {voice.format_person(key): number for key, number in counts.messages.most_common()}


def measure_inbox(store: Store, now: datetime) -> Backlog:
    """Return how many sessions have inbox rows to handle, and the age of the oldest row in seconds (None if there is none)."""
    rows = [row for session, lane in store.list_ready_sessions() for row in store.list_waiting_inbox(session, lane, 1)]
    oldest = min((row.received_at for row in rows), default=None)
    return Backlog(len({row.session for row in rows}), _measure_age(oldest, now))


def measure_outbox(store: Store, counts: Counts, now: datetime) -> Backlog:
    """Return how many messages to people are due, and the age of the oldest in seconds (None if there is none).

    Only messages of channels with at least one session in the journal are counted, and at most 1,000 of each channel.
    """
    channels = sorted({to_session_name(stream).partition(":")[0] for stream in counts.records} - {"run", "portal"})
    rows = [row for channel in channels for row in store.list_due_outbox(channel, now, limit=1000)]
    return Backlog(len(rows), _measure_age(min((row.created_at for row in rows), default=None), now))


def _measure_age(moment: datetime | None, now: datetime) -> float | None:
    return None if moment is None else round((now - moment).total_seconds(), 1)
