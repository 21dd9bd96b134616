"""The events of cards whose values people change, as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Voice
from state.store import StoredEvent

_HOW = {"replaced": "a new card took its place", "cancelled": "all stays as it was", "late": "somebody had decided meanwhile"}


def _asked(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    what = f"a new value of {data['code']}" if data["code"] else "which value to change"
    return f"{voice.person(data['by'])} was asked for {what} on card {data['confirmation_id']}"


def _closed(event: StoredEvent, voice: Voice) -> str:
    del voice
    return f"the change of card {event.data['confirmation_id']} ended: {_HOW[event.data['how']]}"


WORDS: Final[dict[str, Callable[[StoredEvent, Voice], str]]] = {"EditAsked": _asked, "EditClosed": _closed}
