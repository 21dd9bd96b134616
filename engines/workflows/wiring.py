"""Builds the engine of workflows and connects it with the store. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

from bot.plugins.wiring import EnginePorts, Wiring
from engines.workflows.core.engine import FindTuums, WorkflowEngine
from engines.workflows.core.kind import TUUM, build_kinds
from engines.workflows.core.registry import build_rune_types, load_plugins
from engines.workflows.stored_blocks import build_record_host
from orchestrator.domain.outputs import Notice
from orchestrator.engines.shared.declared import allows_start, describe_flow
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import RegisteredEngine, RunCommand
from orchestrator.runs.stored_definitions import find_part
from state.journal.async_store import AsyncStore

COMMAND: Final = "workflow"


def build_workflows() -> RegisteredEngine:
    """Until `connect` it finds no tuums, and nobody closes its sandbox."""
    types = build_rune_types(load_plugins())
    workflows, tuums = build_kinds(types)
    return RegisteredEngine(
        engine=WorkflowEngine(types, ScriptRunner()),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-workflow"))},
        describe=describe_flow,
        is_listed=partial(allows_start, "ui"),
        is_for_programs=partial(allows_start, "api"),
        kind=workflows,
        parts=(tuums,),
    )


def connect(workflows: RegisteredEngine, ports: EnginePorts) -> RegisteredEngine:
    assert isinstance(workflows.engine, WorkflowEngine)  # noqa: S101 - as it was built here
    host = build_record_host(ports.store, ports.catalogue, ports.naming)
    return replace(workflows, engine=workflows.engine.connect(build_tuum_finder(ports.store), ports.scripts, host))


def build_tuum_finder(store: AsyncStore) -> FindTuums:

    async def find(versions: list[str], /) -> Mapping[str, object]:
        documents = {version: await find_part(store, TUUM, version) for version in versions}
        return {version: document for version, document in documents.items() if document is not None}

    return find


WIRING: Final = Wiring(build=build_workflows, connect=connect)
