"""A person's day: one computation for /today, the morning message, and the same asked in words."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from bitrix.errors import BitrixError
from bitrix.limits.limiter import Priority
from orchestrator.directory.agenda import Agenda
from orchestrator.domain.actor import Actor
from orchestrator.domain.message_views import DailyBody
from orchestrator.features.daily.message_bodies import ReadAgenda, build_agenda_body
from orchestrator.gate.call.permissions import find_visible_users
from state.clock import Clock

LEADING: Final = frozenset({"lead", "admin"})


class Employee(Protocol):
    @property
    def user_id(self) -> int: ...


ListStaff = Callable[[], Awaitable[Sequence[Employee]]]
"""The portal's working employees, with or without the bot. May raise BitrixError."""


@dataclass(frozen=True, kw_only=True)
class DayView:
    agenda: ReadAgenda
    staff: ListStaff
    present: Callable[[Actor], Actor | None]
    clock: Clock

    async def load(self, actor: Actor, now: datetime, *, priority: Priority) -> Agenda:
        """With the numbers of the team for a lead. May raise BitrixError."""
        team = await self._list_team(actor)
        agenda = await self.agenda(actor, now, team=team or (), priority=priority)
        return agenda if team is not None else replace(agenda, unread=(*agenda.unread, "today-team"))

    async def read(self, person: str) -> DailyBody:
        """As /today shows it to the person with this key. May raise BitrixError."""
        actor = self.present(Actor(key=person, name=person)) or Actor(key=person, name=person)
        now = self.clock.now()
        agenda = await self.load(actor, now, priority=Priority.INTERACTIVE)
        return build_agenda_body("today", agenda, now.astimezone(ZoneInfo(actor.time_zone)).date())

    async def _list_team(self, actor: Actor) -> Sequence[int] | None:
        """Everybody of the portal whose records the lead may see; None if that cannot be read."""
        if actor.role not in LEADING:
            return ()
        try:
            working = {employee.user_id for employee in await self.staff()}
        except BitrixError:
            return None
        seen = find_visible_users(actor)
        return sorted((working if seen is None else seen & working) - {actor.bitrix_user_id})
