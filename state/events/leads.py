"""Events of leads (heads of sales), with their folds, and the count of each person's changes."""

from datetime import datetime, timedelta
from typing import Final

from state.clock import parse_iso
from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import AwaitedDenial, SessionState
from state.stored import JsonObject

State = SessionState

HOURS: Final = 24


class DenialReasonAsked(Event):
    confirmation_id: str
    nonce: str
    home: str
    by: str
    expires_at: str


class DenialReasonGiven(Event):
    confirmation_id: str
    by: str


class LeadsAsked(Event):
    """Asked because others are away or may not decide, or because a lead listed the cards."""

    confirmation_id: str
    told: list[str]
    told_names: Personal[list[str]]


def find_awaited_denial(state: State, person: str, now: datetime) -> AwaitedDenial | None:
    """Return the card that the person's next message explains; None after its time."""
    reason = (state.reasons or {}).get(person)
    return reason if reason is not None and now < parse_iso(reason.expires_at) else None


def add_change(state: State, data: JsonObject, ts: str) -> None:
    hour = _format_hour(parse_iso(ts))
    changes = state.written = state.written if state.written is not None else {}
    mine = changes.setdefault(data["requested_by"], {})
    mine[hour] = mine.get(hour, 0) + data.get("writes", 1)
    oldest = _format_hour(parse_iso(ts) - timedelta(hours=HOURS))
    for person, hours in list(changes.items()):
        changes[person] = {at: count for at, count in hours.items() if at >= oldest}
        if not changes[person]:
            del changes[person]


def _format_hour(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H")


def _fold_reason_question(state: State, data: JsonObject, _ts: str) -> None:
    question = DenialReasonAsked.from_data(data)
    state.reasons = state.reasons if state.reasons is not None else {}
    state.reasons[question.by] = AwaitedDenial.create(
        confirmation_id=question.confirmation_id, nonce=question.nonce, home=question.home, expires_at=question.expires_at
    )


def _fold_reason(state: State, data: JsonObject, _ts: str) -> None:
    (state.reasons or {}).pop(DenialReasonGiven.from_data(data).by, None)


def _fold_other_leads(state: State, data: JsonObject, _ts: str) -> None:
    request = LeadsAsked.from_data(data)
    entry = state.cards.get(request.confirmation_id)
    if entry is not None:
        state.cards[entry.confirmation_id] = entry.with_values(told=list(request.told), told_names=list(request.told_names))


FOLDS: dict[str, Fold] = {
    "DenialReasonAsked": _fold_reason_question,
    "DenialReasonGiven": _fold_reason,
    "LeadsAsked": _fold_other_leads,
}
