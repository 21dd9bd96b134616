"""The registry of people, built from the events of session `access`."""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from state.stored import JsonObject, Stored

SESSION: Final = "access"
CONSOLE_SINCE: Final = "console_since"
"""The ISO time before which logins to the console have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation(Stored):
    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: str = ""
    """Encrypted with the link's token."""
    expires_at: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAccess(Stored):
    name: str = ""
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedPerson(Stored):
    """The access file does not list them."""

    name: str
    role: Literal["manager", "lead", "admin"]
    bitrix_user_id: int
    time_zone: str = ""
    locale: Literal["ru", "en"] = "ru"
    by: str
    at: str


@dataclass(slots=True, kw_only=True)
class Registry:
    """Times are ISO 8601."""

    invited: dict[str, Invitation] = field(default_factory=dict)
    """By the fingerprint of the link."""
    used: dict[str, str] = field(default_factory=dict)
    """Fingerprint of each used or revoked link → when."""
    people: dict[str, JoinedPerson] = field(default_factory=dict)
    """By the person's key ("tg:1007"), as in all mappings below."""
    out: dict[str, str] = field(default_factory=dict)
    """Since when the portal lists them as dismissed."""
    preferences: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: dict[str, AskedAccess] = field(default_factory=dict)
    tries: dict[str, list[str]] = field(default_factory=dict)
    """When a person opened invalid links."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "Registry":
        """Raises KeyError or TypeError if `data` is no registry."""
        typed = {
            "invited": {key: Invitation.from_stored(one) for key, one in data["invited"].items()},
            "people": {key: JoinedPerson.from_stored(person) for key, person in data["people"].items()},
            "asked": {key: AskedAccess.from_stored(one) for key, one in data["asked"].items()},
        }
        return cls(**{**data, **typed})

    def to_stored(self) -> dict[str, Any]:
        return {
            "invited": {key: invitation.to_stored() for key, invitation in self.invited.items()},
            "used": self.used,
            "people": {key: person.to_stored() for key, person in self.people.items()},
            "out": self.out,
            "preferences": self.preferences,
            "asked": {key: one.to_stored() for key, one in self.asked.items()},
            "tries": self.tries,
        }
