"""A small world with the engine of workflows: what its tests need beside `workflow_kit`, `spine_kit` and `runs_kit`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.wiring import COMMAND
from orchestrator.domain.actor import Mode
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.declared import describe_flow
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand, StaticDefinitions
from state.journal.store import InboxRow
from tests.unit.engines.workflows.workflow_kit import TYPES
from tests.unit.runs import runs_kit
from tests.unit.spine_kit import World, a_world


def code(source: str, *, consumes: str = "", produces: str = "") -> dict[str, Any]:
    """A script that reads and gives these variables, written with blanks between them."""
    return {"source": source, "consumes": consumes.split(), "produces": produces.split()}


@asynccontextmanager
async def a_workflow_world(
    folder: Path,
    document: Mapping[str, Any],
    *,
    key: str = "dossier",
    mode: Mode = "full",
    tuums: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    world_options: Mapping[str, Any] | None = None,
) -> AsyncIterator[World]:
    """The product with the engine of workflows, a workflow of this key, and tuums that are stored on their own."""

    async def find(versions: list[str], /) -> Mapping[str, object]:
        return {one: (tuums or {})[one] for one in versions if one in (tuums or {})}

    async with ScriptRunner() as scripts:
        engines = Engines(
            runs={
                "workflow": RegisteredEngine(
                    engine=WorkflowEngine(TYPES, scripts, find), commands={COMMAND: RunCommand(definition="")}, describe=describe_flow
                )
            },
            definitions=StaticDefinitions({("workflow", key): document}),
        )
        async with a_world(folder, engines=engines, policy=policy, mode=mode, **(world_options or {})) as world:
            yield world


def start(**parameters: Any) -> InboxRow:
    """The input that starts the workflow with these parameters."""
    return runs_kit.start("dossier", engine="workflow", **{PARAMETERS: Value(parameters, frozenset({"person"}))})


def result(world: World) -> Any:
    """What the run gave at its end."""
    (*_, event) = runs_kit.events(world, "RunFinished")
    return event.data["result"]
