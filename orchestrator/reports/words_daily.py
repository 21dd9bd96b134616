"""The events of daily help as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Final

from orchestrator.reports.people import Voice
from orchestrator.reports.reading import said
from state.store import StoredEvent


def _set(event: StoredEvent, voice: Voice) -> str:
    words = said(event, "text", limit=80)
    return f"{voice.person(event.actor)} is to be reminded at {_moment(event)}: {words}"


def _moved(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"the reminder is put off to {_moment(event)}"


def _fired(event: StoredEvent, voice: Voice) -> str:
    del voice
    late = event.data["late"]
    return f"reminded, {late} seconds late" if late else "reminded"


def _dropped(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['by'])} dropped the reminder"


def _sent(event: StoredEvent, voice: Voice) -> str:
    del voice
    what = "morning digest" if event.data["what"] == "digest" else "evening summary"
    day = date.fromordinal(event.data["day"]).isoformat()
    return f"the {what} of {day} was sent" if event.data["outcome"] == "sent" else f"the {what} of {day} was given up"


def _moment(event: StoredEvent) -> str:
    return datetime.fromtimestamp(event.data["due_ts"], UTC).strftime("%Y-%m-%d %H:%MZ")


WORDS: Final[dict[str, Callable[[StoredEvent, Voice], str]]] = {
    "ReminderSet": _set,
    "ReminderMoved": _moved,
    "ReminderFired": _fired,
    "ReminderDropped": _dropped,
    "DailySent": _sent,
}
