from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic import ValidationError

from engines.scenarios.core.definition import Scenario, Step
from engines.scenarios.core.step_types import AnyStepType, StepParams
from orchestrator.domain.finding import DefinitionRefused
from orchestrator.domain.taint import Value, split_values
from orchestrator.engines.runs import RunFailed
from orchestrator.expressions.conditions import Condition, compile_condition
from orchestrator.expressions.placeholders import SCENARIO, Filled, Template, TemplateRefused
from state.canonical import dumps, hash_text
from state.stored import JsonObject

StepTypes = Mapping[str, AnyStepType]
ACTION: Final = "action"
ACTION_TYPE: Final = "action_type"
_MOST_PLANS: Final = 100
_TAKEN: Final = "say"
"""No label of a node: the context keeps the messages of a run under it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    index: int
    label: str
    """Begins the names of its nodes: its id, or its number where that cannot be."""
    step: Step
    type: AnyStepType
    template: Template
    unfilled: JsonObject
    condition: Condition | None

    def fill(self, variables: Mapping[str, Value]) -> Filled:
        """Raises TemplateRefused."""
        filled = self.template.fill(variables)
        return replace(filled, data={**filled.data, **self.unfilled})

    def parse(self, filled: JsonObject) -> StepParams:
        """Raises ValidationError."""
        params: StepParams = self.type.params.model_validate(split_values(filled)[0])
        return params


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    name: str
    initial: JsonObject
    steps: Sequence[PlannedStep]
    places: Mapping[str, int] = field(default_factory=dict)

    def find_place(self, key: str) -> int | None:
        return self.places.get(key)


def find_type(step_type: str, params: JsonObject, types: StepTypes) -> AnyStepType | None:
    """None for an unknown one. `action_type` names the type of an `action` (S000-45)."""
    if step_type != ACTION:
        return types.get(step_type)
    action_type = params.get(ACTION_TYPE)
    type_ = types.get(action_type) if isinstance(action_type, str) else None
    return type_ if type_ is not None and type_.is_action else None


def build_plan(document: object, types: StepTypes) -> Plan:
    """Raises RunFailed for a scenario that a validator would have refused."""
    try:
        scenario = Scenario.model_validate(document)
        steps = [_plan_step(index, step, types) for index, step in enumerate(scenario.steps)]
    except (ValidationError, DefinitionRefused, TemplateRefused) as error:
        raise RunFailed("scenario-broken", f"the scenario cannot be played: {type(error).__name__}") from None
    places = {planned_step.step.id: planned_step.index for planned_step in steps if planned_step.step.id}
    return Plan(name=scenario.name, initial=scenario.initial_context, steps=steps, places=places)


def name_label(index: int, step_id: str) -> str:
    """Its id, or its place in the list where that is no name."""
    return step_id if step_id.isidentifier() and step_id != _TAKEN else f"step-{index + 1}"


def _plan_step(index: int, step: Step, types: StepTypes) -> PlannedStep:
    step_type = find_type(step.type, step.params, types)
    if step_type is None:
        raise RunFailed("scenario-step-unknown", f"step {index}: nothing is installed that does {step.type}", step=step.id, type=step.type)
    params = {name: param for name, param in step.params.items() if name != ACTION_TYPE}
    fixed = step_type.unfilled.union(str(path[0]) for path, _ in step_type.list_targets(params))  # no variable chooses where a run goes
    return PlannedStep(
        index=index,
        label=name_label(index, step.id),
        step=step,
        type=step_type,
        template=Template({name: param for name, param in params.items() if name not in fixed}, SCENARIO),
        unfilled={name: param for name, param in params.items() if name in fixed},
        condition=compile_condition(step.condition) if step_type.decides and step.condition is not None else None,
    )


class Plans:
    def __init__(self, types: StepTypes) -> None:
        self._types = types
        self._plans: dict[str, Plan] = {}

    def find(self, document: object) -> Plan:
        """Raises RunFailed."""
        digest = hash_text(dumps(document))
        plan = self._plans.pop(digest, None) or build_plan(document, self._types)
        self._plans[digest] = plan
        if len(self._plans) > _MOST_PLANS:
            del self._plans[next(iter(self._plans))]
        return plan
