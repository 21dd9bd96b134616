"""Builds the engine of flows, and connects it with the store, for its agents and its memory. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from orchestrator.domain.outputs import Notice
from orchestrator.domain.own_reads import FindDocuments
from orchestrator.engines.flows.agents import KIND as AGENT
from orchestrator.engines.flows.agents import FindAgents
from orchestrator.engines.flows.engine import FlowEngine
from orchestrator.engines.flows.kind import AGENTS, FLOW, FLOWS
from orchestrator.runs.person_memory import StoredMemory
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand
from orchestrator.runs.stored_definitions import find_part
from state.journal.async_store import AsyncStore

COMMAND: Final = "flow"


def build_flows() -> RegisteredEngine:
    """Return the engine of flows with its command; until `connect_agents` it finds no agents."""
    return RegisteredEngine(
        engine=FlowEngine(),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-flow"))},
        describe=describe_flow,
        is_listed=partial(allows_start, "ui"),
        is_for_programs=partial(allows_start, "api"),
        kind=FLOWS,
        parts=(AGENTS,),
    )


def describe_flow(document: object) -> tuple[str, str]:
    """Return (title, description) of a flow."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    given: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    return str(given.get("title") or ""), str(given.get("description") or "")


def allows_start(trigger: str, document: object) -> bool:
    """Return whether a flow may be started so: its trigger `ui` or `api` is not false (S002-17, S002-A12)."""
    triggers = document.get("triggers") if isinstance(document, Mapping) else None
    return not isinstance(triggers, Mapping) or triggers.get(trigger) is not False


def connect_agents(engines: Engines, store: AsyncStore, find_documents: FindDocuments | None = None) -> Engines:
    """Return the engines in which flows find their agents, and keep what they remember of people, in `store`.

    Agents look for documents with `find_documents`.
    """
    found = engines.runs.get(FLOW)
    if found is None or not isinstance(found.engine, FlowEngine):
        return engines
    engine = found.engine.connect(build_agent_finder(store), find_documents, StoredMemory(store))
    return replace(engines, runs={**engines.runs, FLOW: replace(found, engine=engine)})


def build_agent_finder(store: AsyncStore) -> FindAgents:
    """Return the function that finds published agents in `store`."""

    async def find(versions: list[str], /) -> Mapping[str, object]:
        documents = {version: await find_part(store, AGENT, version) for version in versions}
        return {version: document for version, document in documents.items() if document is not None}

    return find
