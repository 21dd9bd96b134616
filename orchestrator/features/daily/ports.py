"""What daily help needs to know of people and of the portal; the access list and bootstrap implement it. Ring 2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bitrix.limits.limiter import Priority
from orchestrator.directory.agenda import Agenda
from orchestrator.domain.actor import Actor


@dataclass(frozen=True, kw_only=True)
class DailyPreferences:
    """What a person wants to be sent without asking."""

    digest: bool = False
    evening: bool = False


def to_daily_preferences(chosen: Mapping[str, str]) -> DailyPreferences:
    """What somebody's switches mean ("on", "off"); one that was never touched is off."""
    return DailyPreferences(digest=chosen.get("digest") == "on", evening=chosen.get("evening") == "on")


class People(Protocol):
    """Who may use the bot now, and what they have chosen."""

    def list_people(self) -> Sequence[Actor]:
        """All of them, with the rights of now."""
        ...

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """What the person has set; a name that is missing has its default."""
        ...


class Nobody:
    """A list without people."""

    def list_people(self) -> Sequence[Actor]:
        """Nobody may use the bot."""
        return ()

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Nothing is set."""
        del key
        return {}


class ReadAgenda(Protocol):
    """Reads what a person's day holds."""

    async def __call__(self, actor: Actor, now: datetime, *, team: Sequence[int], priority: Priority) -> Agenda:
        """The lists of `actor`, and how the people of `team` stand; may raise BitrixError."""
        ...


class BuildUrl(Protocol):
    """Leads to a record's card."""

    def __call__(self, target: str, actor: Actor) -> str:
        """The address of "deal:481", "" where it has none."""
        ...
