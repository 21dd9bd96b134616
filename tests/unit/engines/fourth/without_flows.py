"""Played in a process whose package `engines` has no folder of flows: a run of a scenario and one of a workflow, and what doors show."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from bot.composition import process
from bot.http_api.routers import build_read_routers
from bot.http_api.server.app import build_app
from bot.plugins.building import load_installed_engines
from bot.plugins.loading import list_faults
from orchestrator.domain.run_inputs import RunStart
from orchestrator.domain.taint import Value
from orchestrator.runs.registry import Engines, StaticDefinitions
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.journal.store import InboxRow
from tests.unit.engines.workflows.workflow_kit import put, tuum, workflow
from tests.unit.spine_kit import ANNA, CHAT, NOW, a_world

DOCUMENTS = {
    ("scenario", "hello"): {"name": "Привет", "steps": [{"type": "message", "params": {"text": "Здравствуйте"}}]},
    ("workflow", "sum"): workflow(
        tuum("one", put("answer", "Готово"), outputMappings={"answer": "answer"}), terminal={"rawText": "answer"}
    ),
}


def build_start(engine: str, key: str) -> InboxRow:
    """The input that starts a run."""
    run = f"run:{generate_id()}"
    order = RunStart(engine=engine, definition=key, home=CHAT, args={"parameters": Value({}).to_stored()})
    actor = ANNA.model_dump(mode="json")
    return InboxRow(
        id=generate_id(),
        source=f"start:{run}",
        session=run,
        lane="turn",
        kind=RunStart.KIND,
        actor=actor,
        body=order.to_json(),
        received_at=NOW,
    )


async def play() -> None:
    """Play both, and print what came of it."""
    engines = Engines(runs=load_installed_engines().runs, definitions=StaticDefinitions(DOCUMENTS))
    async with a_world(Path(tempfile.mkdtemp()), engines=engines) as world:
        await world.work(*(build_start(engine, key) for engine, key in DOCUMENTS))
        paths = build_app(*build_read_routers(world.orchestrator, world.clock, engines)).openapi()["paths"]
        commands = world.tools.features.commands
        told = {
            "engines": list(engines.runs),
            "faults": [fault.describe() for fault in list_faults()],
            "statuses": {row.definition: row.status for row in world.sql.list_runs(RunFilter())},
            "paths": [path for path in paths if "flows" in path],
            "commands": [name for name in ("run", "flow", "workflow") if name in commands],
        }
    assert process.run_bot is not None
    assert not [name for name in sys.modules if name.startswith("engines.flows")]
    sys.stdout.write(json.dumps(told))


def main() -> None:
    """Play it."""
    asyncio.run(play())
