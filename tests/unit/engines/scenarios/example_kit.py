"""Plays the scenarios of engines/scenarios/examples whole: answers in the chat, cards by press, and the sandbox portal with its records."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import httpx

import engines
from bot.plugins.building import load_installed_engines
from orchestrator.documents.reading import read_document
from orchestrator.domain.actor import Actor
from orchestrator.domain.inputs import FeatureClick
from orchestrator.runs.registry import StaticDefinitions
from orchestrator.schedules import feature as schedules
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from tests.unit.gate.sandbox_kit import Wire, clock
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import index
from tests.unit.spine_kit import CHAT, NOW, World, a_world, message, press
from tests.unit.spine_portal import Portal

FOLDER = Path(engines.__file__).parent / "scenarios" / "examples"
BORIS = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)
ANNA = Actor(key="tg:1006", name="Анна", role="lead", bitrix_user_id=6, sees="all")


def load_examples() -> dict[str, Any]:
    """Each example by its key, which is the name of its file."""
    return {path.stem: read_document(path.read_text(encoding="utf-8")).require_document().data for path in sorted(FOLDER.glob("*.yaml"))}


@dataclass
class Stage:
    """One person who plays scenarios: what they do, what they see, and what the portal holds."""

    world: World
    wire: Wire
    person: Actor = BORIS
    rows: list[OutboxRow] = field(default_factory=list)
    """Everything that was brought to people, in order."""

    async def run(self, key: str, **args: Any) -> None:
        """Start a scenario."""
        await self._work(runs_kit.start(key, engine="scenario", actor=self.person, home=self.person.key, **args))

    async def say(self, *texts: str) -> None:
        """Answer in words, one question after the other."""
        for text in texts:
            await self._work(message(text, actor=self.person, key=self.person.key))

    async def choose(self, *labels: str) -> None:
        """Press the button with this label under the last question."""
        for label in labels:
            asked = [row for row in self.rows if row.kind == "reply" and row.body["actions"]][-1]
            found = [one["words"] for one in asked.body["actions"] if one["label"]["args"].get("label") == label]
            assert len(found) == 1, (label, [one["label"]["args"] for one in asked.body["actions"]])
            await self._work(self._build_click(found[0]))

    async def decide(self, *, approve: bool = True, by: Actor | None = None) -> None:
        """Press a button of the card that came last."""
        shown = self.cards()[-1].body
        await self._work(press(shown, approve=approve, actor=by or self.person, key=str(shown["home"])))

    async def pass_time(self, **ahead: float) -> None:
        """Let time go by, and a second more, and what is due happen."""
        self.world.clock.advance(timedelta(**ahead) + timedelta(seconds=1))
        await self._work()

    def _build_click(self, words: list[str]) -> InboxRow:
        fresh = generate_id()
        body = FeatureClick(words=tuple(words), callback_id=fresh).to_json()
        return InboxRow(
            id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND,
            actor=self.person.model_dump(mode="json"), body=body, received_at=NOW,
        )  # fmt: skip

    async def _work(self, *rows: InboxRow) -> None:
        await self.world.work(*rows)
        self.rows.extend(self.world.outbox())

    def cards(self) -> list[OutboxRow]:
        """The cards that were shown, each as it stood then."""
        return [row for row in self.rows if row.kind == "card" and row.body["status"] == "requested"]

    @property
    def texts(self) -> list[str]:
        """What the scenarios said and asked."""
        return [part["text"] for row in self.rows if row.kind == "reply" for part in row.body["parts"]]

    @property
    def last(self) -> str:
        """What was said last."""
        return self.texts[-1]

    @property
    def status(self) -> str:
        """Where the run that was started first stands."""
        return index(self.world).status

    async def ask_portal(self, method: str, **params: Any) -> Any:
        """A look at the portal past the gate."""
        return (await self.world.client.call(method, params, repeatable=True)).result

    async def list_comments(self, entity: str, number: int) -> list[str]:
        """The timeline of a record, the newest last."""
        wanted = {"filter": {"ENTITY_TYPE": entity, "ENTITY_ID": number}, "order": {"ID": "ASC"}}
        return [one["COMMENT"] for one in await self.ask_portal("crm.timeline.comment.list", **wanted)]

    def list_writes(self) -> list[str]:
        """The methods of the calls that could have changed something, in order."""
        return [method for method, _ in self.wire.writes()]


@asynccontextmanager
async def a_stage(folder: Path, *, person: Actor = BORIS, policy: Mapping[str, Any] | None = None) -> AsyncIterator[Stage]:
    """The examples over a fresh sandbox portal."""
    app = create_app(Settings(bucket=None, clock=clock))
    wire = Wire(httpx.ASGITransport(app))
    known = {("scenario", key): document for key, document in load_examples().items()}
    engines = replace(load_installed_engines(), definitions=StaticDefinitions(known))
    async with a_world(folder, portal=cast("Portal", wire), policy=policy, people=(BORIS, ANNA), engines=engines) as world:
        tools = world.orchestrator.tools
        timers = {**tools.features.timers, **schedules.build_feature(engines, fires=True).timers}
        features = replace(tools.features, timers=timers)  # a world has no list of people, so by itself it starts nothing later
        world.orchestrator.tools = replace(tools, features=features)
        yield Stage(world, wire, person)
    await app.state.portal.events.aclose()
    app.state.portal.close()
