"""The registry of people, built from the events of session `access`: who was invited, asked for access, joined or was dismissed."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from state.stored import JsonObject, Stored

SESSION: Final = "access"
CONSOLE_SINCE: Final = "console_since"
"""The setting of a person that holds the time, in ISO 8601, before which every login to the console has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation(Stored):
    """An invitation link for one employee that has not been used yet."""

    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: str = ""
    """The employee's name, encrypted with the link's token."""
    expires_at: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAccess(Stored):
    """A stranger who wrote to the bot, and about whom the administrators were notified."""

    name: str = ""
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedPerson(Stored):
    """Somebody who may use the bot because they joined by a link or an administrator admitted them; the access file does not list them."""

    name: str
    role: Literal["manager", "lead", "admin"]
    bitrix_user_id: int
    time_zone: str = ""
    locale: Literal["ru", "en"] = "ru"
    by: str
    at: str


@dataclass(slots=True, kw_only=True)
class Registry:
    """Everybody's invitations, access and preferences, and the strangers who asked for access. All times are ISO 8601."""

    invited: dict[str, Invitation] = field(default_factory=dict)
    """Open invitations by the fingerprint of their link."""
    used: dict[str, str] = field(default_factory=dict)
    """The fingerprint of each used or revoked link → when that was."""
    people: dict[str, JoinedPerson] = field(default_factory=dict)
    """Those who joined, by the key of the person ("tg:1007"), which is also the key of all mappings below."""
    out: dict[str, str] = field(default_factory=dict)
    """Since when the portal has listed a person as dismissed; also for people who are listed in the access file."""
    preferences: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: dict[str, AskedAccess] = field(default_factory=dict)
    tries: dict[str, list[str]] = field(default_factory=dict)
    """The times at which a person last opened invalid links."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "Registry":
        """Return the registry from its JSON data. Raises KeyError or TypeError if `data` is not that of a registry."""
        typed = {
            "invited": {key: Invitation.from_stored(one) for key, one in data["invited"].items()},
            "people": {key: JoinedPerson.from_stored(person) for key, person in data["people"].items()},
            "asked": {key: AskedAccess.from_stored(one) for key, one in data["asked"].items()},
        }
        return cls(**{**data, **typed})

    def to_stored(self) -> dict[str, Any]:
        """Return the registry as JSON data."""
        return {
            "invited": {key: invitation.to_stored() for key, invitation in self.invited.items()},
            "used": self.used,
            "people": {key: person.to_stored() for key, person in self.people.items()},
            "out": self.out,
            "preferences": self.preferences,
            "asked": {key: one.to_stored() for key, one in self.asked.items()},
            "tries": self.tries,
        }
