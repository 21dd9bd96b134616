"""A small world in which schedules start runs of the example engines: what its tests need beside `spine_kit` and `runs_kit`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bot.i18n.translate import Translator
from bot.rendering.replies import render_reply
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.domain.outputs import Reply
from orchestrator.domain.run_inputs import ScheduleAdd, ScheduleOrder, ScheduleOrderName
from orchestrator.engines.runs import Definition
from orchestrator.runs import feature as runs
from orchestrator.runs.registry import Definitions, Engines
from orchestrator.runtime import worker
from orchestrator.schedules import feature as schedules
from orchestrator.turns.feature import Feature, merge_features
from state.clock import generate_id
from state.events.schedules import list_schedules
from state.journal.journal import load_state, to_stream
from state.journal.run_index import RunFilter, RunRow
from state.journal.schedule_index import TIMER
from state.journal.store import InboxRow, StoredEvent, Timer
from state.model.schedule_state import Schedule
from state.sql.store import SqlStore
from tests.unit.runs.runs_kit import build_engines, steps
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA, World, a_world
from tests.unit.spine_portal import Portal

ID = "0190aaaa-0000-7000-8000-0000000000aa"
MOSCOW = "Europe/Moscow"
SECOND = timedelta(seconds=1)
QUIET = {"plan": steps({"say": "Начинаю"})}
"""A definition whose run ends at once."""
WAITING = {"plan": steps({"ask": "Какой тариф?", "options": ["Базовый"]})}
"""A definition whose run waits for an answer."""


class Documents(Definitions):
    """Definitions that a test switches off and on again, or that cannot be read."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self.documents = dict(documents)
        self.error: Exception | None = None

    async def find(self, engine: str, key: str) -> Definition | None:
        if self.error is not None:
            raise self.error
        document = self.documents.get(key)
        return Definition(key=key, version=1, document=document, engine=engine) if document is not None else None

    async def check_start(self, engine: str, key: str) -> None:
        """Let every definition be started."""


@dataclass
class People:
    """Who has access now; a test takes it away or changes a role."""

    actors: dict[str, Actor] = field(default_factory=lambda: {one.key: one for one in (ANNA, BORIS, VERA)})

    def refresh(self, actor: Actor) -> Actor | None:
        return actor if actor.key.startswith("cli:") else self.actors.get(actor.key)  # as the access list does


class Leads:
    """The leads who hear of what concerns their people."""

    def find_leads(self, actor: Actor, _sees: object) -> list[Actor]:
        return [VERA] if actor.key != VERA.key else []

    def apply_delegation(self, actor: Actor) -> Actor:
        return actor


@dataclass
class Bench:
    """The world, and what a test changes while it works."""

    world: World
    documents: Documents
    people: People

    def state(self, home: str = CHAT) -> dict[str, Schedule]:
        """The schedules of a session as the journal has them."""
        return list_schedules(load_state(self.world.sql, to_stream(home))[0])

    def entry(self, home: str = CHAT, schedule: str = ID) -> Schedule:
        """One of them."""
        return self.state(home)[schedule]

    def timers(self) -> list[Timer]:
        return self.world.sql.list_timers(TIMER)

    def runs(self) -> list[RunRow]:
        """The runs, the first one first."""
        return self.world.sql.list_runs(RunFilter())[::-1]

    def fired(self, home: str = CHAT) -> list[StoredEvent]:
        return self.world.events("ScheduleFired", key=home)

    def told(self, chat: str = CHAT) -> list[str]:
        """What waits to be delivered to a chat, in words; takes everything off."""
        return [text for session, text in self.all_told() if session == chat]

    def all_told(self, channel: str = "tg") -> list[tuple[str, str]]:
        found = []
        for row in self.world.outbox(channel):
            if row.kind == "reply":
                found.append((row.session, to_plain_text(render_reply(Reply.model_validate(row.body), Translator("ru")))))
            elif row.kind == "toast":
                found.append((row.session, f"toast:{row.body['notice']['code']}"))
        return found

    def buttons(self, chat: str = CHAT) -> list[tuple[str, ...]]:
        """The words of the buttons that wait to be delivered to a chat; takes everything off."""
        rows = [row for row in self.world.outbox() if row.kind == "reply" and row.session == chat]
        return [tuple(one["words"]) for row in rows for one in row.body["actions"]]

    async def until(self, moment: datetime) -> None:
        """Let the program work a second after this moment, without having worked in between."""
        self.world.clock.advance(moment + SECOND - self.world.clock.now())
        await self.world.work()


