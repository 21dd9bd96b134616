"""Daily help on the spine's world: the table of handlers worked by hand, a clock that is told, people whose choices a test sets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any

from bitrix.errors import BitrixError
from bitrix.limits.limiter import Priority
from orchestrator.directory.agenda import Agenda, load_agenda
from orchestrator.directory.naming import Naming
from orchestrator.directory.portal_reads import PortalReader
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.features.daily.day_view import DayView
from orchestrator.features.daily.digests import DailyPlanner
from orchestrator.features.daily.feature import build_feature
from orchestrator.language.work_calendar import Workdays
from orchestrator.performers.schedule import SchedulePerformer
from orchestrator.runtime import dispatch
from orchestrator.sessions.session import Session
from orchestrator.turns.feature import Feature
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from tests.unit.spine_kit import ANNA, BORIS, VERA, World

HOLIDAY = date(2026, 11, 25)
WORKDAYS = Workdays(yearly=frozenset({(1, 1)}), off=frozenset({HOLIDAY}), on=frozenset({date(2026, 11, 28)}))
MONDAY = datetime(2026, 11, 23, 6, 0, tzinfo=UTC)
"""09:00 in Moscow, a working day."""
ON: Mapping[str, str] = {"digest": "on", "evening": "on"}


async def no_runs(_engine: str, _definition: str, _person: str) -> Notice:
    """Nothing can be started on schedule here."""
    return Notice(code="run-engine-gone")


@dataclass
class Household:
    """The people and what they want, as a test changes them."""

    here: list[Actor] = field(default_factory=lambda: [ANNA, BORIS, VERA])
    wishes: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def resolve_preferences(self, key: str) -> Mapping[str, str]:
        return self.wishes.get(key, {})

    def list_people(self) -> Sequence[Actor]:
        return tuple(self.here)

    def present(self, actor: Actor) -> Actor | None:
        return next((one for one in self.here if one.key == actor.key), None)


@dataclass
class Home:
    """See the module docstring."""

    world: World
    household: Household
    help: Feature
    reads: PortalReader
    faults: list[BitrixError] = field(default_factory=list)
    asked: list[tuple[str, Priority]] = field(default_factory=list)
    staff: list[int] = field(default_factory=lambda: [6, 7, 8])
    """Who works in the portal, with or without the bot."""

    @property
    def planner(self) -> DailyPlanner:
        """The one periodic task of daily help."""
        return self.help.periodic_tasks[0].__self__  # type: ignore[attr-defined,no-any-return]

    def set_clock(self, moment: datetime) -> None:
        self.world.clock.advance(moment - self.world.clock.now())

    async def session(self, actor: Actor = ANNA, owner: str = "one") -> Session:
        return await self.world.session(actor.key, owner)

    async def plan(self) -> None:
        """What the program does at its start and now and then."""

        async def receive(rows: Sequence[InboxRow]) -> None:
            await self.world.put(*rows)

        await self.planner.run(receive, self.world.clock.now())

    async def work(self, session: Session) -> None:
        """Due timers become inputs, and the inputs of that chat are worked to the end."""
        due = await dispatch.collect_due_rows(self.world.store, self.world.clock.now())
        if due:
            await self.world.store.put_inbox(due)
        while (row := await self.world.store.take_inbox(session.key, "express")) is not None:
            kind = row.body["kind"] if row.kind == "timer" else row.body["name"] if row.kind == "command" else row.kind
            table = {"timer": self.help.timers, "command": self.help.commands}.get(row.kind, self.help.inbox)
            await table.get(kind, dispatch.run_timer)(row, session, self.world.tools)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """The bodies of that kind that wait to be delivered; takes all off."""
        return [dict(row.body) for row in self.rows() if row.kind == kind]

    def rows(self) -> list[OutboxRow]:
        return self.world.outbox()

    def timers(self) -> list[str]:
        """Every timer there is, as "id at", soonest first."""
        found = self.world.sql.list_due_timers(datetime(2100, 1, 1, tzinfo=UTC))
        return [f"{timer.id} {timer.due_at:%d.%m %H:%M}" for timer in found]


def a_home(world: World) -> Home:
    """Daily help with everybody at work and nobody wanting anything yet."""
    household = Household()
    object.__setattr__(world.tools, "refresh_actor", household.present)
    reads = PortalReader(world.client, world.gate.deps.catalogue, world.clock)
    naming = Naming(reads)
    world.gate.deps.performers["schedule"] = SchedulePerformer(world.store, world.clock, no_runs)  # type: ignore[index]

    async def agenda_of(actor: Actor, now: datetime, *, team: Sequence[int], priority: Priority) -> Agenda:
        home.asked.append((actor.key, priority))
        if home.faults:
            raise home.faults.pop(0)
        return await load_agenda(reads, naming, actor, now, team=team, priority=priority)

    def url_of(target: str, actor: Actor) -> str:
        kind, _, number = target.rpartition(":")
        return naming.build_card_url(kind, int(number), user=actor.bitrix_user_id or 0)

    async def list_staff() -> Sequence[Any]:
        return [SimpleNamespace(user_id=user) for user in home.staff]

    day = DayView(agenda=agenda_of, staff=list_staff, present=household.present, clock=world.clock)
    made = build_feature(day, url_of, people=household, workdays=WORKDAYS)
    home = Home(world, household, made, reads)
    return home


def input_row(kind: str, body: dict[str, Any], *, actor: Actor = ANNA, key: str = "") -> InboxRow:
    """An input of a door."""
    row_id = generate_id()
    return InboxRow(
        id=row_id,
        source=f"test:{row_id}",
        session=key or actor.key,
        lane="express",
        kind=kind,
        actor=actor.model_dump(mode="json"),
        body=body,
        received_at=MONDAY,
    )
