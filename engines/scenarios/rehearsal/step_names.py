"""The names under which tests know steps: what a misspelt one was meant to be, and which there are at all."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engines.scenarios.core.plan import Plan, StepTypes, build_plan
from orchestrator.engines.runs import RunFailed
from orchestrator.rehearsals.known_steps import KnownSteps, Names

_SUB_SCENARIO: Final = "execute_sub_scenario"
_SUB_SCENARIO_ID: Final = "sub_scenario_id"


def name_steps(plan: Plan) -> Names:
    """Return the name of each step of a scenario: its id as the author wrote it, `step-3` for the third if it has none.

    If another step has that as its id, the step without one is `#3`.
    """
    ids = {planned_step.step.id for planned_step in plan.steps}
    return {one.label: one.step.id or (one.label if one.label not in ids else f"#{one.index + 1}") for one in plan.steps}


def find_known_steps(key: str, documents: Mapping[str, Any], types: StepTypes) -> KnownSteps:
    """Return the steps of a scenario and of those that it may start, directly or through others; `documents` are all that there are.

    What cannot be played has no steps. Where a name is known only when a step is done, it may be any scenario.
    """
    names: dict[str, Names] = {}
    left = [key]
    while left:
        one = left.pop()
        document = documents.get(one)
        if one in names or document is None:
            continue
        try:
            plan = build_plan(document, types)
        except RunFailed:
            names[one] = {}
            continue
        names[one] = name_steps(plan)
        left += _list_started(plan, documents)
    return KnownSteps(key, names)


def _list_started(plan: Plan, documents: Mapping[str, Any]) -> Iterator[str]:
    for planned_step in plan.steps:
        named = planned_step.step.params.get(_SUB_SCENARIO_ID) if planned_step.type.name == _SUB_SCENARIO else None
        if isinstance(named, str):
            yield from documents if "{" in named else (named,)
