"""Events of leads (heads of sales): a denial with a reason, and a card shown to further leads. Includes their folds.

A fold applies an event to the state. The module also counts the changes of the portal that each person starts, because the policy limits
them. Other events of cards are in `state/events/confirmations.py`.
"""

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
    """A lead wants to deny a card and was asked for the reason: their next message until `expires_at` is the reason.

    The event is in the session of the lead's chat.
    """

    confirmation_id: str
    nonce: str
    home: str
    """The session that the card belongs to."""
    by: str
    expires_at: str


class DenialReasonGiven(Event):
    """A lead sent the reason for a denial; it was passed on to the session that the card belongs to."""

    confirmation_id: str
    by: str


class LeadsAsked(Event):
    """A card was shown to further leads.

    Either the leads asked before are away or may no longer decide, or a lead requested the list of waiting cards.
    """

    confirmation_id: str
    told: list[str]
    """The private chats of all leads who are asked from now on."""
    told_names: Personal[list[str]]


def find_awaited_denial(state: State, person: str, now: datetime) -> AwaitedDenial | None:
    """Return the card for which the next message of `person` is the reason of a denial; None if there is none or its time is over."""
    reason = (state.reasons or {}).get(person)
    return reason if reason is not None and now < parse_iso(reason.expires_at) else None


def add_change(state: State, data: JsonObject, ts: str) -> None:
    """Add a started call to the count of portal changes of the person who requested it; a batch counts as several.

    `data` and `ts` are those of the CallStarted event.
    """
    hour = _format_hour(parse_iso(ts))
    written = state.written = state.written if state.written is not None else {}
    mine = written.setdefault(data["requested_by"], {})
    mine[hour] = mine.get(hour, 0) + data.get("writes", 1)
    oldest = _format_hour(parse_iso(ts) - timedelta(hours=HOURS))
    for person, hours in list(written.items()):
        written[person] = {at: count for at, count in hours.items() if at >= oldest}
        if not written[person]:
            del written[person]


def _format_hour(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H")


def _fold_reason_question(state: State, data: JsonObject, _ts: str) -> None:
    asked = DenialReasonAsked.from_data(data)
    state.reasons = state.reasons if state.reasons is not None else {}
    state.reasons[asked.by] = AwaitedDenial.create(
        confirmation_id=asked.confirmation_id, nonce=asked.nonce, home=asked.home, expires_at=asked.expires_at
    )


def _fold_reason(state: State, data: JsonObject, _ts: str) -> None:
    (state.reasons or {}).pop(DenialReasonGiven.from_data(data).by, None)


def _fold_other_leads(state: State, data: JsonObject, _ts: str) -> None:
    asked = LeadsAsked.from_data(data)
    entry = state.cards.get(asked.confirmation_id)
    if entry is not None:
        state.cards[entry.confirmation_id] = entry.with_values(told=list(asked.told), told_names=list(asked.told_names))


FOLDS: dict[str, Fold] = {
    "DenialReasonAsked": _fold_reason_question,
    "DenialReasonGiven": _fold_reason,
    "LeadsAsked": _fold_other_leads,
}
