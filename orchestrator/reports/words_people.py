"""The events of the registry of people as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Voice
from orchestrator.reports.reading import said
from state.people_fold import invitation_key
from state.store import StoredEvent


def _invited(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    whom = f"employee {data['bitrix_user_id']}, role {data['role']}, until {data['expires_at']}"
    return f"{voice.person(data['by'])} made a link ({invitation_key(data['fingerprint'])}) for {whom}"


def _refused(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['person'])} brought a link that is of no use: {event.data['why']}"


def _asked(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['person'], event.data['name'], gone=event.erased)} asked for access"


def _joined(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    how = f"by link {invitation_key(data['fingerprint'])} of" if data["fingerprint"] else "let in by"
    who = voice.person(data["person"], data["name"], gone=event.erased)
    return f"{who} joined as {data['role']}, employee {data['bitrix_user_id']}, {how} {voice.person(data['by'])}"


def _dismissed(event: StoredEvent, voice: Voice) -> str:
    data = event.data
    why = "the portal lists them as dismissed" if data["why"] == "portal" else f"removed by {voice.person(data['by'])}"
    return f"{voice.person(data['person'])} lost access: {why}"


def _returned(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['person'])} has access again: the portal lists them as working"


def _preference(event: StoredEvent, voice: Voice) -> str:
    return f"{voice.person(event.data['person'])} set {event.data['preference']} to {said(event, 'value', limit=40)}"


WORDS: Final[dict[str, Callable[[StoredEvent, Voice], str]]] = {
    "PersonInvited": _invited,
    "InvitationRefused": _refused,
    "AccessAsked": _asked,
    "PersonJoined": _joined,
    "PersonDismissed": _dismissed,
    "PersonReturned": _returned,
    "PreferenceSet": _preference,
}
