"""Events of the switch that freezes (stops) all writes, and of approved cards that wait again because writes are frozen.

WritesFrozen and WritesReleased are in the stream (record of events) of session `freeze` and change no session's state: a separately stored
value decides whether writes are frozen (`state.journal.freeze_switch`). ConfirmationReopened is in the stream of its card's session.
"""

from typing import Final

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import SessionState
from state.stored import JsonObject

State = SessionState


class WritesFrozen(Event):
    """Somebody froze all writes: from now on no call that changes anything outside may start."""

    by: str
    by_name: Personal[str] = ""
    reason: Personal[str] = ""
    via: str


class WritesReleased(Event):
    """Somebody ended a freeze: calls may start again. `frozen_seq` is the number (seq) of the WritesFrozen event of that freeze."""

    by: str
    by_name: Personal[str] = ""
    via: str
    frozen_seq: int


class ConfirmationReopened(Event):
    """An approved call could not start because writes were frozen, so its card waits for a decision again."""

    confirmation_id: str
    effect_id: str
    why: str
    nonce: str = ""
    """Replaces the used nonce: an approval must come from somebody who saw that the card waits again."""


def _fold_reopening(state: State, data: JsonObject, _ts: str) -> None:
    reopened = ConfirmationReopened.from_data(data)
    entry = state.cards.get(reopened.confirmation_id)
    if entry is None:
        return
    nonce = {"nonce": reopened.nonce} if reopened.nonce else {}
    open_again = entry.without("approved_by", "approved_by_name", "approved_at", "via").with_values(status="requested", **nonce)
    state.cards[entry.confirmation_id] = open_again


FOLDS: Final[dict[str, Fold]] = {"ConfirmationReopened": _fold_reopening}
