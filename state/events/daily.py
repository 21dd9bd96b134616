"""Events of reminders, digest and evening summary, with their folds.

A reminder's id is that of the effect that set it.
"""

from collections.abc import Callable
from typing import Any, Literal

from state.events.base import Event
from state.events.personal import Personal
from state.model.session_state import Reminder, SessionState

State = SessionState

KEEP_FIRED = 30


class ReminderSet(Event):
    effect_id: str
    due_ts: int
    text: Personal[str]
    target: str = ""


class ReminderMoved(Event):
    effect_id: str
    due_ts: int


class ReminderFired(Event):
    effect_id: str
    late: int = 0


class ReminderDropped(Event):
    effect_id: str
    by: str


class DailySent(Event):
    """Sent or tried; `day` is as `date.toordinal` numbers it."""

    what: Literal["digest", "evening"]
    day: int
    outcome: Literal["sent", "failed"] = "sent"


def list_reminders(state: State) -> dict[str, Reminder]:
    """By effect id; fired ones stand last."""
    return state.reminders or {}


def list_waiting_reminders(state: State) -> list[tuple[str, Reminder]]:
    """The earliest first."""
    waits = [(known, entry) for known, entry in list_reminders(state).items() if entry.status == "waits"]
    return sorted(waits, key=lambda item: (item[1].due_ts, item[0]))


def find_last_day(state: State, what: str) -> int:
    """As `date.toordinal` numbers days; 0 for never."""
    return int((state.daily or {}).get(what, 0))


def _fold_setting(state: State, data: dict[str, Any], ts: str) -> None:
    if not data.get("text"):  # the person was erased: the timer was removed with the text
        return
    reminder = Reminder.create(due_ts=data["due_ts"], text=data["text"], target=data.get("target", ""), status="waits", ts=ts)
    state.reminders = state.reminders if state.reminders is not None else {}
    state.reminders[data["effect_id"]] = reminder


def _fold_moving(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    known = list_reminders(state)
    entry = known.get(data["effect_id"])
    if entry is not None:
        known[data["effect_id"]] = entry.with_values(due_ts=data["due_ts"], status="waits")


def _fold_firing(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    known = list_reminders(state)
    entry = known.pop(data["effect_id"], None)
    if entry is None:
        return
    known[data["effect_id"]] = entry.with_values(status="fired")  # re-inserted at the end, as the newest of the fired ones
    fired = [key for key, item in known.items() if item.status == "fired"]
    for key in fired[: max(0, len(fired) - KEEP_FIRED)]:
        del known[key]


def _fold_dropping(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    list_reminders(state).pop(data["effect_id"], None)


def _fold_sending(state: State, data: dict[str, Any], ts: str) -> None:
    del ts
    state.daily = state.daily if state.daily is not None else {}
    state.daily[data["what"]] = data["day"]


FOLDS: dict[str, Callable[[State, dict[str, Any], str], None]] = {
    "ReminderSet": _fold_setting,
    "ReminderMoved": _fold_moving,
    "ReminderFired": _fold_firing,
    "ReminderDropped": _fold_dropping,
    "DailySent": _fold_sending,
}
