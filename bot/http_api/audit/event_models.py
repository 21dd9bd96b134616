"""The API's form of journal events of a conversation: messages, answers, cards and their outcomes. Pure.

The form is stable and independent of the journal's: it holds no thoughts, prompts, reads or nonces, and unlisted events are left out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from bot.http_api.approvals.card_models import ApiModel, Change, Moment, Person, format_via, join_words, render_reasons, to_changes
from bot.i18n.translate import Translator
from bot.rendering.kinds import RENDERERS, render_message
from bot.rendering.replies import render_heading
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview
from orchestrator.domain.outputs import Notice
from orchestrator.language.lexicon import load_lexicon
from orchestrator.reports.reading.journal_reader import to_session_name
from state.journal.store import StoredEvent

_EXAMPLES: Final = load_lexicon("api_examples")
Type = Literal["message", "reply", "question", "confirmation", "decision", "decision_refused", "call", "step_refused"]
Present = Callable[[Actor], Actor | None]
_DECIDED: Final = {
    "ConfirmationApproved": "approved",
    "ConfirmationDenied": "denied",
    "ConfirmationExpired": "expired",
    "ConfirmationSuperseded": "superseded",
}
_CALLS: Final = {"CallSucceeded": "executed", "CallRefused": "refused", "CallOutcomeUnknown": "unknown"}
_SETTLED: Final = {"done": "executed", "not_done": "refused", "unclear": "unknown"}
_CARDS: Final = frozenset({"card", "toast"})


class AskedCard(ApiModel):
    """A confirmation as it was asked for."""

    method: str = Field(examples=["crm.deal.update"])
    title: str = Field(examples=[_EXAMPLES.read_text("card_title")])
    rows: Sequence[Change] = ()
    commands: Sequence[str] = Field((), description="Of a batch the titles of its commands.")
    reasons: Sequence[str] = ()
    taps: int = 1
    expires_at: Moment
    replaces: str = Field("", description="The confirmation whose place it took, when what it would change had changed.")


class SessionEvent(ApiModel):
    """One thing that happened in a conversation; fields that say nothing about it are left empty."""

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
    """Language and people lookup of the caller for whom events are converted."""

    tr: Translator
    refresh_actor: Present

    def find_person(self, key: str, name: str = "") -> Person | None:
        """Return the person with that key; None for an empty key."""
        if not key:
            return None
        known = self.refresh_actor(Actor(key=key, name=""))
        return Person(id=key, name=name or (known.name if known else ""))


def to_session_event(event: StoredEvent, eyes: EventReader) -> SessionEvent | None:
    """Return the API's form of the event, None for an event the API does not show."""
    make = _CONVERTERS.get(event.type)
    found = make(event, eyes) if make else None
    if found is None:
        return None
    common = {"at": event.ts, "turn": str(event.data.get("turn_id") or ""), "erased": event.erased}
    return SessionEvent.model_validate({**common, **found})


EventFields = Mapping[str, Any] | None


def _to_message(event: StoredEvent, eyes: EventReader) -> EventFields:
    return {"type": "message", "by": eyes.find_person(event.actor), "text": event.data["text"] or event.data.get("quoted", "")}


def _to_finished(event: StoredEvent, eyes: EventReader) -> EventFields:
    """Return an answer's text; None for sessions of this API, whose answers are shown complete as replies."""
    del eyes
    text = event.data.get("text")
    return {"type": "reply", "text": text} if text and Address.parse(to_session_name(event.stream)).channel != "http" else None


def _to_reply(event: StoredEvent, eyes: EventReader) -> EventFields:
    kind, body = str(event.data["kind"]), event.data["body"]
    if kind in _CARDS or kind not in RENDERERS:
        return None
    text = to_plain_text(render_message(kind, body, eyes.tr)) if body else ""
    options = [str(choice["label"]) for choice in body.get("choices") or ()]
    return {"type": "reply", "text": text, "options": options, "turn": str(event.data["cause"])} if text or event.erased else None