@asynccontextmanager
async def a_bench(
    folder: Path,
    documents: Mapping[str, Any],
    *,
    store: SqlStore | None = None,
    people: People | None = None,
    fires: bool = True,
    portal: Portal | None = None,
    absent: str = "",
) -> AsyncIterator[Bench]:
    """The product with the example engines, without the absent one, and schedules."""
    known, here = Documents(documents), people or People()
    with patch.object(worker, "POLL", 0.01):
        async with a_world(folder, store=store, portal=portal) as world:
            registered = {name: engine for name, engine in build_engines({}).runs.items() if name != absent}
            engines = Engines(runs=registered, definitions=known)
            use_schedules(world, engines, here, fires=fires)
            yield Bench(world, known, here)


def use_schedules(world: World, engines: Engines, people: People, *, fires: bool = True) -> None:
    """Let the world have these engines and schedules of their runs, and these people."""
    tools = world.orchestrator.tools
    features = with_engines(tools.features, engines, fires=fires)
    world.gate._deps = replace(world.gate._deps, approvers=Leads())  # type: ignore[arg-type]
    world.orchestrator.tools = replace(tools, features=features, refresh_actor=people.refresh)


def with_engines(features: Feature, engines: Engines, *, fires: bool = True) -> Feature:
    """What a program with these engines registers: their runs and schedules in place of the schedules of a program without engines."""
    return merge_features(_without_schedules(features), runs.build_feature(engines), schedules.build_feature(engines, fires=fires))


def _without_schedules(features: Feature) -> Feature:
    """What the program registers without the schedules of its own engines, of which it has none."""
    gone = schedules.build_feature(Engines())
    return replace(
        features,
        inbox={key: one for key, one in features.inbox.items() if key not in gone.inbox},
        timers={key: one for key, one in features.timers.items() if key not in gone.timers},
        given_up_timers={key: one for key, one in features.given_up_timers.items() if key not in gone.given_up_timers},
        buttons={key: one for key, one in features.buttons.items() if key not in gone.buttons},
    )


def add(
    *,
    actor: Actor = ANNA,
    home: str = "",
    schedule: str = ID,
    definition: str = "plan",
    engine: str = "steps",
    zone: str = MOSCOW,
    **more: Any,
) -> InboxRow:
    """The input that makes a schedule."""
    asked = ScheduleAdd(schedule=schedule, engine=engine, definition=definition, zone=zone, **more)
    return build_row(asked, actor, home or actor.key, source=f"schedule:{schedule}")


def order(name: ScheduleOrderName, *, actor: Actor = ANNA, home: str = CHAT, schedule: str = ID, chat: str = "") -> InboxRow:
    """The input with which a person controls a schedule."""
    return build_row(ScheduleOrder(schedule=schedule, order=name, chat=chat), actor, home)


def click(*words: str, actor: Actor = ANNA, chat: str = "") -> InboxRow:
    """The press of a button."""
    return build_row(FeatureClick(words=("schedule", *words), callback_id=generate_id()), actor, chat or actor.key)


def build_row(given: Any, actor: Actor, home: str, *, source: str = "") -> InboxRow:
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=source or f"test:{fresh}", session=home, lane="express", kind=type(given).KIND, actor=actor.model_dump(mode="json"),
        body=given.to_json(), received_at=datetime.fromisoformat("2026-11-21T12:00:00+00:00"),
    )  # fmt: skip
