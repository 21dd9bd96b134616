"""What the journal holds of the switch that freezes writes, and of cards that wait again because of it. Ring 1.

The first two stand in the stream of session `freeze`, where nothing is folded: what counts is the value that lies beside them
(`state.journal.freeze_switch`). The third stands in the stream of its card.
"""

from collections.abc import Callable
from typing import Any, Final

from state.events.core import Event
from state.events.personal import Personal

State = dict[str, Any]


class WritesFrozen(Event):
    """From here on no call starts that changes anything outside."""

    by: str
    by_name: Personal[str] = ""
    reason: Personal[str] = ""
    via: str


class WritesReleased(Event):
    """Calls may start again; what was frozen since the event `frozen_seq` of this stream is so no more."""

    by: str
    by_name: Personal[str] = ""
    via: str
    frozen_seq: int


class ConfirmationReopened(Event):
    """An approved call could not start; its card waits for a decision as if nobody had pressed."""

    confirmation_id: str
    effect_id: str
    why: str
    nonce: str = ""
    """Takes the place of the one that was used up: whoever approves must have seen that the card waits again."""


def _fold_reopening(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    entry = state["agent"]["confirmations"].get(data["confirmation_id"])
    if entry is None:
        return
    entry["status"] = "requested"
    if data.get("nonce"):
        entry["nonce"] = data["nonce"]
    for name in ("approved_by", "approved_by_name", "approved_at", "via"):
        entry.pop(name, None)


FOLDS: Final[dict[str, Callable[[State, dict[str, Any], str], None]]] = {"ConfirmationReopened": _fold_reopening}
