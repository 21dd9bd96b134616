"""The turns of a conversation, and what each of its events tells, in the reader's language; some tell nothing.

A turn is all that one message led to; what happens later to its cards belongs to it too.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from bot.console.words import describe_call
from bot.http_api.audit.event_models import SessionEvent, to_session_event
from bot.http_api.audit.run_events import EventReader, format_value
from orchestrator.domain.outputs import Reply, ReportPart
from orchestrator.domain.report import ReportAnswer
from orchestrator.engines.base import PlanStep
from orchestrator.reports.reading.journal_reader import bind_reader, hide_secrets, parse_event
from orchestrator.reports.why.call_story import find_thought
from state.events import budgets, calls, cards, console, conversation, daily, talking
from state.events.base import Event
from state.journal.store import StoredEvent
from state.model.shown_lists import PROPOSED
from state.stored import JsonObject

Kind = Literal[
    "asked", "thought", "proposed", "read", "card", "decided", "sent", "outcome", "refused", "failed", "question", "answered", "notice"
]
Tone = Literal["plain", "good", "warn", "bad", "live"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """`record` is such as "deal:481"; "" for none."""

    text: str
    record: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """All texts may be of customers or of the model."""

    kind: Kind
    at: str
    who: str = ""
    text: str = ""
    lines: Sequence[Line] = ()
    note: str = ""
    """Said beside, such as how somebody decided."""
    details: str = ""
    """Folded: JSON, or words of others."""
    tone: Tone = "plain"
    record: str = ""
    effect_id: str = ""
    """The call, which has a page of its own; "" for none."""
    is_voice: bool = False
    reports: Sequence[ReportAnswer] = ()
    """Drawn as pictures; `text` says them in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one message led to, or one thing that belongs to none, such as a reminder."""

    key: str
    items: Sequence[Item]

    @property
    def is_alone(self) -> bool:
        return self.key.startswith(_ALONE)


_ALONE = "alone:"
_BY_ITSELF = frozenset({"ReminderFired"})
"""They name a call of an old turn, and yet are read at their own time."""


def group_items(events: Iterable[tuple[StoredEvent, Sequence[Item]]]) -> list[Turn]:
    """In the order in which turns began; `events` come with what each tells."""
    items_by_turn: dict[str, list[Item]] = {}
    homes: dict[str, str] = {}
    for event, items in events:
        key = _find_turn(event, homes)
        homes.update(dict.fromkeys(_list_names(event), key))
        if items:
            items_by_turn.setdefault(key, []).extend(items)
    return [Turn(key=key, items=tuple(items)) for key, items in items_by_turn.items()]


def _find_turn(event: StoredEvent, homes: dict[str, str]) -> str:
    """`homes` tells the turn of each card and call named before."""
    known = next((homes[name] for name in _list_names(event) if name in homes), "")
    # The `turn_id` of a refused decision is not that of the turn that asked for the card.
    own = "" if event.type == "DecisionRefused" else str(event.data.get("turn_id") or event.data.get("cause") or "")
    return known or own or f"{_ALONE}{event.seq}"


def _list_names(event: StoredEvent) -> list[str]:
    if event.type in _BY_ITSELF:
        return []
    return [str(event.data[name]) for name in ("confirmation_id", "effect_id") if event.data.get(name)]


LONGEST: Final = 20_000
"""Characters of a text or folded part; the page says that it was cut."""
_PORTAL: Final = "R"
_OUTCOMES: Final[Mapping[str, Tone]] = {"executed": "good", "refused": "bad", "unknown": "warn"}
_DECISIONS: Final[Mapping[str, Tone]] = {"approved": "good", "denied": "bad", "expired": "warn", "superseded": "warn", "requested": "live"}
_ENDS: Final = frozenset({"limit", "degraded", "planned", "stopped", "failed", "budget"})
"""Reasons that are told; the others show in what was answered."""
FindRecords = Callable[[str, JsonObject], Sequence[str]]
"""The records that a call is about."""


@dataclass(frozen=True, kw_only=True)
class ItemReader:
    """The reader's language, the names of people, and the records of calls."""

    eyes: EventReader
    find_records: FindRecords

    def read(self, event: StoredEvent) -> Sequence[Item]:
        """Empty for an event that tells people nothing."""
        make = _CONVERTERS.get(event.type)
        if make is not None:
            return [item for item in make(self, event) if item.text or item.lines or item.details or item.kind in {"sent", "outcome"}]
        session_event = to_session_event(event, self.eyes)
        convert = _SHOWN.get(session_event.type) if session_event is not None else None
        return [convert(self, session_event, event)] if session_event is not None and convert is not None else []

    def say(self, code: str, /, **args: object) -> str:
        return self.eyes.tr.translate(code, **args)

    def name(self, key: str, name: str = "") -> str:
        """The key if the name is not known."""
        person = self.eyes.find_person(key, name)
        return (person.name or person.id) if person is not None else ""

    def describe_call(self, method: str, params: JsonObject) -> Line:
        """Such as «Изменить сделку №481»."""
        records = self.find_records(method, params) if isinstance(params, Mapping) else ()
        return Line(text=describe_call(self.eyes.tr, method, records), record=records[0] if len(records) == 1 else "")

    def erase(self, event: StoredEvent, text: str) -> str:
        """The text, or a word that says that it was erased."""
        return text or (self.say("console-talk-erased") if event.erased else "")


