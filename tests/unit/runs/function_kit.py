"""A world whose only engine is a function of the test: what an engine that is written badly may do to a run."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.domain.actor import Mode
from orchestrator.engines.runs import RunContext, RunResult
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.turns.feature import merge_features
from state.sql.store import SqlStore
from tests.unit.runs.runs_kit import events
from tests.unit.spine_kit import World, a_world
from tests.unit.spine_portal import Portal

Play = Callable[[RunContext], Awaitable[Any]]
FAILED = "failed"
"""The code of the sentence that something went wrong inside; operations staff find the cause in the log."""


class FunctionEngine:
    """Calls the function each time the run is played; its result need not be what an engine must give."""

    replay = 1
    replays = frozenset({1})

    def __init__(self, play: Play) -> None:
        self.play = play

    async def run(self, ctx: RunContext) -> RunResult:
        """Call the function."""
        return await self.play(ctx)  # type: ignore[no-any-return]  # some tests give something else on purpose


@asynccontextmanager
async def a_function_world(
    folder: Path,
    play: Play,
    *,
    store: SqlStore | None = None,
    portal: Portal | None = None,
    document: Any = None,
    policy: Mapping[str, Any] | None = None,
    mode: Mode = "full",
) -> AsyncIterator[World]:
    """The product with an engine "steps" that is the function, and the definition "plan", by default with nothing in it that matters."""
    engines = Engines(
        runs={"steps": RegisteredEngine(engine=FunctionEngine(play))},
        definitions=StaticDefinitions({("steps", "plan"): document or {"is": "code"}}),
    )
    async with a_world(folder, store=store, portal=portal, policy=policy, mode=mode) as world:
        tools = world.orchestrator.tools
        world.orchestrator.tools = replace(tools, features=merge_features(tools.features, build_feature(engines)))
        yield world


def ended(world: World) -> list[tuple[str, str]]:
    """The ends of the run, each as (status, code)."""
    return [(one.data["status"], one.data.get("code", "")) for one in events(world, "RunFinished")]
