"""Events of messages that make no request (edits and stops) and of answers for HTTP callers, and the folds that apply them to the state."""

from typing import Any

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import SessionState
from state.stored import JsonObject

State = SessionState


class MessageEdited(Event):
    """A person edited a message after the bot had accepted it; `ref` is the messenger's number of the message."""

    ref: int
    text: Personal[str]
    by: str


class StopAsked(Event):
    """A person stopped all their requests that were sent up to `at` (milliseconds since 1970) and had not begun, or wait for cards.

    If `turn_id` is set, only that running turn is stopped.
    """

    by: str
    at: int
    turn_id: str = ""


class RequestDropped(Event):
    """A request was not handled because the person had stopped it; `at` is the time of the stop.

    `request` is the input as {kind, body}, so that the person can repeat it.
    """

    by: str
    at: int
    request: Personal[dict[str, Any]]


def find_stop_time(state: State, person: str) -> int:
    """Return the time of the last stop of `person` in this session, in milliseconds since 1970; 0 if never.

    Requests that were sent up to this time are stopped.
    """
    return int((state.stops or {}).get(person, 0))


def _fold_stop(state: State, data: JsonObject, _ts: str) -> None:
    asked, turn = StopAsked.from_data(data), state.turn
    if not asked.turn_id:
        state.stops = state.stops if state.stops is not None else {}
        state.stops[asked.by] = asked.at
        if state.paused:
            state.paused = {
                key: one.with_values(stopped=True) if one.asker.get("key") == asked.by else one for key, one in state.paused.items()
            }
    elif turn and turn.turn_id == asked.turn_id:
        state.turn = turn.with_values(stopped=True)


FOLDS: dict[str, Fold] = {"StopAsked": _fold_stop}


class AnswerGiven(Event):
    """An answer for an HTTP caller was stored for the caller to fetch, because no channel delivers messages to the caller's session."""

    cause: str
    """The id of the input that it answers."""
    kind: str
    outbox_key: str = ""
    """A later answer with the same key replaces the earlier one."""
    body: Personal[dict[str, Any]]
