"""Journal events of the switch that stops all writes, and of cards that wait again because of it.

The first two are in the stream of session `freeze` and have no fold: whether writes are frozen is decided by a value that is stored with
them (`state.journal.freeze_switch`). The third is in the stream of its card.
"""

from typing import Final

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.session_state import SessionState
from state.stored import JsonObject

State = SessionState


class WritesFrozen(Event):
    """Writes were frozen: no call that changes anything outside may start."""

    by: str
    by_name: Personal[str] = ""
    reason: Personal[str] = ""
    via: str


class WritesReleased(Event):
    """Writes were released: calls may start again. `frozen_seq` is the seq of the WritesFrozen event that this one ends."""

    by: str
    by_name: Personal[str] = ""
    via: str
    frozen_seq: int


class ConfirmationReopened(Event):
    """An approved call could not start; its card waits for a decision again."""

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
