"""Builds the chart of a definition by its kind, for the pages that show one."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from engines.flows.core.chart import build_chart as build_flow_chart
from engines.flows.core.kind import FLOW
from engines.scenarios.core.authoring.chart import build_chart as build_scenario_chart
from engines.scenarios.core.kind import KIND as SCENARIO
from engines.scenarios.core.plan import StepTypes
from engines.scenarios.core.registry import build_step_types
from engines.scenarios.core.registry import load_plugins as load_step_plugins
from engines.workflows.core.chart import build_chart as build_workflow_chart
from engines.workflows.core.kind import WORKFLOW
from engines.workflows.core.registry import build_rune_types, load_plugins
from engines.workflows.core.rune_types import RuneTypes
from orchestrator.charts.chart import Chart

NO_PARTS: Final[Mapping[str, object]] = {}


def build_definition_chart(kind: str, document: object, parts: Mapping[str, object] = NO_PARTS) -> Chart | None:
    """Return the chart of a definition, also of one with mistakes; None for a kind that has none.

    `parts` are the documents of the tuums that a workflow names, by what is written in it.
    """
    if kind == FLOW:
        return build_flow_chart(document)
    if kind == SCENARIO:
        return build_scenario_chart(document, _load_step_types())
    if kind == WORKFLOW:
        return build_workflow_chart(document, _load_rune_types(), parts)
    return None


@cache
def _load_step_types() -> StepTypes:
    return build_step_types(load_step_plugins())


@cache
def _load_rune_types() -> RuneTypes:
    return build_rune_types(load_plugins())
