"""The interfaces that the daily feature uses: the people, their preferences, a person's day in the portal, and links to records.

The access list implements the first two, `bot/composition/features.py` provides the others.
"""

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
    """Return which daily messages a person wants, from their stored preferences ("on" or "off"); a preference not stored counts as off."""
    return DailyPreferences(digest=chosen.get("digest") == "on", evening=chosen.get("evening") == "on")


class People(Protocol):
    """Knows who may use the bot now and what their preferences are; the access list implements it."""

    def list_people(self) -> Sequence[Actor]:
        """Return everybody who may use the bot, with their present rights."""

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return the preferences that the person has set: name → value. A preference that is missing has its default value."""


class Nobody:
    """A `People` without any people."""

    def list_people(self) -> Sequence[Actor]:
        """Return no people."""
        return ()

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        """Return no preferences, whatever the person's key."""
        del key
        return {}


class ReadAgenda(Protocol):
    """A function that reads from the portal what needs a person's attention today; `directory.agenda.load_agenda` is the usual one."""

    async def __call__(self, actor: Actor, now: datetime, *, team: Sequence[int], priority: Priority) -> Agenda:
        """Return the lists of deals and tasks that `actor` should attend to, and how many such records each employee in `team` has.

        The lists are, for example, of overdue deals. `team` holds portal user ids. `now` is the present time, and `priority` the place of
        the reads among other portal calls. May raise BitrixError.
        """


class BuildUrl(Protocol):
    """A function that builds links to records."""

    def __call__(self, target: str, actor: Actor) -> str:
        """Return the URL of a record such as "deal:481" for this person; "" if the record has no page."""
