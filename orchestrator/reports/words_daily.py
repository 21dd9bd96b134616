"""The events of daily help as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Final

from orchestrator.reports.people import Narrator
from orchestrator.reports.reading import format_text
from state.store import StoredEvent


def _describe_reminder_set(event: StoredEvent, voice: Narrator) -> str:
    words = format_text(event, "text", limit=80)
    return f"{voice.format_person(event.actor)} is to be reminded at {_format_due(event)}: {words}"


def _describe_reminder_moved(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"the reminder is put off to {_format_due(event)}"


def _describe_reminder_sent(event: StoredEvent, voice: Narrator) -> str:
    del voice
    late = event.data["late"]
    return f"reminded, {late} seconds late" if late else "reminded"


def _describe_reminder_dropped(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['by'])} dropped the reminder"


def _describe_daily_message(event: StoredEvent, voice: Narrator) -> str:
    del voice
    what = "morning digest" if event.data["what"] == "digest" else "evening summary"
    day = date.fromordinal(event.data["day"]).isoformat()
    return f"the {what} of {day} was sent" if event.data["outcome"] == "sent" else f"the {what} of {day} was given up"


def _format_due(event: StoredEvent) -> str:
    return datetime.fromtimestamp(event.data["due_ts"], UTC).strftime("%Y-%m-%d %H:%MZ")


DAILY_DESCRIPTIONS: Final[dict[str, Callable[[StoredEvent, Narrator], str]]] = {
    "ReminderSet": _describe_reminder_set,
    "ReminderMoved": _describe_reminder_moved,
    "ReminderFired": _describe_reminder_sent,
    "ReminderDropped": _describe_reminder_dropped,
    "DailySent": _describe_daily_message,
}
