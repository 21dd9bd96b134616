"""A small world with the two example engines: what a test of runs needs beside `spine_kit`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from engines.scenarios.wiring import build_scenarios
from engines.workflows.core.blocks.host import ALONE, RecordHost
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.registry import build_rune_types
from engines.workflows.wiring import build_record_host
from examples.engines.fan import FanEngine
from examples.engines.kinds import FAN, STEPS
from examples.engines.steps import StepsEngine, list_children
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.run_inputs import RunStart
from orchestrator.engines.runs import RunEngine
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from orchestrator.runs.stored_definitions import add_stored_definitions
from orchestrator.services.http_client import ServiceClients
from orchestrator.turns.feature import merge_features
from state.clock import generate_id
from state.events.runs import RunStarted
from state.journal.run_index import RunFilter, RunRow
from state.journal.store import InboxRow, StoredEvent
from state.sql.store import SqlStore
from tests.unit.spine_kit import ANNA, CHAT, NOW, World, a_world
from tests.unit.spine_portal import Portal

RUN = "run:0190aaaa-0000-7000-8000-000000000001"


def build_engines(documents: Mapping[tuple[str, str], Any], scripts: ScriptRunner | None = None, host: RecordHost = ALONE) -> Engines:
    """The engines over these documents: (engine, key) → document. Those of flows and workflows are there if there is a document for them."""
    more: dict[str, RunEngine] = {}
    if any(name == "flow" for name, _ in documents):  # the tests of the others run without the folder of flows
        more["flow"] = import_module("tests.unit.engines.flows.acting_flow").build_engine()
    if scripts is not None:
        more["workflow"] = WorkflowEngine(build_rune_types(), scripts, host=host)
    return Engines(
        runs={
            **{name: RegisteredEngine(engine=more[name]) for name, _ in documents if name in more},
            "steps": RegisteredEngine(
                engine=StepsEngine(), commands={"steps": RunCommand(definition="")}, list_uses=list_children, kind=STEPS
            ),
            "fan": RegisteredEngine(engine=FanEngine(), kind=FAN),
            "scenario": build_scenarios(),
        },
        definitions=StaticDefinitions(documents),
    )


def find_engine(document: Mapping[str, Any]) -> str:
    """The engine of a document, by a field that only documents of this engine have; "steps" if it has none of them."""
    marks = {"workflowId": "workflow", "flowId": "flow", "things": "fan", "name": "scenario"}
    return next((engine for field, engine in marks.items() if field in document), "steps")


@asynccontextmanager
async def a_run_world(
    folder: Path,
    documents: Mapping[str, Any],
    *,
    mode: Mode = "full",
    store: SqlStore | None = None,
    portal: Portal | None = None,
    services: ServiceClients | None = None,
) -> AsyncIterator[World]:
    """The product with the example engines and that of scenarios, which `documents` are for: see `find_engine`."""
    keyed = {(find_engine(document), key): document for key, document in documents.items()}
    async with ScriptRunner() as scripts, a_world(folder, mode=mode, store=store, portal=portal, services=services) as world:
        tools = world.orchestrator.tools
        host = build_record_host(world.store, tools.gate.deps.catalogue, tools.gate.deps.names)
        features = merge_features(tools.features, build_feature(add_stored_definitions(build_engines(keyed, scripts, host), world.store)))
        world.orchestrator.tools = replace(tools, features=features)
        yield world


def steps(*given: Mapping[str, Any]) -> dict[str, Any]:
    """A definition of the engine "steps"."""
    return {"steps": [{"name": f"s{number}", **one} for number, one in enumerate(given)]}


def start(definition: str, *, engine: str = "steps", actor: Actor = ANNA, home: str = CHAT, key: str = RUN, **args: Any) -> InboxRow:
    """The input that starts a run."""
    order = RunStart(engine=engine, definition=definition, home=home, args={name: one.to_stored() for name, one in args.items()})
    return InboxRow(
        id=generate_id(),
        source=f"start:{key}",
        session=key,
        lane="turn",
        kind=RunStart.KIND,
        actor=actor.model_dump(mode="json"),
        body=order.to_json(),
        received_at=NOW,
    )


def events(world: World, *types: str, key: str = RUN) -> list[StoredEvent]:
    """The events of a run, or those types of them."""
    found: list[StoredEvent] = []
    while page := world.sql.read_events(key, after=found[-1].seq if found else 0):
        found.extend(page)
    return [one for one in found if not types or one.type in types]


def index(world: World, key: str = RUN) -> RunRow:
    """The row of a run in the index."""
    (row,) = world.sql.list_runs(RunFilter(run_id=key.removeprefix("run:")))
    return row


def started(world: World, key: str = RUN) -> RunStarted:
    """The event that began the run."""
    (event,) = events(world, "RunStarted", key=key)
    return RunStarted.from_data(event.data)


async def work_through(world: World, *rows: InboxRow) -> None:
    """Hand in one input after the other, each when all before it is done."""
    for row in rows:
        await world.work(row)
