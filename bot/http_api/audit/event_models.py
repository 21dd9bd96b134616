"""The journal's events as the API shows them, in a form that stays when the journal's changes.

Left out are the model's thoughts and prompts, reading calls, nonces, and types not listed here.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import Field

from bot.http_api.approvals.card_models import ApiModel, Change, Person, format_via, join_words, render_reasons, to_changes
from bot.http_api.audit import run_events
from bot.http_api.audit.run_events import Button, Convert, EventFields, EventReader, to_buttons
from bot.http_api.server.endpoint_context import Moment
from bot.rendering.headings import render_heading
from bot.rendering.kinds import RENDERERS, render_message
from bot.rendering.spans import to_plain_text
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import CardView, Preview
from orchestrator.domain.outputs import Notice, Reply
from orchestrator.language.lexicon import load_lexicon
from orchestrator.reports.reading.journal_reader import bind_reader, to_session_name
from state.events.calls import CallOutcomeUnknown, CallRefused, CallSucceeded, OutcomeReconciled
from state.events.confirmations import (
    ConfirmationApproved,
    ConfirmationDenied,
    ConfirmationExpired,
    ConfirmationRequested,
    ConfirmationSuperseded,
    DecisionRefused,
)
from state.events.conversation import MessageReceived, NameAsked, StepRefused, TurnFinished
from state.events.freezing import ConfirmationReopened
from state.events.talking import AnswerGiven
from state.journal.run_index import PREFIX as RUN
from state.journal.store import StoredEvent

_EXAMPLES: Final = load_lexicon("api_examples")
Type = Literal[
    "message",
    "reply",
    "question",
    "confirmation",
    "decision",
    "decision_refused",
    "call",
    "step_refused",
    "run_started",
    "run_node",
    "run_waits",
    "run_woken",
    "run_finished",
]
_CALLS: Final = {"CallSucceeded": "executed", "CallRefused": "refused", "CallOutcomeUnknown": "unknown"}
_SETTLED: Final = {"done": "executed", "not_done": "refused", "unclear": "unknown"}
_CARDS: Final = frozenset({"card", "toast"})


class AskedCard(ApiModel):
    """A confirmation as it was shown when a person was first asked to decide."""

    method: str = Field(examples=["crm.deal.update"])
    title: str = Field(examples=[_EXAMPLES.read_text("card_title")])
    rows: Sequence[Change] = ()
    commands: Sequence[str] = Field((), description="Of a batch the titles of its commands.")
    reasons: Sequence[str] = ()
    taps: int = 1
    expires_at: Moment
    replaces: str = Field("", description="The confirmation whose place it took, when what it would change had changed.")


class SessionEvent(ApiModel):
    """One thing that happened in a conversation or a run; fields that do not apply to its type are empty."""

    type: Type
    at: Moment
    turn: str = Field("", description="The request that it belongs to.")
    by: Person | None = None
    text: str = Field("", description="What was said, or a sentence about it.", examples=[_EXAMPLES.read_text("result")])
    options: Sequence[str] = Field((), description="The answers of a question.")
    actions: Sequence[Button] = Field((), description="The buttons under a message of a run.")
    run: str = Field("", description="The run that asks for a confirmation in this session: GET /runs/{id}.")
    node: str = Field("", description="Of an event of a run: the named piece of work that it is about; empty for the whole run.")
    question: str = Field("", description="Of a run that waits for an answer: POST /runs/{id}/answers/{question}.", examples=["7f3a90c2"])
    confirmation_id: str = ""
    confirmation: AskedCard | None = None
    state: str = Field(
        "", description="Of a decision or a call: what it made of the confirmation. Of a run: where it stands now.", examples=["executed"]
    )
    via: str = Field("", examples=["button"])
    method: str = ""
    record: str = Field("", description="The record that a call made.", examples=["deal:512"])
    code: str = Field("", description="Why something was refused, as a word for programs.")
    erased: bool = Field(False, description="Its words were erased on somebody's wish.")


def to_session_event(event: StoredEvent, eyes: EventReader) -> SessionEvent | None:
    """None for an event the API does not show."""
    make = _CONVERTERS.get(event.type)
    fields = make(eyes, event) if make else None
    if fields is None:
        return None
    common = {"at": event.ts, "turn": str(event.data.get("turn_id") or ""), "erased": event.erased}
    return SessionEvent.model_validate({**common, **fields})


Call = CallSucceeded | CallRefused | CallOutcomeUnknown


def _to_message(eyes: EventReader, message_received: MessageReceived, event: StoredEvent) -> EventFields:
    return {"type": "message", "by": eyes.find_person(event.actor), "text": message_received.text or message_received.quoted}


def _to_finished(_eyes: EventReader, turn_finished: TurnFinished, event: StoredEvent) -> EventFields:
    """None for turns without an answer, and sessions of this API, whose answers are `AnswerGiven` events."""
    is_shown = turn_finished.text and Address.parse(to_session_name(event.stream)).channel != "http"
    return {"type": "reply", "text": turn_finished.text} if is_shown else None


def _to_reply(eyes: EventReader, answer: AnswerGiven, event: StoredEvent) -> EventFields:
    if answer.kind == "card" and answer.body:
        return _to_passed_card(eyes, CardView.from_body(answer.body))
    if answer.kind in _CARDS or answer.kind not in RENDERERS:
        return None
    text = to_plain_text(render_message(answer.kind, answer.body, eyes.tr)) if answer.body else ""
    options = [str(choice["label"]) for choice in answer.body.get("choices") or ()]
    actions = to_buttons(Reply.model_validate(answer.body).actions, eyes.tr) if answer.kind == "reply" and answer.body else ()
    return {"type": "reply", "text": text, "options": options, "actions": actions, "turn": answer.cause} if text or event.erased else None


def _to_passed_card(eyes: EventReader, view: CardView) -> EventFields:
    """A card that a run shows here; None for the session's own cards, which the events about their decisions tell."""
    if not view.home.startswith(RUN):
        return None
    card, tr = view.card, eyes.tr
    asked_card = AskedCard(
        method=card.method,
        title=join_words(render_heading(view.preview, card.method, tr)),
        rows=to_changes(view.preview),
        commands=[join_words(render_heading(item, item.method, tr)) for item in view.preview.items],
        reasons=render_reasons(view.reasons, tr),
        taps=card.taps,
        expires_at=card.expires_at,
    )
    fields = {"type": "confirmation", "confirmation_id": card.confirmation_id, "confirmation": asked_card, "state": card.status}
    return {**fields, "run": view.home.removeprefix(RUN), "by": eyes.find_person(card.requested_by, card.requested_by_name)}


