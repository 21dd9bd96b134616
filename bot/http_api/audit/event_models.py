"""Converts a conversation's events in the journal (messages, answers, cards and their outcomes) into the events that the API shows.

The API's form stays the same when the journal's changes. It leaves out the model's thoughts and prompts, calls that only read, and the
one-time codes of confirmations (nonces). Events of other types than those listed here are not shown. Pure: no input or output.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import Field

from bot.http_api.approvals.card_models import ApiModel, Change, Moment, Person, format_via, join_words, render_reasons, to_changes
from bot.i18n.translate import Translator
from bot.rendering.headings import render_heading
from bot.rendering.kinds import RENDERERS, render_message
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview
from orchestrator.domain.outputs import Notice
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
from state.journal.store import StoredEvent

_EXAMPLES: Final = load_lexicon("api_examples")
Type = Literal["message", "reply", "question", "confirmation", "decision", "decision_refused", "call", "step_refused"]
Present = Callable[[Actor], Actor | None]
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
    """One thing that happened in a conversation; fields that do not apply to its type are empty."""

    type: Type
    at: Moment
    turn: str = Field("", description="The request that it belongs to.")
    by: Person | None = None
    text: str = Field("", description="What was said, or a sentence about it.", examples=[_EXAMPLES.read_text("result")])
    options: Sequence[str] = Field((), description="The answers of a question.")
    confirmation_id: str = ""
    confirmation: AskedCard | None = None
    state: str = Field("", description="Of a decision or a call: what it made of the confirmation.", examples=["executed"])
    via: str = Field("", examples=["button"])
    method: str = ""
    record: str = Field("", description="The record that a call made.", examples=["deal:512"])
    code: str = Field("", description="Why something was refused, as a word for programs.")
    erased: bool = Field(False, description="Its words were erased on somebody's wish.")


@dataclass(frozen=True, kw_only=True)
class EventReader:
    """The caller's language and the lookup of people's names, which the conversion of events needs."""

    tr: Translator
    refresh_actor: Present

    def find_person(self, key: str, name: str = "") -> Person | None:
        """Return the person with that key, None for an empty key; a given `name` replaces the person's present name."""
        if not key:
            return None
        known = self.refresh_actor(Actor(key=key, name=""))
        return Person(id=key, name=name or (known.name if known else ""))


def to_session_event(event: StoredEvent, eyes: EventReader) -> SessionEvent | None:
    """Return the API's form of the event, None for an event the API does not show."""
    make = _CONVERTERS.get(event.type)
    found = make(eyes, event) if make else None
    if found is None:
        return None
    common = {"at": event.ts, "turn": str(event.data.get("turn_id") or ""), "erased": event.erased}
    return SessionEvent.model_validate({**common, **found})


EventFields = Mapping[str, object] | None
Convert = Callable[[EventReader, StoredEvent], EventFields]
Call = CallSucceeded | CallRefused | CallOutcomeUnknown


def _to_message(eyes: EventReader, said: MessageReceived, event: StoredEvent) -> EventFields:
    return {"type": "message", "by": eyes.find_person(event.actor), "text": said.text or said.quoted}


def _to_finished(_eyes: EventReader, said: TurnFinished, event: StoredEvent) -> EventFields:
    """Return the fields of a "reply" event with the answer of a turn (processing of a message).

    Returns None for sessions of this API, whose answers are taken from `AnswerGiven` events, and for turns without an answer.
    """
    is_shown = said.text and Address.parse(to_session_name(event.stream)).channel != "http"
    return {"type": "reply", "text": said.text} if is_shown else None


def _to_reply(eyes: EventReader, said: AnswerGiven, event: StoredEvent) -> EventFields:
    if said.kind in _CARDS or said.kind not in RENDERERS:
        return None
    text = to_plain_text(render_message(said.kind, said.body, eyes.tr)) if said.body else ""
    options = [str(choice["label"]) for choice in said.body.get("choices") or ()]
    return {"type": "reply", "text": text, "options": options, "turn": said.cause} if text or event.erased else None


def _to_question(eyes: EventReader, said: NameAsked, _event: StoredEvent) -> EventFields:
    text = eyes.tr.translate_notice(Notice.model_validate(said.ask)) if said.ask else ""
    return {"type": "question", "text": text, "options": [str(option.get("label") or "") for option in said.options]}


def _to_card(eyes: EventReader, said: ConfirmationRequested, _event: StoredEvent) -> EventFields:
    preview, tr = Preview.model_validate(said.preview), eyes.tr
    card = AskedCard(
        method=said.method,
        title=join_words(render_heading(preview, said.method, tr)),
        rows=to_changes(preview),
        commands=[join_words(render_heading(item, item.method, tr)) for item in preview.items],
        reasons=render_reasons([Notice.model_validate(reason) for reason in said.reasons], tr),
        taps=said.taps,
        expires_at=said.expires_at,
        replaces=said.replaces,
    )
    by = eyes.find_person(said.requested_by, said.requested_by_name)
    return {"type": "confirmation", "confirmation_id": said.confirmation_id, "confirmation": card, "by": by, "state": "requested"}


def _to_approval(eyes: EventReader, said: ConfirmationApproved, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(said.approved_by, said.approved_by_name)
    return {"type": "decision", "confirmation_id": said.confirmation_id, "state": "approved", "by": by, "via": format_via(said.via)}


def _to_denial(eyes: EventReader, said: ConfirmationDenied, _event: StoredEvent) -> EventFields:
    by = eyes.find_person(said.denied_by, said.denied_by_name)
    told = {"type": "decision", "confirmation_id": said.confirmation_id, "state": "denied", "by": by}
    return {**told, "via": format_via(said.via), "text": said.reason}


def _to_expiry(_eyes: EventReader, said: ConfirmationExpired, _event: StoredEvent) -> EventFields:
    return {"type": "decision", "confirmation_id": said.confirmation_id, "state": "expired"}


def _to_superseded(_eyes: EventReader, said: ConfirmationSuperseded, _event: StoredEvent) -> EventFields:
    return {"type": "decision", "confirmation_id": said.confirmation_id, "state": "superseded", "code": said.why}


def _to_reopened(_eyes: EventReader, said: ConfirmationReopened, _event: StoredEvent) -> EventFields:
    """Return the fields of a "decision" event with the state "requested": the card waits for a decision again.

    That happens if an approved call could not be made, for example while writes are frozen.
    """
    return {"type": "decision", "confirmation_id": said.confirmation_id, "state": "requested", "code": said.why}


def _to_refused_decision(eyes: EventReader, said: DecisionRefused, _event: StoredEvent) -> EventFields:
    told = {"type": "decision_refused", "confirmation_id": said.confirmation_id, "by": eyes.find_person(said.by)}
    return {**told, "via": format_via(said.via), "code": said.code}


def _to_call(_eyes: EventReader, said: Call, event: StoredEvent) -> EventFields:
    if said.call_class == "R":
        return None
    told = {"type": "call", "state": _CALLS[event.type], "method": said.method, "confirmation_id": said.confirmation_id}
    record = said.created if isinstance(said, CallSucceeded) else ""
    return {**told, "record": record, "code": said.code if isinstance(said, CallRefused) else ""}


def _to_settled(_eyes: EventReader, said: OutcomeReconciled, _event: StoredEvent) -> EventFields:
    return {"type": "call", "state": _SETTLED[said.verdict], "confirmation_id": said.confirmation_id}


def _to_refused_step(_eyes: EventReader, said: StepRefused, _event: StoredEvent) -> EventFields:
    return {"type": "step_refused", "method": said.method, "code": said.code}


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
}
