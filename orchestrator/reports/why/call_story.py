import re
from collections.abc import Iterator, Sequence
from typing import Final

from bitrix.catalogue.catalogue import Catalogue
from orchestrator.domain.card_view import Preview
from orchestrator.domain.effect import CommandReport
from orchestrator.engines.base import PlanStep
from orchestrator.gate.call import fields
from orchestrator.gate.call.targets import find_definition
from orchestrator.gate.decide.consent import ORDERED, QUESTIONS
from orchestrator.gate.undo.undo_policy import parse_undo_slot
from orchestrator.language.orders import count_orders
from orchestrator.language.text import Locale
from orchestrator.reports.reading.damaged_records import UnreadableEvent
from orchestrator.reports.reading.journal_reader import (
    ERASED,
    Narrator,
    describe_gap,
    format_text,
    hide_secrets,
    to_one_line,
    to_session_name,
)
from orchestrator.reports.reading.sentences import describe_refusal
from orchestrator.reports.why.call_search import CallTrail, load_answer, read_steps
from orchestrator.reports.why.story import (
    CallStory,
    Change,
    Decision,
    Doubt,
    GateVerdict,
    Look,
    Proposal,
    Request,
    Run,
    StoryCard,
    Superseded,
)
from orchestrator.reports.why.touched_records import TouchedRecord, find_touched_records
from state.clock import parse_iso
from state.events.calls import CallRefused, CallStarted, CallSucceeded, OutcomeReconciled
from state.events.confirmations import ConfirmationDenied, ConfirmationRequested
from state.events.conversation import MessageReceived, ModelAnswered, PlanRecorded, StepRefused
from state.events.runs import RunStarted
from state.journal.run_index import PREFIX
from state.journal.store import Store, StoredEvent
from state.model.card import Card
from state.stored import JsonObject

_THOUGHT: Final = re.compile(r"THOUGHT:\s*(.*?)\s*(?=^\W{0,3}(?:ACTION|ASSISTANT)\W{0,3}:|\Z)", re.DOTALL | re.MULTILINE)
_OUTCOMES: Final = {
    "ConfirmationRequested": "waiting",
    "ConfirmationApproved": "approved",
    "ConfirmationReopened": "waiting",
    "ConfirmationDenied": "denied",
    "ConfirmationExpired": "expired",
    "ConfirmationSuperseded": "superseded",
    "CallStarted": "started",
    "CallSucceeded": "succeeded",
    "CallRefused": "refused",
    "CallOutcomeUnknown": "unknown",
    "StepRefused": "refused",
    "PlanRecorded": "planned",
}
_SETTLED: Final = {"done": "succeeded", "not_done": "refused"}
_SHOWN: Final = (
    "confirmation_id",
    "method",
    "preview",
    "reasons",
    "requested_by_name",
    "requested_at",
    "expires_at",
    "taps",
    "four_eyes",
)
"""Fields of a card that a story shows."""
_CLOSING: Final = ("ConfirmationApproved", "ConfirmationDenied", "ConfirmationExpired", "ConfirmationSuperseded")


def build_story(
    trail: CallTrail, store: Store, *, voice: Narrator, catalogue: Catalogue, record: str = "", locale: Locale = "en"
) -> CallStory:
    """Fields are named in `locale`. With `record`, only a batch's commands about it."""
    for event in (*trail.turn, *trail.events):
        voice.remember_names(event)
    method, params = _find_call(trail)
    touched = [touch for touch in find_touched_records(method, params, catalogue) if not record or _is_about(touch, record)]
    return CallStory(
        at=(trail.find_first("CallStarted") or trail.events[0]).ts,
        effect_id=trail.effect_id,
        confirmation_id=_find_first_value(trail, "confirmation_id"),
        session=to_session_name(trail.stream),
        outcome=_find_outcome(trail.events),
        method=method,
        params=hide_secrets(params),
        call_class=_find_first_value(trail, "call_class"),
        records=list(dict.fromkeys(touch.target for touch in touched if touch.target)),
        changes=_build_changes(trail, touched, catalogue, locale),
        asked=_build_request(trail, store, voice),
        undoes=parse_undo_slot(trail.slot),
        proposed=_build_proposal(trail),
        judged=_build_verdict(trail, voice, locale),
        card=_build_card(trail, voice),
        run=_build_run(trail, store, voice),
        doubt=_build_doubt(trail),
        erased=any(event.erased and not isinstance(event, UnreadableEvent) for event in trail.events),
        unreadable=any(isinstance(event, UnreadableEvent) for event in trail.events),
    )


