"""The events of the switch that freezes writes, and of budgets, as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Voice
from orchestrator.reports.reading import one_line, said
from state.store import StoredEvent

_FROM: Final = {"tg": "in Telegram", "http": "through the API", "cli": "in the terminal"}


def _frozen(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    why = f": {said(event, 'reason')}" if data.get("reason") else ""
    return f"{voice.person(data['by'], data.get('by_name', ''))} froze all writing to the portal {_from(data['via'])}{why}"


def _released(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    return f"{voice.person(data['by'], data.get('by_name', ''))} let writing to the portal start again {_from(data['via'])}"


def _from(via: object) -> str:
    return _FROM.get(str(via), one_line(via))


def _reopened(event: StoredEvent, voice: Voice) -> str:
    del voice
    card = one_line(event.data["confirmation_id"])[:10]
    return f"card {card} waits again: its approved call did not start, since writing is frozen; nothing was sent"


def _warned(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    month = f"{data['month'] // 100}-{data['month'] % 100:02d}"
    return f"{voice.person(event.actor)} was told that {data['percent']} % of the budget of {month} is used"


WORDS: Final[dict[str, Callable[[StoredEvent, Voice], str]]] = {
    "WritesFrozen": _frozen,
    "WritesReleased": _released,
    "ConfirmationReopened": _reopened,
    "BudgetWarned": _warned,
}
