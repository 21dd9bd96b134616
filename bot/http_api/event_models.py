"""The journal of a conversation as the API tells it: messages, answers, cards and what became of them. Ring 3, pure.

A stable form of its own: no thoughts, no prompts, no reads, nothing that opens a card. An event that is not listed here is not told.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic import Field

from bot.http_api.card_models import Change, Moment, Person, Told, changes, reasons, way, words
from bot.i18n.translate import Translator
from bot.rendering.kinds import TEXTS, text_of
from bot.rendering.replies import heading
from bot.rendering.spans import plain
from orchestrator.messages import Actor
from orchestrator.outgoing import channel_of
from orchestrator.reports.reading import session_of
from state.store import StoredEvent

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


class AskedCard(Told):
    """A confirmation as it was asked for."""

    method: str = Field(examples=["crm.deal.update"])
    title: str = Field(examples=["Изменить сделку «Ромашка»"])
    rows: Sequence[Change] = ()
    commands: Sequence[str] = Field((), description="Of a batch the titles of its commands.")
    reasons: Sequence[str] = ()
    taps: int = 1
    expires_at: Moment
    replaces: str = Field("", description="The confirmation whose place it took, when what it would change had changed.")


class SessionEvent(Told):
    """One thing that happened in a conversation; fields that say nothing about it are left empty."""

    type: Type
    at: Moment
    turn: str = Field("", description="The request that it belongs to.")
    by: Person | None = None
    text: str = Field("", description="What was said, or a sentence about it.", examples=["Готово: сумма сделки теперь 150 000 ₽."])
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
class Eyes:
    """For whom it is told."""

    tr: Translator
    present: Present

    def person(self, key: str, name: str = "") -> Person | None:
        """Who that is; None for nobody."""
        if not key:
            return None
        known = self.present(Actor(key=key, name=""))
        return Person(id=key, name=name or (known.name if known else ""))


def public(event: StoredEvent, eyes: Eyes) -> SessionEvent | None:
    """The event as it is told, None for one that is not."""
    make = _TOLD.get(event.type)
    found = make(event, eyes) if make else None
    if found is None:
        return None
    common = {"at": event.ts, "turn": str(event.data.get("turn_id") or ""), "erased": event.erased}
    return SessionEvent.model_validate({**common, **found})


Made = Mapping[str, Any] | None


def _message(event: StoredEvent, eyes: Eyes) -> Made:
    return {"type": "message", "by": eyes.person(event.actor), "text": event.data["text"] or event.data.get("quoted", "")}


def _finished(event: StoredEvent, eyes: Eyes) -> Made:
    """The words of an answer; a session of this API has them as they were given, with all that belongs to them."""
    del eyes
    text = event.data.get("text")
    return {"type": "reply", "text": text} if text and channel_of(session_of(event.stream)) != "http" else None


def _answered(event: StoredEvent, eyes: Eyes) -> Made:
    kind, body = str(event.data["kind"]), event.data["body"]
    if kind in _CARDS or kind not in TEXTS:
        return None
    text = plain(text_of(kind, body, eyes.tr)) if body else ""
    options = [str(choice["label"]) for choice in body.get("choices") or ()]
    return {"type": "reply", "text": text, "options": options, "turn": str(event.data["cause"])} if text or event.erased else None


def _question(event: StoredEvent, eyes: Eyes) -> Made:
    ask = event.data.get("ask") or {}
    text = eyes.tr.say(str(ask["code"]), **(ask.get("args") or {})) if ask.get("code") else ""
    return {"type": "question", "text": text, "options": [str(option.get("label") or "") for option in event.data.get("options") or ()]}


def _card(event: StoredEvent, eyes: Eyes) -> Made:
    data = event.data
    preview, tr = data.get("preview") or {}, eyes.tr
    items = preview.get("items") or ()
    card = AskedCard(
        method=data["method"],
        title=words(heading(preview, data["method"], tr)),
        rows=changes(preview),
        commands=[words(heading(item, str(item.get("method") or ""), tr)) for item in items],
        reasons=reasons(data.get("reasons") or (), tr),
        taps=data.get("taps", 1),
        expires_at=data["expires_at"],
        replaces=data.get("replaces", ""),
    )
    by = eyes.person(data["requested_by"], data.get("requested_by_name", ""))
    return {"type": "confirmation", "confirmation_id": data["confirmation_id"], "confirmation": card, "by": by, "state": "requested"}


def _decision(event: StoredEvent, eyes: Eyes) -> Made:
    data, state = event.data, _DECIDED[event.type]
    by = eyes.person(str(data.get(f"{state}_by") or ""), str(data.get(f"{state}_by_name") or ""))
    told = {"type": "decision", "confirmation_id": data["confirmation_id"], "state": state, "by": by}
    return {**told, "via": way(str(data.get("via") or "")), "text": str(data.get("reason") or ""), "code": str(data.get("why") or "")}


def _reopened(event: StoredEvent, eyes: Eyes) -> Made:
    """An approval that came to nothing, such as while writes are frozen: the card waits again."""
    del eyes
    return {"type": "decision", "confirmation_id": event.data["confirmation_id"], "state": "requested", "code": event.data["why"]}


def _not_counted(event: StoredEvent, eyes: Eyes) -> Made:
    data = event.data
    told = {"type": "decision_refused", "confirmation_id": data["confirmation_id"], "by": eyes.person(data["by"])}
    return {**told, "via": way(data["via"]), "code": data["code"]}


def _call(event: StoredEvent, eyes: Eyes) -> Made:
    del eyes
    data = event.data
    if data.get("call_class") == "R":
        return None
    told = {"type": "call", "state": _CALLS[event.type], "method": data["method"], "confirmation_id": data.get("confirmation_id") or ""}
    return {**told, "record": str(data.get("created") or ""), "code": str(data.get("code") or "")}


def _settled(event: StoredEvent, eyes: Eyes) -> Made:
    del eyes
    return {"type": "call", "state": _SETTLED[event.data["verdict"]], "confirmation_id": event.data.get("confirmation_id") or ""}


def _step(event: StoredEvent, eyes: Eyes) -> Made:
    del eyes
    return {"type": "step_refused", "method": event.data["method"], "code": event.data["code"]}


_TOLD: Final[Mapping[str, Callable[[StoredEvent, Eyes], Made]]] = {
    "MessageReceived": _message,
    "TurnFinished": _finished,
    "AnswerGiven": _answered,
    "NameAsked": _question,
    "ConfirmationRequested": _card,
    **dict.fromkeys(_DECIDED, _decision),
    "ConfirmationReopened": _reopened,
    "DecisionRefused": _not_counted,
    **dict.fromkeys(_CALLS, _call),
    "OutcomeReconciled": _settled,
    "StepRefused": _step,
}