def _is_about(touch: TouchedRecord, record: str) -> bool:
    """A creating call does not contain the record's number, so the kind decides."""
    return touch.target == record if touch.target else touch.created_kind == record.rpartition(":")[0] != ""


def _find_call(trail: CallTrail) -> tuple[str, JsonObject]:
    """As sent; otherwise as the card showed it or the model proposed it."""
    for kind in (CallStarted, ConfirmationRequested, StepRefused, ConfirmationDenied, CallSucceeded, CallRefused):
        event = trail.find_first(kind.__name__)
        call = kind.from_data(event.data) if event is not None else None
        if call is not None and call.method:
            return call.method, call.params or {}
    step = _find_step(trail)
    return step.method or _find_first_value(trail, "method"), step.params


def _find_first_value(trail: CallTrail, name: str) -> str:
    return next((str(event.data[name]) for event in trail.events if event.data.get(name)), "")


def _find_outcome(events: Sequence[StoredEvent]) -> str:
    outcome = "planned"
    for event in events:
        settled = _SETTLED.get(OutcomeReconciled.from_data(event.data).verdict) if event.type == "OutcomeReconciled" else ""
        outcome = settled or _OUTCOMES.get(event.type, outcome)
    return outcome


def _build_request(trail: CallTrail, store: Store, voice: Narrator) -> Request | None:
    event = next((event for event in trail.turn if event.type == "MessageReceived"), None)
    if event is None:
        requester = _find_first_value(trail, "requested_by")
        run = _describe_run(trail, store)
        return Request(by=requester, person=voice.format_person(requester), at="", words="", origin="", run=run) if requester else None
    message = MessageReceived.from_data(event.data)
    return Request(
        by=event.actor,
        person=voice.format_person(event.actor),
        at=event.ts,
        words=to_one_line(trail.question or message.text, limit=400) or (ERASED if event.erased else ""),
        origin=message.origin,
        with_foreign_text=bool(message.quoted),
    )


def _describe_run(trail: CallTrail, store: Store) -> str:
    """With the proposing node; "" for a call of a chat's turn."""
    begun = next(iter(store.read_events(trail.stream, limit=1)), None) if trail.stream.startswith(PREFIX) else None
    if begun is None or begun.type != RunStarted.__name__:
        return ""
    start = RunStarted.from_data(begun.data)
    node = to_one_line(trail.slot.removeprefix(f"{trail.stream}/"), limit=80)
    title = f" “{to_one_line(start.title, limit=80)}”" if start.title else ""
    return f"{to_one_line(start.definition, limit=80)}{title} version {start.version} ({to_one_line(start.engine, limit=40)}), node {node}"


def _find_step(trail: CallTrail) -> PlanStep:
    """Of the recorded plan; empty if there is none."""
    plans = [event for event in (*trail.turn, *trail.events) if event.type == "PlanRecorded"]
    return next((step for plan in plans for step in read_steps(plan) if trail.slot and step.slot == trail.slot), PlanStep())


def _build_proposal(trail: CallTrail) -> Proposal | None:
    """With the thought in the answer; None if neither is recorded."""
    place = trail.slot.split("/")
    iteration = int(place[1]) if len(place) > 1 and place[1].isdecimal() else 0
    answers = [(event, ModelAnswered.from_data(event.data)) for event in trail.turn if event.type == "ModelAnswered"]
    event, answer = next(((event, answer) for event, answer in answers if answer.iteration == iteration), (None, None))
    step = _find_step(trail)
    if answer is None and not step.slot:
        return None
    thought = find_thought(answer.text) if answer is not None else ""
    return Proposal(
        at=event.ts if event is not None else "",
        model=to_one_line(answer.model, limit=80) if answer is not None else "",
        iteration=iteration,
        thought=to_one_line(thought, limit=300) if thought else ERASED if event is not None and event.erased else "",
        step=PlanStep.from_stored(hide_secrets(step.select(("method", "params", "comment")))),
    )