Made = Sequence[Item]


def _read_message(to: ItemReader, message_received: conversation.MessageReceived, event: StoredEvent) -> Made:
    text = to.erase(event, message_received.text or message_received.quoted)
    quoted = message_received.quoted if message_received.text else ""
    note = to.say("console-talk-origin", origin=message_received.origin)
    item = Item(kind="asked", at=event.ts, who=to.name(event.actor), text=_shorten(text), note=note, details=_shorten(quoted))
    return [replace(item, is_voice=message_received.origin == "voice")]


def _read_answer(to: ItemReader, model_answered: conversation.ModelAnswered, event: StoredEvent) -> Made:
    thought = find_thought(model_answered.text) or (model_answered.text if model_answered.calls else "")
    return [Item(kind="thought", at=event.ts, who=model_answered.model, details=_shorten(to.erase(event, thought)))]


def _read_failure(to: ItemReader, model_failed: conversation.ModelFailed, event: StoredEvent) -> Made:
    return [Item(kind="failed", at=event.ts, text=to.say("console-talk-model-failed"), details=_shorten(model_failed.reason), tone="bad")]


def _read_plan(to: ItemReader, plan_recorded: conversation.PlanRecorded, event: StoredEvent) -> Made:
    steps = [PlanStep.from_stored(step) for step in plan_recorded.steps]
    lines = []
    for step in steps:
        line = to.describe_call(step.method, step.params)
        lines.append(Line(text=f"{line.text} — {step.comment}" if step.comment else line.text, record=line.record))
    planned_calls = [{"method": step.method, "params": step.params} for step in steps]
    note = "" if plan_recorded.executed else to.say("console-talk-only-planned")
    text = to.erase(event, "") if not steps else ""
    return [
        Item(
            kind="proposed",
            at=event.ts,
            text=text,
            lines=tuple(lines),
            note=note,
            details=dump_json(planned_calls) if planned_calls else "",
        )
    ]


def _read_start(to: ItemReader, call_started: calls.CallStarted, event: StoredEvent) -> Made:
    line = to.describe_call(call_started.method, call_started.params)
    details = dump_json({"method": call_started.method, "params": call_started.params})
    return [Item(kind="sent", at=event.ts, text=line.text, record=line.record, details=details, effect_id=call_started.effect_id)]


def _read_success(to: ItemReader, succeeded: calls.CallSucceeded, event: StoredEvent) -> Made:
    if succeeded.call_class == _PORTAL:
        line = to.describe_call(succeeded.method, succeeded.params)
        note = to.say("console-talk-found", count=succeeded.total) if succeeded.total is not None else ""
        return [Item(kind="read", at=event.ts, text=line.text, record=line.record, note=note)]
    note = to.say("console-talk-unchanged", fields=", ".join(succeeded.unchanged)) if succeeded.unchanged else ""
    text, tone = to.say("console-talk-outcome", state="executed"), _OUTCOMES["executed"]
    return [Item(kind="outcome", at=event.ts, text=text, tone=tone, note=note, record=succeeded.created, effect_id=succeeded.effect_id)]


