"""The events of the switch that freezes writes, and of budgets, as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Narrator
from orchestrator.reports.reading import format_text, to_one_line
from state.store import StoredEvent

_CHANNELS: Final = {"tg": "in Telegram", "http": "through the API", "cli": "in the terminal"}


def _describe_freeze(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    why = f": {format_text(event, 'reason')}" if data.get("reason") else ""
    return f"{voice.format_person(data['by'], data.get('by_name', ''))} froze all writing to the portal {_format_channel(data['via'])}{why}"


def _describe_release(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    return (
        f"{voice.format_person(data['by'], data.get('by_name', ''))} let writing to the portal start again {_format_channel(data['via'])}"
    )


def _format_channel(via: object) -> str:
    return _CHANNELS.get(str(via), to_one_line(via))


def _describe_reopening(event: StoredEvent, voice: Narrator) -> str:
    del voice
    card = to_one_line(event.data["confirmation_id"])[:10]
    return f"card {card} waits again: its approved call did not start, since writing is frozen; nothing was sent"


def _describe_budget_warning(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    month = f"{data['month'] // 100}-{data['month'] % 100:02d}"
    return f"{voice.format_person(event.actor)} was told that {data['percent']} % of the budget of {month} is used"


FREEZING_DESCRIPTIONS: Final[dict[str, Callable[[StoredEvent, Narrator], str]]] = {
    "WritesFrozen": _describe_freeze,
    "WritesReleased": _describe_release,
    "ConfirmationReopened": _describe_reopening,
    "BudgetWarned": _describe_budget_warning,
}
