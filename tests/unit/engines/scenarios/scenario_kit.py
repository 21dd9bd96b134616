"""A small world with the scenario engine: what tests of scenarios need beside `spine_kit` and `runs_kit`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from engines.scenarios.core.definition import is_for_customers
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import build_kind, list_uses
from engines.scenarios.core.registry import build_step_types
from orchestrator.domain.actor import Mode
from orchestrator.domain.inputs import FeatureClick
from orchestrator.performers import schedule as performers
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from orchestrator.schedules.firing import StartChecker
from orchestrator.turns.feature import merge_features
from state.clock import generate_id
from state.journal.store import InboxRow, OutboxRow
from state.sql.store import SqlStore
from tests.unit.runs import runs_kit
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, a_world
from tests.unit.spine_portal import Portal

TYPES = build_step_types()


def scenario(*given: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A scenario of these steps."""
    return {"name": "Проба", "steps": list(given), **more}


def say(text: str, **more: Any) -> dict[str, Any]:
    """A step that says something."""
    return {"type": "message", "params": {"text": text}, **more}


def ask(
    variable: str = "answer", prompt: str = "Что?", *, next_step: str | None = None, step: str = "ask", **params: Any
) -> dict[str, Any]:
    """A step that asks."""
    made: dict[str, Any] = {"id": step, "type": "input", "params": {"prompt": prompt, "input_variable": variable, **params}}
    return made if next_step is None else {**made, "next_step": next_step}


def start(key: str = "plan", **args: Any) -> InboxRow:
    """The input that starts a run of a scenario."""
    return runs_kit.start(key, engine="scenario", **args)


def build_engines(documents: Mapping[str, Any], **options: Any) -> Engines:
    """The scenario engine over these scenarios by key."""
    return Engines(
        runs={
            "scenario": RegisteredEngine(
                engine=ScenarioEngine(TYPES, **options),
                commands={"run": RunCommand(definition="")},
                list_uses=partial(list_uses, types=TYPES),
                is_for_customers=is_for_customers,
                kind=build_kind(TYPES),
            )
        },
        definitions=StaticDefinitions({("scenario", key): document for key, document in documents.items()}),
    )


@asynccontextmanager
async def a_scenario_world(
    folder: Path,
    *given: Mapping[str, Any],
    mode: Mode = "full",
    store: SqlStore | None = None,
    portal: Portal | None = None,
    others: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[World]:
    """The product with the scenario engine, a scenario "plan" of these steps, or the one whole scenario that is given, and others."""
    plan = given[0] if len(given) == 1 and "steps" in given[0] else scenario(*given)
    async with a_world(folder, mode=mode, store=store, portal=portal) as world:
        tools = world.orchestrator.tools
        engines = build_engines({"plan": plan, **(others or {})}, **options)
        checker = StartChecker(engines, lambda actor: actor)
        world.gate.deps.performers["schedule"] = performers.SchedulePerformer(world.store, world.clock, checker)  # type: ignore[index]
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(engines)))
        yield world


def replies(world: World) -> list[OutboxRow]:
    """The messages that wait to be delivered."""
    return [row for row in world.outbox() if row.kind == "reply"]


def texts(world: World) -> list[str]:
    """The texts of these messages."""
    return [part["text"] for row in replies(world) for part in row.body["parts"]]


def failure(world: World, key: str = RUN) -> dict[str, Any]:
    """What the run's end says of its failure."""
    (event,) = runs_kit.events(world, "RunFinished", key=key)
    return dict(event.data)


def click(world: World, number: int) -> InboxRow:
    """A press on a button of the last question."""
    asked = [row for row in replies(world) if row.body["actions"]][-1]
    fresh = generate_id()
    body = FeatureClick(words=tuple(asked.body["actions"][number]["words"]), callback_id=fresh).to_json()
    return InboxRow(
        id=fresh, source=f"click:{fresh}", session=CHAT, lane="express", kind=FeatureClick.KIND, actor=ANNA.model_dump(mode="json"),
        body=body, received_at=NOW,
    )  # fmt: skip
