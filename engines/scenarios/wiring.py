"""Builds the engine of scenarios. Part of the composition root."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from bot.plugins.wiring import EnginePorts, Wiring
from engines.scenarios.core.definition import is_for_customers
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import build_kind, list_uses
from engines.scenarios.core.registry import build_step_types, load_plugins
from engines.scenarios.core.variables import find_reserved
from orchestrator.domain.outputs import Notice
from orchestrator.runs.registry import RegisteredEngine, RunCommand

COMMAND: Final = "run"


def build_scenarios() -> RegisteredEngine:
    types = build_step_types(load_plugins())
    return RegisteredEngine(
        engine=ScenarioEngine(types),
        commands={COMMAND: RunCommand(definition="", menu=Notice(code="menu-run"))},
        list_uses=partial(list_uses, types=types),
        describe=describe_scenario,
        is_for_customers=is_for_customers,
        find_reserved=find_reserved,
        is_offered=True,
        kind=build_kind(types),
    )


def describe_scenario(document: object) -> tuple[str, str]:
    scenario: Mapping[str, Any] = document if isinstance(document, Mapping) else {}
    return str(scenario.get("name") or ""), str(scenario.get("description") or "")


def connect(scenarios: RegisteredEngine, ports: EnginePorts) -> RegisteredEngine:
    """Return the engine within the bounds of the settings, connected with documents and files."""
    assert isinstance(scenarios.engine, ScenarioEngine)  # noqa: S101 - as it was built here
    settings = ports.settings
    engine = replace(
        scenarios.engine,
        find_documents=ports.find_documents,
        read_file=ports.read_file,
        download=ports.download,
        most_steps=settings.scenario_max_steps,
        most_depth=settings.scenario_max_depth,
        most_seconds=settings.scenario_max_seconds,
    )
    return replace(scenarios, engine=engine)


WIRING: Final = Wiring(build=build_scenarios, connect=connect)
