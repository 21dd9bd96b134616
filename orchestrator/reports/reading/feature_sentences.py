"""Describes the events of the features (people, daily help, freezing and budgets, leads, card edits) as sentences for operators."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Final

from orchestrator.domain.address import CHANNEL_WORDS
from orchestrator.reports.reading.journal_reader import format_text, to_one_line
from orchestrator.reports.reading.narrator import Narrator
from state.events.people import build_invitation_key
from state.journal.store import StoredEvent


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
    return CHANNEL_WORDS.get(str(via), to_one_line(via))


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
