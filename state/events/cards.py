"""Events of editing: a person changes values of a confirmation card in the chat. Includes the folds that apply them to the state.

The state holds only the open question: which field of which card was asked for, and who may answer. The new value is in the new card.
"""

from collections.abc import Callable
from typing import Any, Literal

from state.events.base import Event
from state.events.personal import Personal
from state.model.session_state import CardEdit, SessionState

State = SessionState

KEEP_EDITS = 20


class EditAsked(Event):
    """The bot asked a person a question about a card that they edit.

    It asks for the new value of the field `code`, or, if `code` is "", which field to change. `ask` numbers the questions about one card.
    """

    confirmation_id: str
    code: str = ""
    by: str
    ask: int
    options: Personal[list[dict[str, Any]]]
    """The meanings to choose from if the answer was ambiguous: {value, label, target}."""


class EditClosed(Event):
    """The edit ended: a new card replaced the old one, the person cancelled it, or the card was decided in the meantime."""

    confirmation_id: str
    how: Literal["replaced", "cancelled", "late"]


def list_edits(state: State) -> dict[str, CardEdit]:
    """Return the open edit questions of a session by confirmation id (the id of the edited card); empty if there are none."""
    return state.edits or {}


def build_question_key(confirmation_id: str, ask: int) -> str:
    """Return the outbox key of the message with question number `ask` about a card; the person answers by a reply to that message."""
    return f"edit:{confirmation_id}:{ask}"


def _fold_question(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    edits = state.edits = state.edits if state.edits is not None else {}
    edits.pop(data["confirmation_id"], None)  # asked again: young again
    edits[data["confirmation_id"]] = CardEdit.create(**{key: data[key] for key in ("code", "by", "ask", "options")})
    while len(edits) > KEEP_EDITS:
        del edits[next(iter(edits))]


def _fold_closing(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    list_edits(state).pop(data["confirmation_id"], None)


FOLDS: dict[str, Callable[[State, dict[str, Any], str], None]] = {"EditAsked": _fold_question, "EditClosed": _fold_closing}