def _to_question(event: StoredEvent, eyes: EventReader) -> EventFields:
    ask = event.data.get("ask") or {}
    text = eyes.tr.translate(str(ask["code"]), **(ask.get("args") or {})) if ask.get("code") else ""
    return {"type": "question", "text": text, "options": [str(option.get("label") or "") for option in event.data.get("options") or ()]}


def _to_card(event: StoredEvent, eyes: EventReader) -> EventFields:
    data = event.data
    preview, tr = Preview.model_validate(data.get("preview") or {}), eyes.tr
    card = AskedCard(
        method=data["method"],
        title=join_words(render_heading(preview, data["method"], tr)),
        rows=to_changes(preview),
        commands=[join_words(render_heading(item, item.method, tr)) for item in preview.items],
        reasons=render_reasons([Notice.model_validate(reason) for reason in data.get("reasons") or ()], tr),
        taps=data.get("taps", 1),
        expires_at=data["expires_at"],
        replaces=data.get("replaces", ""),
    )
    by = eyes.find_person(data["requested_by"], data.get("requested_by_name", ""))
    return {"type": "confirmation", "confirmation_id": data["confirmation_id"], "confirmation": card, "by": by, "state": "requested"}


def _to_decision(event: StoredEvent, eyes: EventReader) -> EventFields:
    data, state = event.data, _DECIDED[event.type]
    by = eyes.find_person(str(data.get(f"{state}_by") or ""), str(data.get(f"{state}_by_name") or ""))
    told = {"type": "decision", "confirmation_id": data["confirmation_id"], "state": state, "by": by}
    return {
        **told,
        "via": format_via(str(data.get("via") or "")),
        "text": str(data.get("reason") or ""),
        "code": str(data.get("why") or ""),
    }


def _to_reopened(event: StoredEvent, eyes: EventReader) -> EventFields:
    """Return a card that waits again after its approval could not be carried out, such as while writes are frozen."""
    del eyes
    return {"type": "decision", "confirmation_id": event.data["confirmation_id"], "state": "requested", "code": event.data["why"]}


def _to_refused_decision(event: StoredEvent, eyes: EventReader) -> EventFields:
    data = event.data
    told = {"type": "decision_refused", "confirmation_id": data["confirmation_id"], "by": eyes.find_person(data["by"])}
    return {**told, "via": format_via(data["via"]), "code": data["code"]}


def _to_call(event: StoredEvent, eyes: EventReader) -> EventFields:
    del eyes
    data = event.data
    if data.get("call_class") == "R":
        return None
    told = {"type": "call", "state": _CALLS[event.type], "method": data["method"], "confirmation_id": data.get("confirmation_id") or ""}
    return {**told, "record": str(data.get("created") or ""), "code": str(data.get("code") or "")}


def _to_settled(event: StoredEvent, eyes: EventReader) -> EventFields:
    del eyes
    return {"type": "call", "state": _SETTLED[event.data["verdict"]], "confirmation_id": event.data.get("confirmation_id") or ""}


def _to_refused_step(event: StoredEvent, eyes: EventReader) -> EventFields:
    del eyes
    return {"type": "step_refused", "method": event.data["method"], "code": event.data["code"]}


_CONVERTERS: Final[Mapping[str, Callable[[StoredEvent, EventReader], EventFields]]] = {
    "MessageReceived": _to_message,
    "TurnFinished": _to_finished,
    "AnswerGiven": _to_reply,
    "NameAsked": _to_question,
    "ConfirmationRequested": _to_card,
    **dict.fromkeys(_DECIDED, _to_decision),
    "ConfirmationReopened": _to_reopened,
    "DecisionRefused": _to_refused_decision,
    **dict.fromkeys(_CALLS, _to_call),
    "OutcomeReconciled": _to_settled,
    "StepRefused": _to_refused_step,
}
