"""What daily help needs from other parts: people and the portal's data. The access list and bootstrap implement it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bitrix.limits.limiter import Priority
from orchestrator.directory.agenda import Agenda
from orchestrator.domain.actor import Actor


@dataclass(frozen=True, kw_only=True)
class DailyPreferences:
    """Which daily messages a person wants to receive without asking."""

    digest: bool = False
    evening: bool = False


def to_daily_preferences(chosen: Mapping[str, str]) -> DailyPreferences:
    """Return a person's stored preferences ("on", "off") parsed; a missing one is off."""
    return DailyPreferences(digest=chosen.get("digest") == "on", evening=chosen.get("evening") == "on")


class People(Protocol):
    """Who may use the bot now, and their preferences."""

    def list_people(self) -> Sequence[Actor]:
        """Return all people with their present rights."""

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return the preferences that the person has set, name → value; a name that is missing has its default."""


class Nobody:
    """An empty list of people."""

    def list_people(self) -> Sequence[Actor]:
        """Return nobody."""
        return ()

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return no preferences."""
        del key
        return {}


class ReadAgenda(Protocol):
    """A function that reads the lists of a person's day from the portal."""

    async def __call__(self, actor: Actor, now: datetime, *, team: Sequence[int], priority: Priority) -> Agenda:
        """Return the lists of `actor` and the figures of the people in `team`. May raise BitrixError."""


class BuildUrl(Protocol):
    """A function that builds links to records."""

    def __call__(self, target: str, actor: Actor) -> str:
        """Return the URL of "deal:481", "" if it has none."""
