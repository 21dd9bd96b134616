"""Builds the engine of workflows. Part of the composition root."""

from functools import partial

from bot.flows import allows_start, describe_flow
from orchestrator.engines.workflows.engine import WorkflowEngine
from orchestrator.engines.workflows.kind import build_kinds
from orchestrator.engines.workflows.registry import build_rune_types, load_plugins
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.runs.registry import RegisteredEngine


def build_workflows() -> RegisteredEngine:
    """Return the engine of workflows with the runes of this program and of installed plugins."""
    types = build_rune_types(load_plugins())
    workflows, tuums = build_kinds(types)
    return RegisteredEngine(
        engine=WorkflowEngine(types, ScriptRunner()),
        describe=describe_flow,
        is_listed=partial(allows_start, "ui"),
        is_for_programs=partial(allows_start, "api"),
        kind=workflows,
        parts=(tuums,),
    )
