from typing import Any, ClassVar, Final

from pydantic import Field

from state.events.base import DEFAULT_ENGINE, Event, Fold, forget_planned, keep_last, pick_values
from state.events.conversation import trim_history
from state.events.personal import Personal
from state.model.card import OPEN_STATUSES, Card, CardStatus
from state.model.session_state import Denial, HistoryLine, SessionState

State = SessionState

KEEP_DECIDED = 50
_OF_DECISION = ("approved_by", "approved_by_name", "denied_by", "denied_by_name", "via", "reason", "why", "by")


class ConfirmationRequested(Event):
    """One exact call waits for one decision."""

    confirmation_id: str
    effect_id: str
    turn_id: str
    slot: str
    nonce: str
    fingerprint: str
    essence: str
    method: str
    call_class: str
    params: Personal[dict[str, Any]]
    before: Personal[dict[str, Any]] = Field(default_factory=dict)
    preview: Personal[dict[str, Any]] = Field(default_factory=dict)
    reasons: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    comment: Personal[str] = ""
    proposed_by: str = DEFAULT_ENGINE
    requested_by: str
    requested_by_name: Personal[str] = ""
    requested_at: str
    expires_at: str
    taps: int = 1
    four_eyes: bool = False
    lead: bool = False
    told: list[str] = Field(default_factory=list)
    told_names: Personal[list[str]] = Field(default_factory=list)
    requested_by_user: int | None = None
    """Nobody approves their own request through another account."""
    policy: str = ""
    replaces: str = ""
    provenance: Personal[dict[str, Any]] = Field(default_factory=dict)
    later: ClassVar[frozenset[str]] = frozenset({"next_steps", "covers"})
    next_steps: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    covers: Personal[list[dict[str, Any]]] = Field(default_factory=list)
    """The following steps that the approval covers: {slot, method, params, made}."""


class CardOpened(Event):
    """The person may approve it from now on."""

    confirmation_id: str
    by: str


class ConfirmationApproved(Event):
    """Valid for exactly this call and a single use."""

    confirmation_id: str
    effect_id: str
    approved_by: str
    approved_by_name: Personal[str] = ""
    approved_at: str
    via: str


class ConfirmationDenied(Event):
    """The model may deny a call but never approve one."""

    confirmation_id: str
    effect_id: str
    essence: str
    denied_by: str
    denied_by_name: Personal[str] = ""
    denied_at: str
    via: str
    reason: Personal[str] = ""
    turn_id: str = ""
    method: str = ""
    params: Personal[dict[str, Any]] = Field(default_factory=dict)
    later: ClassVar[frozenset[str]] = frozenset({"slot"})
    slot: str = ""
    """Of a step that the model withdrew."""


class ConfirmationExpired(Event):
    confirmation_id: str
    effect_id: str
    expired_at: str


class ConfirmationSuperseded(Event):
    """It no longer matched the portal or the request; `by` replaced it."""

    confirmation_id: str
    effect_id: str
    why: str
    by: str = ""


class DecisionRefused(Event):
    """Through the HTTP API; `turn_id` is the decision's inbox row."""

    confirmation_id: str
    effect_id: str = ""
    by: str
    approve: bool
    via: str
    code: str
    turn_id: str


def _fold_request(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    call_fields = ("effect_id", "method", "params", "fingerprint", "essence", "call_class", "comment", "requested_by", "requested_by_name")
    more = ("requested_at", "expires_at", "nonce", "taps", "four_eyes", "turn_id", "slot", "preview", "reasons", "before", "provenance")
    by_lead = ("lead", "told", "told_names", "requested_by_user", "next_steps", "covers")
    values = {key: data[key] for key in (*call_fields, *more) if key in data} | {key: data[key] for key in by_lead if data.get(key)}
    number = data["confirmation_id"]
    state.agent.confirmations[number] = Card.from_stored({**values, "confirmation_id": number, "status": "requested"})
    _explain_replaced(state, data)


def _explain_replaced(state: State, data: dict[str, Any]) -> None:
    old = state.agent.confirmations.get(data.get("replaces") or "")
    args = data["reasons"][0].get("args") if old is not None and data.get("reasons") else None
    if old is not None and args and "changes" in args:
        state.agent.confirmations[old.confirmation_id] = old.with_values(args=args)


def _fold_opening(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    card = state.agent.confirmations.get(data["confirmation_id"])
    if card is not None and data["by"] not in card.opened:
        state.agent.confirmations[card.confirmation_id] = card.with_values(opened=[*card.opened, data["by"]])


def _build_decision_fold(status: CardStatus) -> Fold:
    def apply(state: State, data: dict[str, Any], ts: str) -> None:
        entries = state.agent.confirmations
        entry = entries.pop(data["confirmation_id"], None) or _strip_values(data)
        entry = entry.with_values(status=status, **{f"{status}_at": data.get(f"{status}_at", ts)}, **pick_values(data, _OF_DECISION))
        entries[data["confirmation_id"]] = entry  # in the order of the decisions
        if status == "denied":
            state.denied.pop(data["essence"], None)  # denied again: young again
            state.denied[data["essence"]] = Denial.create(
                at=data["denied_at"], by=data["denied_by_name"] or data["denied_by"], turn_id=data.get("turn_id", "")
            )
            keep_last(state.denied, KEEP_DECIDED)
            _remember_reason(state, data, ts)
        if status != "approved":
            forget_planned(state, entry)
        if data.get("slot"):  # the model withdrew the step of this slot
            forget_planned(state, entry.with_values(slot=data["slot"]))
        _trim_decided(entries)

    return apply


def _remember_reason(state: State, data: dict[str, Any], ts: str) -> None:
    if data.get("reason") and data.get("via") != "model":
        line = f"({data['method'] or 'a call'} was denied by {data['denied_by_name'] or 'a person'}, who said: «{data['reason']}»)"
        state.history.append(HistoryLine.create(role="assistant", text=line, ts=ts))
        trim_history(state)


def _strip_values(data: dict[str, Any]) -> Card:
    return Card.from_stored({key: data[key] for key in ("confirmation_id", "effect_id", "method", "params", "essence") if key in data})


def _trim_decided(entries: dict[str, Card]) -> None:
    """Keep KEEP_DECIDED finished cards; open ones and their plans always stay."""
    plans = {item.slot.rpartition("/")[0] for item in entries.values() if item.status in OPEN_STATUSES} - {""}
    settled = [key for key, item in entries.items() if item.status not in OPEN_STATUSES and item.slot.rpartition("/")[0] not in plans]
    for key in settled[: max(0, len(settled) - KEEP_DECIDED)]:
        del entries[key]


FOLDS: Final[dict[str, Fold]] = {
    "ConfirmationRequested": _fold_request,
    "CardOpened": _fold_opening,
    "ConfirmationApproved": _build_decision_fold("approved"),
    "ConfirmationDenied": _build_decision_fold("denied"),
    "ConfirmationExpired": _build_decision_fold("expired"),
    "ConfirmationSuperseded": _build_decision_fold("superseded"),
}