def _read_refusal(to: ItemReader, call_refused: calls.CallRefused, event: StoredEvent) -> Made:
    text, why = to.say("console-talk-outcome", state="refused"), _explain(to, call_refused.code, call_refused.args, call_refused.detail)
    return [Item(kind="outcome", at=event.ts, text=text, tone="bad", note=_shorten(why), effect_id=call_refused.effect_id)]


def _read_unknown(to: ItemReader, outcome: calls.CallOutcomeUnknown, event: StoredEvent) -> Made:
    text = to.say("console-talk-outcome", state="unknown")
    return [Item(kind="outcome", at=event.ts, text=text, tone="warn", details=_shorten(outcome.detail), effect_id=outcome.effect_id)]


def _read_reconciliation(to: ItemReader, reconciled: calls.OutcomeReconciled, event: StoredEvent) -> Made:
    tone: Tone = "good" if reconciled.verdict == "done" else "warn"
    text = to.say("console-talk-verdict", verdict=reconciled.verdict)
    return [Item(kind="outcome", at=event.ts, text=text, tone=tone, note=_shorten(reconciled.detail), effect_id=reconciled.effect_id)]


def _read_step_refusal(to: ItemReader, step_refused: conversation.StepRefused, event: StoredEvent) -> Made:
    line = to.describe_call(step_refused.method, step_refused.params)
    why = _explain(to, step_refused.code, step_refused.args, step_refused.detail)
    details = dump_json({"method": step_refused.method, "params": step_refused.params})
    return [Item(kind="refused", at=event.ts, text=line.text, record=line.record, note=_shorten(why), details=details, tone="bad")]


def _read_end(to: ItemReader, turn_finished: conversation.TurnFinished, event: StoredEvent) -> Made:
    """What was proposed has its cards."""
    session_event = to_session_event(event, to.eyes)
    rows = [row for one in turn_finished.lists if one.get("place") != PROPOSED for row in one.get("rows") or ()]
    lines = tuple(Line(text=str(row[1]), record=str(row[0])) for row in rows if len(row) > 1)
    items = []
    if session_event is not None or lines:
        items.append(
            Item(kind="answered", at=event.ts, text=_shorten(session_event.text if session_event is not None else ""), lines=lines)
        )
    if turn_finished.reason in _ENDS:
        items.append(Item(kind="notice", at=event.ts, text=to.say("console-talk-end", reason=turn_finished.reason), tone="warn"))
    return items


def _explain(to: ItemReader, code: str, args: JsonObject, detail: str = "") -> str:
    """For a code of the portal the details, if there are any."""
    if to.eyes.tr.has_message(code):
        return to.say(code, **{name: value for name, value in args.items() if name != "code"})
    return detail or code


def _shorten(text: str) -> str:
    return format_value(text, limit=LONGEST)


def dump_json(value: object) -> str:
    """Secrets hidden, cut to `LONGEST`."""
    text = json.dumps(hide_secrets(value), ensure_ascii=False, indent=2, default=str)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


_NOTICES: Final[Mapping[str, str]] = {
    conversation.TurnResumed.__name__: "console-talk-resumed",
    conversation.ConversationCleared.__name__: "console-talk-cleared",
    talking.StopAsked.__name__: "console-talk-stopped",
    talking.RequestDropped.__name__: "console-talk-dropped",
    talking.MessageEdited.__name__: "console-talk-edited",
    daily.ReminderSet.__name__: "console-talk-reminder-set",
    daily.ReminderFired.__name__: "console-talk-reminded",
    daily.ReminderDropped.__name__: "console-talk-reminder-dropped",
    daily.DailySent.__name__: "console-talk-daily",
    budgets.BudgetWarned.__name__: "console-talk-budget",
    console.ConsoleEntered.__name__: "console-talk-entered",
    cards.EditAsked.__name__: "console-talk-edit",
}
"""Told by a sentence of their own, with their words beside it."""


def _read_notice(to: ItemReader, event: StoredEvent) -> Made:
    parsed: Event = parse_event(event)
    text, percent = getattr(parsed, "text", ""), getattr(parsed, "percent", 0)
    return [Item(kind="notice", at=event.ts, text=to.say(_NOTICES[event.type], percent=percent), note=_shorten(text))]


