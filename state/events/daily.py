"""What the journal holds of daily help: reminders, and which day's digest went out. With their place in the fold. Ring 1.

A reminder is known by the effect that set it; its moment is kept as seconds since 1970, so that nothing personal stands in the clear.
"""

from collections.abc import Callable
from typing import Any, Literal

from state.events.core import Event
from state.events.personal import Personal

State = dict[str, Any]

KEEP_FIRED = 30
"""Reminders that have come stay this long for their buttons."""


class ReminderSet(Event):
    """A person asked to be reminded; `target` is the record it leads to ("deal:481")."""

    effect_id: str
    due_ts: int
    text: Personal[str]
    target: str = ""


class ReminderMoved(Event):
    """Put off to another moment."""

    effect_id: str
    due_ts: int


class ReminderFired(Event):
    """It was put into the outbox; `late` is how many seconds after its moment."""

    effect_id: str
    late: int = 0


class ReminderDropped(Event):
    """The person does not want it any more."""

    effect_id: str
    by: str


class DailySent(Event):
    """The digest or the summary of a day went out, or was given up; `day` is the date's ordinal in the person's zone."""

    what: Literal["digest", "evening"]
    day: int
    outcome: Literal["sent", "failed"] = "sent"


def list_reminders(state: State) -> dict[str, dict[str, Any]]:
    """The reminders of a session by id, in the order in which they were set."""
    found: dict[str, dict[str, Any]] = state.get("reminders", {})
    return found


def find_last_day(state: State, what: str) -> int:
    """The day that was last sent, 0 where none was."""
    return int(state.get("daily", {}).get(what, 0))


def _fold_setting(state: State, data: dict[str, Any], ts: str) -> None:
    if not data.get("text"):  # erased: its timer went with its words
        return
    kept = {"due_ts": data["due_ts"], "text": data.get("text", ""), "target": data.get("target", ""), "status": "waits", "ts": ts}
    state.setdefault("reminders", {})[data["effect_id"]] = kept


def _fold_moving(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    entry = list_reminders(state).get(data["effect_id"])
    if entry is not None:
        entry.update(due_ts=data["due_ts"], status="waits")


def _fold_firing(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    known = list_reminders(state)
    entry = known.pop(data["effect_id"], None)
    if entry is None:
        return
    known[data["effect_id"]] = entry | {"status": "fired"}  # the youngest of those that have come
    fired = [key for key, item in known.items() if item["status"] == "fired"]
    for key in fired[: max(0, len(fired) - KEEP_FIRED)]:
        del known[key]


def _fold_dropping(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    list_reminders(state).pop(data["effect_id"], None)


def _fold_sending(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.setdefault("daily", {})[data["what"]] = data["day"]


FOLDS: dict[str, Callable[[State, dict[str, Any], str], None]] = {
    "ReminderSet": _fold_setting,
    "ReminderMoved": _fold_moving,
    "ReminderFired": _fold_firing,
    "ReminderDropped": _fold_dropping,
    "DailySent": _fold_sending,
}
