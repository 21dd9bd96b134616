"""Events of edits, stops and answers for HTTP callers, with their folds."""

from typing import Any

from state.events.base import Event, Fold
from state.events.personal import Personal
from state.model.session_state import SessionState
from state.stored import JsonObject

State = SessionState


class MessageEdited(Event):
    """`ref` is the messenger's number."""

    ref: int
    text: Personal[str]
    by: str


class StopAsked(Event):
    """Of requests sent up to `at` (milliseconds since 1970); with `turn_id` only that turn."""

    by: str
    at: int
    turn_id: str = ""


class RequestDropped(Event):
    """`request` is {kind, body}, so that it can be repeated."""

    by: str
    at: int
    request: Personal[dict[str, Any]]


def find_stop_time(state: State, person: str) -> int:
    """In milliseconds since 1970, 0 for never."""
    return int((state.stops or {}).get(person, 0))


def _fold_stop(state: State, data: JsonObject, _ts: str) -> None:
    stop, turn = StopAsked.from_data(data), state.turn
    if not stop.turn_id:
        state.stops = state.stops if state.stops is not None else {}
        state.stops[stop.by] = stop.at
        if state.paused:
            state.paused = {
                key: one.with_values(stopped=True) if one.asker.get("key") == stop.by else one for key, one in state.paused.items()
            }
    elif turn and turn.turn_id == stop.turn_id:
        state.turn = turn.with_values(stopped=True)


FOLDS: dict[str, Fold] = {"StopAsked": _fold_stop}


class AnswerGiven(Event):
    """For an HTTP caller to fetch: no channel delivers to its session."""

    cause: str
    kind: str
    outbox_key: str = ""
    """A later answer with the same key replaces it."""
    body: Personal[dict[str, Any]]
