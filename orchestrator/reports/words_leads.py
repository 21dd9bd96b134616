"""The events of heads of sales as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Narrator
from state.store import StoredEvent


def _describe_reason_question(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    return f"{voice.format_person(data['by'])} wants to deny card {data['confirmation_id']} of {data['home']} with a reason"


def _describe_reason(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['by'])} wrote why card {event.data['confirmation_id']} is denied"


def _describe_other_leads(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    who = ", ".join(voice.format_person(key) for key in data["told"]) or "nobody, since none may decide"
    return f"card {data['confirmation_id']} is shown to {who} from now on"


LEADS_DESCRIPTIONS: Final[dict[str, Callable[[StoredEvent, Narrator], str]]] = {
    "DenialReasonAsked": _describe_reason_question,
    "DenialReasonGiven": _describe_reason,
    "LeadsAsked": _describe_other_leads,
}