def find_thought(answer: str) -> str:
    """Of an answer in the agreed form; "" without a thought."""
    match = _THOUGHT.search(answer)
    return match[1] if match else ""


def _build_verdict(trail: CallTrail, voice: Narrator, locale: Locale) -> GateVerdict:
    plans = [event for event in (*trail.events, *trail.turn) if event.type == "PlanRecorded"]
    plan = next((plan for plan in plans if trail.slot and any(step.slot == trail.slot for step in read_steps(plan))), None)
    mode = PlanRecorded.from_data(plan.data).mode if plan is not None else ""
    refusal, card, first = trail.find_first("StepRefused"), trail.find_first("ConfirmationRequested"), trail.events[0]
    if refusal is not None:
        step_refused = StepRefused.from_data(refusal.data)
        why = _explain_refusal(refusal, step_refused, voice, locale)
        return GateVerdict(decision="refused", mode=mode, at=refusal.ts, codes=[step_refused.code], reasons=[why])
    if card is not None:
        stored_reasons = ConfirmationRequested.from_data(card.data).reasons
        reasons = voice.describe_reasons(stored_reasons) or ([describe_gap(card)] if card.erased else [])
        return GateVerdict(
            decision="asked", mode=mode, at=card.ts, codes=[str(one.get("code", "")) for one in stored_reasons], reasons=reasons
        )
    if trail.find_first("CallStarted", "CallSucceeded", "CallRefused") is not None:
        return GateVerdict(
            decision="allowed", mode=mode, at=first.ts, codes=[], reasons=_list_answers(trail) or ["no rule asks for a person"]
        )
    if trail.find_first("ConfirmationDenied") is not None:
        return GateVerdict(decision="withdrawn", mode=mode, at=first.ts, codes=[], reasons=["the model withdrew it"])
    return GateVerdict(decision="planned", mode=mode, at=first.ts, codes=[], reasons=["plans are only recorded in this mode"])


def _list_answers(trail: CallTrail) -> list[str]:
    """Empty if no message had to order it."""
    judged = any(event.type == "TurnFinished" and event.data.get("rules") for event in trail.turn)
    message = next((event for event in trail.turn if event.type == "MessageReceived"), None)
    if not judged or message is None or not _find_step(trail).slot:
        return []
    orders = count_orders(trail.question or MessageReceived.from_data(message.data).text)
    orders_note = f"; the message gives {orders} order{'s' * (orders != 1)}" if orders else "; it answers a question about an order"
    return [f"{question}: yes{orders_note if question == ORDERED else ''}" for question in dict.fromkeys(QUESTIONS.values())]


def _explain_refusal(event: StoredEvent, step_refused: StepRefused, voice: Narrator, locale: Locale) -> str:
    """Details are English; other readers get the sentence of the code."""
    detail, sentence = format_text(event, "detail", limit=300), voice.render_sentence(step_refused.code, step_refused.args)
    return detail if detail and (locale == "en" or sentence == step_refused.code) else sentence


def _build_card(trail: CallTrail, voice: Narrator) -> StoryCard | None:
    """As people saw it; None if there was no card."""
    request = trail.find_first("ConfirmationRequested")
    if request is None:
        return None
    return StoryCard(
        card=Card.from_stored(hide_secrets({name: request.data[name] for name in _SHOWN if name in request.data})),
        replaces=ConfirmationRequested.from_data(request.data).replaces,
        erased=request.erased,
        decided=_build_decision(request, trail, voice),
    )


def _build_decision(stored_event: StoredEvent, trail: CallTrail, voice: Narrator) -> Decision | None:
    """None while it waits.

    An approval before a reopening does not count.
    """
    last = max((place for place, event in enumerate(trail.events) if event.type == "ConfirmationReopened"), default=-1)
    closings = [event for event in trail.events[last + 1 :] if event.type in _CLOSING]
    if not closings:
        return None
    closed = closings[0]
    card, status = Card.from_stored(closed.data), _OUTCOMES[closed.type]
    by, name = card.approved_by or card.denied_by, card.approved_by_name or card.denied_by_name
    reason = format_text(closed, "reason") if card.reason else voice.render_sentence(card.why) if card.why else ""
    decision = Decision(
        status=status,
        at=closed.ts,
        by=by,
        person=voice.format_person(by, name, gone=closed.erased) if by else "",
        via=card.via,
        reason=reason,
        replaced_by=card.by or ("a new card" if status == "superseded" else ""),
        waited_seconds=round((parse_iso(closed.ts) - parse_iso(stored_event.ts)).total_seconds(), 3),
    )
    late = next((event for event in closings[1:] if event.type == "ConfirmationSuperseded"), None)
    if late is None:
        return decision
    why = voice.render_sentence(Card.from_stored(late.data).why)  # approved, but its data had changed meanwhile
    return decision.model_copy(update={"superseded": Superseded(at=late.ts, why=why)})


