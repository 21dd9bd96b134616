"""A small world with the flow engine: what tests of flows need beside `spine_kit` and `runs_kit`."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from engines.flows.core.engine import FlowEngine
from engines.flows.wiring import StoredMemory
from orchestrator.domain.actor import Mode
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from state.journal.async_store import AsyncStore
from state.journal.store import InboxRow
from tests.unit.runs import runs_kit
from tests.unit.spine_kit import World, a_world

SILENT = ModelClientError("no answer in 60 s")


def agent(prompt: str = "Ты помощник.", **fields: Any) -> dict[str, Any]:
    """An agent with this part."""
    return {"systemPrompt": prompt, **fields}


def step(name: str, *, success: str = "", failure: str = "", fail: bool | None = None, **fields: Any) -> dict[str, Any]:
    """A step of the agent "writer" that leads to these steps."""
    transitions: dict[str, Any] = {}
    if success:
        transitions["onSuccess"] = {"next": success}
    if failure or fail is not None:
        transitions["onFailure"] = {"next": failure or None, "fail": fail}
    return {"id": name, "name": name.upper(), "agentVersionId": "writer", "transitions": transitions, **fields}


def flow(*steps: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A flow of these steps."""
    return {"flowId": "plan", "metadata": {"title": "Проба"}, "steps": list(steps), **fields}


class Agents:
    """The published agents; a test may take one away."""

    def __init__(self, documents: Mapping[str, Any]) -> None:
        self.documents = dict(documents)
        self.asked = 0

    async def find(self, versions: list[str]) -> Mapping[str, object]:
        """Those of the versions that are there."""
        self.asked += 1
        return {one: self.documents[one] for one in versions if one in self.documents}


@asynccontextmanager
async def a_flow_world(
    folder: Path,
    document: Mapping[str, Any],
    agents: Mapping[str, Any] | None = None,
    *,
    mode: Mode = "full",
    policy: Mapping[str, Any] | None = None,
    memory: StoredMemory | None = None,
    world_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[World, Agents]]:
    """The product with the flow engine and a flow "plan"; the flow of the same steps is stored as "other", too.

    `options` are those of the engine.
    """
    found = Agents(agents if agents is not None else {"writer": agent()})
    memory = memory or StoredMemory(cast("AsyncStore", None))
    engines = Engines(
        runs={"flow": RegisteredEngine(engine=FlowEngine(found.find, memory, **options))},
        definitions=StaticDefinitions({("flow", "plan"): document, ("flow", "other"): document}),
    )
    async with a_world(folder, engines=engines, policy=policy, mode=mode, **(world_options or {})) as world:
        memory._store = world.store  # the world makes its store after its engines
        yield world, found


def start(parameters: Mapping[str, Any] | None = None, context: Mapping[str, Any] | None = None) -> InboxRow:
    """The input that starts the flow."""
    given = {PARAMETERS: parameters or {}, CONTEXT: context}
    return runs_kit.start(
        "plan", engine="flow", **{name: Value(dict(one), frozenset({"person"})) for name, one in given.items() if one is not None}
    )


def start_in_chat(text: str = "") -> InboxRow:
    """The input that starts the flow as its command in a chat does."""
    return runs_kit.start("plan", engine="flow", text=Value(text, frozenset({"person"})))


def result(world: World) -> Any:
    """What the run gave at its end."""
    (*_, event) = runs_kit.events(world, "RunFinished")
    return event.data["result"]


def find_reason(world: World) -> str:
    """Why the flow's step failed, as the message to its person says it."""
    notices = [notice for row in world.outbox() if row.kind == "reply" for notice in row.body["notices"]]
    return next(str(notice["args"]["why"]) for notice in notices if notice["code"] == "flow-step-failed")


async def rest(world: World) -> None:
    """Let the pause before the next attempt pass."""
    world.clock.advance(timedelta(seconds=1.1))
    await world.work()