def _to_question(eyes: EventReader, name_asked: NameAsked, _event: StoredEvent) -> EventFields:
    text = eyes.tr.translate_notice(Notice.model_validate(name_asked.ask)) if name_asked.ask else ""
    return {"type": "question", "text": text, "options": [str(option.get("label") or "") for option in name_asked.options]}


def _to_card(eyes: EventReader, requested: ConfirmationRequested, _event: StoredEvent) -> EventFields:
    preview, tr = Preview.model_validate(requested.preview), eyes.tr
    card = AskedCard(
        method=requested.method,
        title=join_words(render_heading(preview, requested.method, tr)),
        rows=to_changes(preview),
        commands=[join_words(render_heading(item, item.method, tr)) for item in preview.items],
        reasons=render_reasons([Notice.model_validate(reason) for reason in requested.reasons], tr),
        taps=requested.taps,
        expires_at=requested.expires_at,
        replaces=requested.replaces,
    )
    by = eyes.find_person(requested.requested_by, requested.requested_by_name)
    return {"type": "confirmation", "confirmation_id": requested.confirmation_id, "confirmation": card, "by": by, "state": "requested"}


def _to_approval(eyes: EventReader, approved: ConfirmationApproved, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(approved.approved_by, approved.approved_by_name)
    return {"type": "decision", "confirmation_id": approved.confirmation_id, "state": "approved", "by": by, "via": format_via(approved.via)}


def _to_denial(eyes: EventReader, confirmation_denied: ConfirmationDenied, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(confirmation_denied.denied_by, confirmation_denied.denied_by_name)
    fields = {"type": "decision", "confirmation_id": confirmation_denied.confirmation_id, "state": "denied", "by": by}
    return {**fields, "via": format_via(confirmation_denied.via), "text": confirmation_denied.reason}


def _to_expiry(_eyes: EventReader, confirmation_expired: ConfirmationExpired, _event: StoredEvent) -> EventFields:
    return {"type": "decision", "confirmation_id": confirmation_expired.confirmation_id, "state": "expired"}


def _to_superseded(_eyes: EventReader, superseded: ConfirmationSuperseded, _event: StoredEvent) -> EventFields:
    return {"type": "decision", "confirmation_id": superseded.confirmation_id, "state": "superseded", "code": superseded.why}


def _to_reopened(_eyes: EventReader, reopened: ConfirmationReopened, _event: StoredEvent) -> EventFields:
    """An approved call could not be made, for example while writes are frozen: the card waits again."""
    return {"type": "decision", "confirmation_id": reopened.confirmation_id, "state": "requested", "code": reopened.why}


def _to_refused_decision(eyes: EventReader, decision_refused: DecisionRefused, _event: StoredEvent) -> EventFields:
    fields = {"type": "decision_refused", "confirmation_id": decision_refused.confirmation_id, "by": eyes.find_person(decision_refused.by)}
    return {**fields, "via": format_via(decision_refused.via), "code": decision_refused.code}


def _to_call(_eyes: EventReader, call: Call, event: StoredEvent) -> EventFields:
    if call.call_class == "R":
        return None
    fields = {"type": "call", "state": _CALLS[event.type], "method": call.method, "confirmation_id": call.confirmation_id}
    record = call.created if isinstance(call, CallSucceeded) else ""
    return {**fields, "record": record, "code": call.code if isinstance(call, CallRefused) else ""}


def _to_settled(_eyes: EventReader, outcome_reconciled: OutcomeReconciled, _event: StoredEvent) -> EventFields:
    return {"type": "call", "state": _SETTLED[outcome_reconciled.verdict], "confirmation_id": outcome_reconciled.confirmation_id}


def _to_refused_step(_eyes: EventReader, step_refused: StepRefused, _event: StoredEvent) -> EventFields:
    return {"type": "step_refused", "method": step_refused.method, "code": step_refused.code}


_CONVERTERS: Final[Mapping[str, Convert]] = {
    **bind_reader(MessageReceived, _to_message),
    **bind_reader(TurnFinished, _to_finished),
    **bind_reader(AnswerGiven, _to_reply),
    **bind_reader(NameAsked, _to_question),
    **bind_reader(ConfirmationRequested, _to_card),
    **bind_reader(ConfirmationApproved, _to_approval),
    **bind_reader(ConfirmationDenied, _to_denial),
    **bind_reader(ConfirmationExpired, _to_expiry),
    **bind_reader(ConfirmationSuperseded, _to_superseded),
    **bind_reader(ConfirmationReopened, _to_reopened),
    **bind_reader(DecisionRefused, _to_refused_decision),
    **bind_reader(CallSucceeded, _to_call),
    **bind_reader(CallRefused, _to_call),
    **bind_reader(CallOutcomeUnknown, _to_call),
    **bind_reader(OutcomeReconciled, _to_settled),
    **bind_reader(StepRefused, _to_refused_step),
    **run_events.CONVERTERS,
}