def _build_run(trail: CallTrail, store: Store, voice: Narrator) -> Run | None:
    """None if the call was not started."""
    began, ended = trail.find_first("CallStarted"), trail.find_first("CallSucceeded", "CallRefused", "CallOutcomeUnknown")
    started_at, sent = began.ts if began else "", began is not None
    if ended is None:
        return Run(started_at=started_at, ended_at="", outcome="started", answer="", seconds=None) if began else None
    outcome = _OUTCOMES[ended.type]
    match ended.type:
        case "CallSucceeded":
            success = CallSucceeded.from_data(ended.data)
            return Run(
                started_at=started_at,
                ended_at=ended.ts,
                outcome=outcome,
                seconds=success.seconds,
                sent=sent,
                answer=to_one_line(load_answer(ended, store), limit=300) or (ERASED if ended.erased else ""),
                commands=[CommandReport.model_validate(hide_secrets(dict(item))) for item in success.commands],
                unchanged=success.unchanged,
            )
        case "CallRefused":
            refusal = CallRefused.from_data(ended.data)
            return Run(
                started_at=started_at,
                ended_at=ended.ts,
                outcome=outcome,
                seconds=refusal.seconds,
                sent=sent,
                answer=describe_refusal(refusal, voice),
                code=refusal.code,
            )
        case _:
            answer = format_text(ended, "detail")
            return Run(started_at=started_at, ended_at=ended.ts, outcome=outcome, seconds=None, sent=sent, answer=answer)


def _build_doubt(trail: CallTrail) -> Doubt | None:
    """None if the outcome was never unknown."""
    lost = trail.find_first("CallOutcomeUnknown")
    if lost is None:
        return None
    events = [event for event in trail.events if event.type == "OutcomeReconciled"]
    looks = [
        Look(at=event.ts, verdict=OutcomeReconciled.from_data(event.data).verdict, detail=format_text(event, "detail")) for event in events
    ]
    return Doubt(at=lost.ts, detail=format_text(lost, "detail"), looks=looks)


def _build_changes(trail: CallTrail, touched: Sequence[TouchedRecord], catalogue: Catalogue, locale: Locale) -> list[Change]:
    """From the card; without one, old values as stored before and new ones of the call."""
    request, began = trail.find_first("ConfirmationRequested"), trail.find_first("CallStarted")
    preview = Preview.model_validate(ConfirmationRequested.from_data(request.data).preview if request is not None else {})
    before = CallStarted.from_data(began.data).before if began is not None else {}
    return [
        change for touch in touched for change in _build_touch_changes(touch, preview, before.get(touch.target) or {}, catalogue, locale)
    ]


def _build_touch_changes(
    touch: TouchedRecord, preview: Preview, before: JsonObject, catalogue: Catalogue, locale: Locale
) -> Iterator[Change]:
    about = to_one_line(touch.target or (f"new {touch.created_kind}" if touch.created_kind else ""))
    item = next((item for item in preview.items if item.key == touch.key), None) if touch.key else preview
    if item is not None and item.lines:
        for line in item.lines:
            texts = {name: to_one_line(text) for name, text in line}
            yield Change(record=about, **texts, before_recorded=True)
        return
    entity = find_definition(touch.entity, catalogue)
    for name, value in touch.fields.items():
        yield Change(
            record=about,
            field=to_one_line(name),
            name=to_one_line(fields.find_label(entity, name, locale)),
            before=to_one_line(fields.find_value(before, name, touch.entity)),
            after=to_one_line(hide_secrets({name: value})[name]),
            before_recorded=not touch.target or fields.has_field(before, name, touch.entity),
        )
