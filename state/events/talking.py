"""Journal events of messages that are not requests (edits, stops) and of answers that the caller fetches, with their fold."""

from typing import Any

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.session_state import SessionState
from state.stored import JsonObject

State = SessionState


class MessageEdited(Event):
    """A person edited a message after it was accepted; `ref` is the messenger's number of the message."""

    ref: int
    text: Personal[str]
    by: str


class StopAsked(Event):
    """A person stopped all their requests up to `at` (milliseconds since 1970) that had not begun.

    With a `turn_id` the stop is about that running turn alone.
    """

    by: str
    at: int
    turn_id: str = ""


class RequestDropped(Event):
    """A stopped request was not begun; `request` is {kind, body}, so that the person can repeat it. `at` is the time of the stop."""

    by: str
    at: int
    request: Personal[dict[str, Any]]


def find_stop_time(state: State, person: str) -> int:
    """Return the time up to which requests of `person` in this session are stopped (milliseconds since 1970), 0 if never."""
    return int((state.stops or {}).get(person, 0))


def _fold_stop(state: State, data: JsonObject, _ts: str) -> None:
    asked, turn = StopAsked.from_data(data), state.turn
    if not asked.turn_id:
        state.stops = state.stops if state.stops is not None else {}
        state.stops[asked.by] = asked.at
    elif turn and turn.turn_id == asked.turn_id:
        state.turn = turn.with_values(stopped=True)


FOLDS: dict[str, Fold] = {"StopAsked": _fold_stop}


class AnswerGiven(Event):
    """An outbox message for a session that no channel delivers to: it is stored here for the HTTP caller, who fetches it."""

    cause: str
    """The id of the input that it answers."""
    kind: str
    outbox_key: str = ""
    """A later answer with the same key replaces the earlier one."""
    body: Personal[dict[str, Any]]
