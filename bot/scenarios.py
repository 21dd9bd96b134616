"""Builds the engine of scenarios with everything that its steps reach. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from orchestrator.domain.outputs import Notice
from orchestrator.engines.scenarios.definition import is_for_customers
from orchestrator.engines.scenarios.engine import ScenarioEngine
from orchestrator.engines.scenarios.kind import KIND, build_kind, list_uses
from orchestrator.engines.scenarios.registry import build_step_types, load_plugins
from orchestrator.engines.scenarios.step_types import FindDocuments
from orchestrator.runs.registry import Engines, RegisteredEngine, RunCommand

COMMAND: Final = "run"


def build_scenarios() -> RegisteredEngine:
    """Return the engine of scenarios with the steps of this program and of installed plugins, and its command."""
    types = build_step_types(load_plugins())
    return RegisteredEngine(
        engine=ScenarioEngine(types),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-run"))},
        list_uses=partial(list_uses, types=types),
        describe=describe_scenario,
        is_for_customers=is_for_customers,
        kind=build_kind(types),
    )


def describe_scenario(document: object) -> tuple[str, str]:
    """Return (name, description) of a scenario."""
    given: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    return str(given.get("name") or ""), str(given.get("description") or "")


def connect_documents(engines: Engines, find: FindDocuments) -> Engines:
    """Return the engines in which the steps of scenarios look for documents with `find`."""
    found = engines.runs.get(KIND)
    if found is None or not isinstance(found.engine, ScenarioEngine):
        return engines
    return replace(engines, runs={**engines.runs, KIND: replace(found, engine=found.engine.connect(find))})