def _read_choice(to: ItemReader, chosen: conversation.NameChosen, event: StoredEvent) -> Made:
    return [Item(kind="notice", at=event.ts, text=to.say("console-talk-chosen"), note=_shorten(chosen.label or str(chosen.value)))]


_CONVERTERS: Final[Mapping[str, Callable[[ItemReader, StoredEvent], Made]]] = {
    **bind_reader(conversation.MessageReceived, _read_message),
    **bind_reader(conversation.ModelAnswered, _read_answer),
    **bind_reader(conversation.ModelFailed, _read_failure),
    **bind_reader(conversation.PlanRecorded, _read_plan),
    **bind_reader(conversation.StepRefused, _read_step_refusal),
    **bind_reader(conversation.TurnFinished, _read_end),
    **bind_reader(conversation.NameChosen, _read_choice),
    **bind_reader(calls.CallStarted, _read_start),
    **bind_reader(calls.CallSucceeded, _read_success),
    **bind_reader(calls.CallRefused, _read_refusal),
    **bind_reader(calls.CallOutcomeUnknown, _read_unknown),
    **bind_reader(calls.OutcomeReconciled, _read_reconciliation),
    **dict.fromkeys(_NOTICES, _read_notice),
}


def _to_answer(_to: ItemReader, session_event: SessionEvent, event: StoredEvent) -> Item:
    options = tuple(Line(text=option) for option in (*session_event.options, *(action.label for action in session_event.actions)))
    return Item(kind="answered", at=event.ts, text=_shorten(session_event.text), lines=options, reports=_read_reports(event))


def _read_reports(event: StoredEvent) -> Sequence[ReportAnswer]:
    """Only sessions of the API keep what was answered."""
    if event.type != "AnswerGiven" or event.data.get("kind") != "reply" or not event.data.get("body"):
        return ()
    parts = Reply.model_validate(event.data["body"]).parts
    return tuple(part.answer for part in parts if isinstance(part, ReportPart) and not part.is_file)


def _to_question(to: ItemReader, session_event: SessionEvent, event: StoredEvent) -> Item:
    options = tuple(Line(text=option) for option in session_event.options)
    return Item(kind="question", at=event.ts, text=_shorten(to.erase(event, session_event.text)), lines=options)


def _to_card(to: ItemReader, session_event: SessionEvent, event: StoredEvent) -> Item:
    card = session_event.confirmation
    effect_id = str(event.data.get("effect_id") or "")
    if card is None:
        return Item(kind="card", at=event.ts, effect_id=effect_id)
    rows = [Line(text=f"{row.name}: {row.before} → {row.after}" if row.before else f"{row.name}: {row.after}") for row in card.rows]
    lines = (*rows, *(Line(text=command) for command in card.commands))
    title, note = to.erase(event, card.title), "; ".join(card.reasons)
    return Item(kind="card", at=event.ts, text=_shorten(title), lines=lines, note=_shorten(note), tone="live", effect_id=effect_id)


def _to_decision(to: ItemReader, session_event: SessionEvent, event: StoredEvent) -> Item:
    who = (session_event.by.name or session_event.by.id) if session_event.by is not None else ""
    text = to.say("console-talk-decision", state=session_event.state)
    way = to.say("history-via", via=session_event.via) if session_event.via else ""
    reason = session_event.text or _explain(to, session_event.code, {}) if session_event.text or session_event.code else ""
    note = ". ".join(part for part in (way, reason) if part)
    effect_id, tone = str(event.data.get("effect_id") or ""), _DECISIONS.get(session_event.state, "plain")
    return Item(kind="decided", at=event.ts, who=who, text=text, note=_shorten(note), tone=tone, effect_id=effect_id)


def _to_refused_decision(to: ItemReader, session_event: SessionEvent, event: StoredEvent) -> Item:
    who = (session_event.by.name or session_event.by.id) if session_event.by is not None else ""
    text, why = to.say("console-talk-not-counted"), _explain(to, session_event.code, {})
    return Item(kind="decided", at=event.ts, who=who, text=text, note=why, tone="warn")


_SHOWN: Final[Mapping[str, Callable[[ItemReader, SessionEvent, StoredEvent], Item]]] = {
    "reply": _to_answer,
    "question": _to_question,
    "confirmation": _to_card,
    "decision": _to_decision,
    "decision_refused": _to_refused_decision,
}
"""By type of an event of the API."""
