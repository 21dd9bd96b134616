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


def _others(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    who = ", ".join(voice.person(key) for key in data["told"]) or "nobody, since none may decide"
    return f"card {data['confirmation_id']} is shown to {who} from now on"


WORDS: Final[dict[str, Callable[[StoredEvent, Voice], str]]] = {
    "DenialReasonAsked": _asked,
    "DenialReasonGiven": _given,
    "LeadsAsked": _others,
}
