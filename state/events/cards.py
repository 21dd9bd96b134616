"""Events of editing a card in the chat, with their folds."""

from collections.abc import Callable
from typing import Any, Literal

from state.events.base import Event
from state.events.personal import Personal
from state.model.session_state import CardEdit, SessionState

State = SessionState

KEEP_EDITS = 20


class EditAsked(Event):
    """Asks for the value of field `code`; "" asks which field."""

    confirmation_id: str
    code: str = ""
    by: str
    ask: int
    options: Personal[list[dict[str, Any]]]


class EditClosed(Event):
    """Replaced by a new card, cancelled by the person, or the card was decided."""

    confirmation_id: str
    how: Literal["replaced", "cancelled", "late"]


def list_edits(state: State) -> dict[str, CardEdit]:
    return state.edits or {}


def build_question_key(confirmation_id: str, ask: int) -> str:
    """Return the outbox key of question number `ask`."""
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
