"""The JSON Schemas of the kinds of definitions that have one, with the types of steps and runes of installed plugins."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from bot.console.definitions.graph import load_rune_types, load_step_types
from engines.flows.core.agents import KIND as AGENT
from engines.flows.core.schema import build_agent_schema
from engines.scenarios.core.authoring.schema import build_schema as build_scenario_schema
from engines.scenarios.core.kind import KIND as SCENARIO
from engines.workflows.core.kind import TUUM, WORKFLOW
from engines.workflows.core.schema import build_tuum_schema, build_workflow_schema
from state.stored import JsonObject

_BUILDERS: Final[Mapping[str, Callable[[], JsonObject]]] = {
    AGENT: build_agent_schema,
    SCENARIO: lambda: build_scenario_schema(load_step_types()),
    TUUM: lambda: build_tuum_schema(load_rune_types()),
    WORKFLOW: lambda: build_workflow_schema(load_rune_types()),
}


@cache
def build_kind_schema(kind: str) -> JsonObject | None:
    """Return the schema of a kind, None if none is published."""
    build = _BUILDERS.get(kind)
    return build() if build is not None else None
