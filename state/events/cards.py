"""What the journal holds of cards whose values are being changed by a person, with its place in the fold. Ring 1.

Only what a question of ours needs is kept: which field of which card, who may answer. The new value itself stands in the new card.
"""

from collections.abc import Callable
from typing import Any, Literal

from state.events.core import Event
from state.events.personal import Personal

State = dict[str, Any]

KEEP_EDITS = 20


class EditAsked(Event):
    """A person was asked which field of a card to change (`code` is ""), or for its new value; `ask` counts the questions of a card."""

    confirmation_id: str
    code: str = ""
    by: str
    ask: int
    options: Personal[list[dict[str, Any]]]
    """The meanings to choose from where the answer had several: {value, label, target}."""


class EditClosed(Event):
    """A new card took the place of the old one, the person left everything as it was, or somebody decided meanwhile."""

    confirmation_id: str
    how: Literal["replaced", "cancelled", "late"]


def list_edits(state: State) -> dict[str, dict[str, Any]]:
    """The open questions of a session by card: {code, by, ask, options}."""
    found: dict[str, dict[str, Any]] = state.get("edits", {})
    return found


def build_question_key(confirmation_id: str, ask: int) -> str:
    """The key of the message that asks; an answer is a reply to it."""
    return f"edit:{confirmation_id}:{ask}"


def _fold_question(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    edits = state.setdefault("edits", {})
    edits.pop(data["confirmation_id"], None)  # asked again: young again
    edits[data["confirmation_id"]] = {key: data[key] for key in ("code", "by", "ask", "options")}
    while len(edits) > KEEP_EDITS:
        del edits[next(iter(edits))]


def _fold_closing(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    list_edits(state).pop(data["confirmation_id"], None)


FOLDS: dict[str, Callable[[State, dict[str, Any], str], None]] = {"EditAsked": _fold_question, "EditClosed": _fold_closing}
