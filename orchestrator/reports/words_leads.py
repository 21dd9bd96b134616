"""The events of heads of sales as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Voice
from state.store import StoredEvent


def _asked(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    return f"{voice.person(data['by'])} wants to deny card {data['confirmation_id']} of {data['home']} with a reason"


def _given(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['by'])} wrote why card {event.data['confirmation_id']} is denied"


WORDS: Final[dict[str, Callable[[StoredEvent, Voice], str]]] = {"DenialReasonAsked": _asked, "DenialReasonGiven": _given}
