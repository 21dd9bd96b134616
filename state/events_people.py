"""The events of the registry of people, all in the stream of session `access`. Each is stored under the key of the person it is about."""

from typing import Literal

from state.events import Event
from state.personal import Personal


class PersonInvited(Event):
    """A single-use link was made for an employee; whoever brings it in time joins."""

    fingerprint: str
    """The hash of the token; the token itself is in the link and nowhere else."""
    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: Personal[str] = ""
    """Sealed with the token: only who brings the link can read it, so nothing of the invited person has to be erased."""
    expires_at: str
    by: str


class InvitationRefused(Event):
    """Somebody brought a link that is of no use."""

    person: str
    why: Literal["wrong", "used", "expired"]


class AccessAsked(Event):
    """A stranger wrote, and the administrators were told."""

    person: str
    name: Personal[str]


class PersonJoined(Event):
    """From now on this person may use the bot. Without a name (erased) they may not."""

    person: str
    name: Personal[str]
    role: Literal["manager", "lead", "admin"]
    bitrix_user_id: int
    time_zone: Personal[str] = ""
    locale: Literal["ru", "en"] = "ru"
    fingerprint: str = ""
    """Of the link they brought; "" for those whom an administrator let in."""
    by: str


class PersonDismissed(Event):
    """The person lost access; `person` may be an invitation ("invite:1a2b3c4d") that was taken back."""

    person: str
    why: Literal["portal", "admin"]
    by: str


class PersonReturned(Event):
    """The portal lists somebody whom it had dismissed as working again."""

    person: str


class PreferenceSet(Event):
    """What a person wants of the bot."""

    person: str
    preference: Literal["locale", "time_zone", "digest", "evening", "alerts"]
    value: Personal[str]
