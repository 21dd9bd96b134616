from collections.abc import Iterator, Mapping
from typing import Any, Final

from engines.scenarios.core.plan import Plan, StepTypes, build_plan
from orchestrator.engines.runs import RunFailed
from orchestrator.rehearsals.known_steps import KnownSteps, Names

_SUB_SCENARIO: Final = "execute_sub_scenario"
_SUB_SCENARIO_ID: Final = "sub_scenario_id"


def name_steps(plan: Plan) -> Names:
    """The author's id, or `step-3` for the third step without one, or `#3` if that is an id of another."""
    ids = {planned_step.step.id for planned_step in plan.steps}
    return {one.label: one.step.id or (one.label if one.label not in ids else f"#{one.index + 1}") for one in plan.steps}


def find_known_steps(key: str, documents: Mapping[str, Any], types: StepTypes) -> KnownSteps:
    """Names in a scenario and those that it may start; `documents` are all. A name known only in the run may be any scenario."""
    names: dict[str, Names] = {}
    left = [key]
    while left:
        scenario_key = left.pop()
        document = documents.get(scenario_key)
        if scenario_key in names or document is None:
            continue
        try:
            plan = build_plan(document, types)
        except RunFailed:
            names[scenario_key] = {}
            continue
        names[scenario_key] = name_steps(plan)
        left += _list_started(plan, documents)
    return KnownSteps(key, names)


def _list_started(plan: Plan, documents: Mapping[str, Any]) -> Iterator[str]:
    for planned_step in plan.steps:
        started_key = planned_step.step.params.get(_SUB_SCENARIO_ID) if planned_step.type.name == _SUB_SCENARIO else None
        if isinstance(started_key, str):
            yield from documents if "{" in started_key else (started_key,)
