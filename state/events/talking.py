"""What the journal holds of talking that is no request by itself, with its place in the fold. Ring 1.

What the journal holds of answers that their reader fetches. Ring 1.
"""

from collections.abc import Callable
from typing import Any

from state.events.core import Event
from state.events.personal import Personal

State = dict[str, Any]


class MessageEdited(Event):
    """A person changed the words of a message after it was taken; `ref` is the messenger's number of it."""

    ref: int
    text: Personal[str]
    by: str


class StopAsked(Event):
    """A person wants nothing more of what they asked for up to `at` (milliseconds since 1970) and what was not begun.

    With a `turn_id` it is about that turn alone, which was under way.
    """

    by: str
    at: int
    turn_id: str = ""


class RequestDropped(Event):
    """Such a request was not begun; {kind, body}, so that it can be asked for again. `at` is that of the stop."""

    by: str
    at: int
    request: Personal[dict[str, Any]]


def find_stop_time(state: State, person: str) -> int:
    """Until when the person's requests here are not wanted any more, 0 where they never stopped anything."""
    return int(state.get("stops", {}).get(person, 0))


def _fold_stop(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    turn = state.get("turn")
    if not data.get("turn_id"):
        state.setdefault("stops", {})[data["by"]] = data["at"]
    elif turn and turn["turn_id"] == data["turn_id"]:
        turn["stopped"] = True


FOLDS: dict[str, Callable[[State, dict[str, Any], str], None]] = {"StopAsked": _fold_stop}


class AnswerGiven(Event):
    """A session that nothing is delivered to was told something: a row of the outbox, kept here for whoever asks for it."""

    cause: str
    """The input that it answers."""
    kind: str
    outbox_key: str = ""
    """A later answer with the same key takes the place of the earlier one."""
    body: Personal[dict[str, Any]]
