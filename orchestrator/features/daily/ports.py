"""What the daily feature needs of others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bitrix.limits.limiter import Priority
from orchestrator.directory.agenda import Agenda
from orchestrator.domain.actor import Actor


@dataclass(frozen=True, kw_only=True)
class DailyPreferences:
    digest: bool = False
    evening: bool = False


def to_daily_preferences(chosen: Mapping[str, str]) -> DailyPreferences:
    """A preference that is not stored counts as off."""
    return DailyPreferences(digest=chosen.get("digest") == "on", evening=chosen.get("evening") == "on")


class People(Protocol):
    def list_people(self) -> Sequence[Actor]: ...

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """A missing one has its default value."""


class Nobody:
    def list_people(self) -> Sequence[Actor]:
        return ()

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        del key
        return {}


class ReadAgenda(Protocol):
    async def __call__(self, actor: Actor, now: datetime, *, team: Sequence[int], priority: Priority) -> Agenda:
        """With counts for each employee in `team` (portal user ids). May raise BitrixError."""


class BuildUrl(Protocol):
    def __call__(self, target: str, actor: Actor) -> str:
        """ "" if the record has no page."""
