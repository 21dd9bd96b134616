"""Builds the engine of flows and connects it with the store. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from bot.plugins.wiring import EnginePorts, Wiring
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.agents import FindAgents
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import AGENTS, FLOWS
from engines.flows.stored_memory import StoredMemory
from orchestrator.domain.outputs import Notice
from orchestrator.engines.shared.declared import allows_start, describe_flow
from orchestrator.runs.registry import RegisteredEngine, RunCommand
from orchestrator.runs.stored_definitions import find_part
from state.journal.async_store import AsyncStore

COMMAND: Final = "flow"


def build_flows() -> RegisteredEngine:
    """Until `connect` it finds no agents."""
    return RegisteredEngine(
        engine=FlowEngine(),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-flow"))},
        describe=describe_flow,
        is_listed=partial(allows_start, "ui"),
        is_for_programs=partial(allows_start, "api"),
        is_offered=True,
        kind=FLOWS,
        parts=(AGENTS,),
    )


def connect(flows: RegisteredEngine, ports: EnginePorts) -> RegisteredEngine:
    assert isinstance(flows.engine, FlowEngine)  # noqa: S101 - as it was built here
    engine = flows.engine.connect(build_agent_finder(ports.store), ports.find_documents, StoredMemory(ports.store))
    return replace(flows, engine=engine)


def build_agent_finder(store: AsyncStore) -> FindAgents:

    async def find(versions: list[str], /) -> Mapping[str, object]:
        documents = {version: await find_part(store, AGENT, version) for version in versions}
        return {version: document for version, document in documents.items() if document is not None}

    return find


WIRING: Final = Wiring(build=build_flows, connect=connect)
