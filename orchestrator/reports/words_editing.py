"""The events of cards whose values people change, as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Narrator
from state.store import StoredEvent

_EDIT_ENDS = {"replaced": "a new card took its place", "cancelled": "all stays as it was", "late": "somebody had decided meanwhile"}


def _describe_edit_question(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    what = f"a new value of {data['code']}" if data["code"] else "which value to change"
    return f"{voice.format_person(data['by'])} was asked for {what} on card {data['confirmation_id']}"


def _describe_edit_end(event: StoredEvent, voice: Narrator) -> str:
    del voice
    return f"the change of card {event.data['confirmation_id']} ended: {_EDIT_ENDS[event.data['how']]}"


EDITING_DESCRIPTIONS: Final[dict[str, Callable[[StoredEvent, Narrator], str]]] = {
    "EditAsked": _describe_edit_question,
    "EditClosed": _describe_edit_end,
}
