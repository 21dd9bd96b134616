"""The events of the registry of people as sentences that ops can read. Ring 2, pure."""

from collections.abc import Callable
from typing import Final

from orchestrator.reports.people import Narrator
from orchestrator.reports.reading import format_text
from state.people_fold import build_invitation_key
from state.store import StoredEvent


def _describe_invitation(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    whom = f"employee {data['bitrix_user_id']}, role {data['role']}, until {data['expires_at']}"
    return f"{voice.format_person(data['by'])} made a link ({build_invitation_key(data['fingerprint'])}) for {whom}"


def _describe_invitation_refusal(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['person'])} brought a link that is of no use: {event.data['why']}"


def _describe_access_request(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['person'], event.data['name'], gone=event.erased)} asked for access"


def _describe_joining(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    how = f"by link {build_invitation_key(data['fingerprint'])} of" if data["fingerprint"] else "let in by"
    who = voice.format_person(data["person"], data["name"], gone=event.erased)
    return f"{who} joined as {data['role']}, employee {data['bitrix_user_id']}, {how} {voice.format_person(data['by'])}"


def _describe_dismissal(event: StoredEvent, voice: Narrator) -> str:
    data = event.data
    why = "the portal lists them as dismissed" if data["why"] == "portal" else f"removed by {voice.format_person(data['by'])}"
    return f"{voice.format_person(data['person'])} lost access: {why}"


def _describe_return(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['person'])} has access again: the portal lists them as working"


def _describe_preference(event: StoredEvent, voice: Narrator) -> str:
    return f"{voice.format_person(event.data['person'])} set {event.data['preference']} to {format_text(event, 'value', limit=40)}"


PEOPLE_DESCRIPTIONS: Final[dict[str, Callable[[StoredEvent, Narrator], str]]] = {
    "PersonInvited": _describe_invitation,
    "InvitationRefused": _describe_invitation_refusal,
    "AccessAsked": _describe_access_request,
    "PersonJoined": _describe_joining,
    "PersonDismissed": _describe_dismissal,
    "PersonReturned": _describe_return,
    "PreferenceSet": _describe_preference,
}
