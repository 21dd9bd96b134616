"""Events of freezing writes, in stream `freeze`; `state.journal.freeze_switch` decides, not a state."""

from typing import Final

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import SessionState
from state.stored import JsonObject

State = SessionState


class WritesFrozen(Event):
    by: str
    by_name: Personal[str] = ""
    reason: Personal[str] = ""
    via: str


class WritesReleased(Event):
    """`frozen_seq` is that of WritesFrozen."""

    by: str
    by_name: Personal[str] = ""
    via: str
    frozen_seq: int


class ConfirmationReopened(Event):
    """An approved call could not start while writes were frozen; its card waits again."""

    confirmation_id: str
    effect_id: str
    why: str
    nonce: str = ""
    """Who approves must have seen that the card waits again."""


def _fold_reopening(state: State, data: JsonObject, _ts: str) -> None:
    reopened = ConfirmationReopened.from_data(data)
    entry = state.cards.get(reopened.confirmation_id)
    if entry is None:
        return
    nonce = {"nonce": reopened.nonce} if reopened.nonce else {}
    open_again = entry.without("approved_by", "approved_by_name", "approved_at", "via").with_values(status="requested", **nonce)
    state.cards[entry.confirmation_id] = open_again


FOLDS: Final[dict[str, Fold]] = {"ConfirmationReopened": _fold_reopening}
