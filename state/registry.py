"""The registry of people as the fold of session `access` leaves it: who was invited, who asked, who joined, who is out."""

from dataclasses import dataclass, field
from typing import Any, Literal

from state.stored import JsonObject, Stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation(Stored):
    """An open link for one employee."""

    bitrix_user_id: int
    role: Literal["manager", "lead", "admin"]
    sealed_name: str = ""
    """Encrypted with the link's token."""
    expires_at: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAccess(Stored):
    """A stranger of whom the administrators were told."""

    name: str = ""
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedPerson(Stored):
    """Somebody who may use the bot and is not listed in the access file."""

    name: str
    role: Literal["manager", "lead", "admin"]
    bitrix_user_id: int
    time_zone: str = ""
    locale: Literal["ru", "en"] = "ru"
    by: str
    at: str


@dataclass(slots=True, kw_only=True)
class Registry:
    """See the module docstring. Times are ISO."""

    invited: dict[str, Invitation] = field(default_factory=dict)
    """By the fingerprint of the link."""
    used: dict[str, str] = field(default_factory=dict)
    """The fingerprint of a used or revoked link → when."""
    people: dict[str, JoinedPerson] = field(default_factory=dict)
    """By key, as all that follow."""
    out: dict[str, str] = field(default_factory=dict)
    """Since when the portal has listed them as dismissed; also people of the access file."""
    preferences: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: dict[str, AskedAccess] = field(default_factory=dict)
    tries: dict[str, list[str]] = field(default_factory=dict)
    """When they presented invalid links."""

    @classmethod
    def from_stored(cls, data: JsonObject) -> "Registry":
        """Return the registry of a stored state; raises KeyError or TypeError where it is none."""
        typed = {
            "invited": {key: Invitation.from_stored(one) for key, one in data["invited"].items()},
            "people": {key: JoinedPerson.from_stored(one) for key, one in data["people"].items()},
            "asked": {key: AskedAccess.from_stored(one) for key, one in data["asked"].items()},
        }
        return cls(**{**data, **typed})

    def to_stored(self) -> dict[str, Any]:
        """Return the registry as JSON data."""
        return {
            "invited": {key: one.to_stored() for key, one in self.invited.items()},
            "used": self.used,
            "people": {key: one.to_stored() for key, one in self.people.items()},
            "out": self.out,
            "preferences": self.preferences,
            "asked": {key: one.to_stored() for key, one in self.asked.items()},
            "tries": self.tries,
        }
