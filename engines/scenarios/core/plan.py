"""The steps of a scenario as a run plays them, and where they lead: which are reached, which repeat without end. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from pydantic import ValidationError

from engines.scenarios.core.definition import BRANCHES, Scenario, Step
from engines.scenarios.core.spoken import SpokenType, find_spoken
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
    spoken: Template | None = None
    """The parameters of it that people read."""

    def fill(self, variables: Mapping[str, Value], spoken: Mapping[str, Value]) -> Filled:
        """`spoken` are the variables as people read them. Raises TemplateRefused."""
        filled = self.template.fill(variables)
        texts = self.spoken.fill(spoken).data if self.spoken is not None and spoken is not variables else {}
        return replace(filled, data={**filled.data, **texts, **self.unfilled})

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
    spoken: Mapping[str, SpokenType] = field(default_factory=dict)

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
    return Plan(
        name=scenario.name,
        initial=scenario.initial_context,
        steps=steps,
        places=places,
        spoken=find_spoken([(one.type.name, one.step.params) for one in steps]),
    )


def name_label(index: int, step_id: str) -> str:
    """Its id, or its place in the list where that is no name."""
    return step_id if step_id.isidentifier() and step_id != _TAKEN else f"step-{index + 1}"


def _plan_step(index: int, step: Step, types: StepTypes) -> PlannedStep:
    step_type = find_type(step.type, step.params, types)
    if step_type is None:
        raise RunFailed("scenario-step-unknown", f"step {index}: nothing is installed that does {step.type}", step=step.id, type=step.type)
    params = {name: param for name, param in step.params.items() if name != ACTION_TYPE}
    fixed = step_type.unfilled.union(str(path[0]) for path, _ in step_type.list_targets(params))  # no variable chooses where a run goes
    spoken = {name: params[name] for name in step_type.spoken if name in params}
    return PlannedStep(
        index=index,
        label=name_label(index, step.id),
        step=step,
        type=step_type,
        template=Template({name: param for name, param in params.items() if name not in fixed}, SCENARIO),
        spoken=Template(spoken, SCENARIO) if spoken else None,
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


Place = tuple[str | int, ...]
_NO_PARAMS: Final[JsonObject] = {}


@dataclass(frozen=True, slots=True)
class Target:
    path: Place
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    index: int
    id: str
    type: AnyStepType | None
    params: JsonObject
    targets: Sequence[Target]
    leads_to: Sequence[int]
    goes_to: int | None
    """The one that follows if nothing is refused; None after the last."""

    @property
    def is_pause(self) -> bool:
        """A loop through it ends or rests. What an unknown type does is not known."""
        return self.type is None or self.type.waits or self.type.decides


def list_steps(document: object) -> Sequence[Any]:
    steps = document.get("steps") if isinstance(document, Mapping) else None
    return steps if isinstance(steps, list) else []


def build_graph(steps: Sequence[object], types: StepTypes) -> list[Node]:
    """What is no step leads to the next in the list, an unknown name nowhere."""
    places: dict[str, int] = {}
    for index, step in enumerate(steps):
        if isinstance(step, Mapping) and isinstance(step.get("id"), str) and step["id"]:
            places.setdefault(step["id"], index)
    return [
        _build_node(index, step if isinstance(step, Mapping) else _NO_PARAMS, places, types, len(steps)) for index, step in enumerate(steps)
    ]


def _build_node(index: int, step: JsonObject, places: Mapping[str, int], types: StepTypes, count: int) -> Node:
    raw_params = step.get("params")
    params: JsonObject = raw_params if isinstance(raw_params, Mapping) else _NO_PARAMS
    kind = step.get("type")
    step_type = find_type(kind, params, types) if isinstance(kind, str) else None
    targets = list(_list_targets(index, step, params, step_type))
    follows = [places[target.id] for target in targets if target.id in places]
    branches = step.get("branches")
    has_both = isinstance(branches, Mapping) and all(isinstance(branches.get(way), str) for way in BRANCHES)
    goes_on = step_type is None or (step_type.can_continue(params) and not (step_type.decides and has_both))
    after: int | None = index + 1 if goes_on and index + 1 < count else None
    if isinstance(step.get("next_step"), str) and step["next_step"]:
        after = places.get(step["next_step"])
    elif after is not None:
        follows.append(after)
    name = step.get("id")
    return Node(
        index=index,
        id=name if isinstance(name, str) else "",
        type=step_type,
        params=params,
        targets=targets,
        leads_to=follows,
        goes_to=after,
    )


def _list_targets(index: int, step: JsonObject, params: JsonObject, step_type: AnyStepType | None) -> Iterator[Target]:
    base: Place = ("steps", index)
    if isinstance(step.get("next_step"), str) and step["next_step"]:
        yield Target((*base, "next_step"), step["next_step"])
    if step_type is None:
        return
    branches = step.get("branches")
    if step_type.decides and isinstance(branches, Mapping):
        yield from (Target((*base, "branches", way), branches[way]) for way in BRANCHES if isinstance(branches.get(way), str))
    yield from (Target((*base, "params", *path), name) for path, name in step_type.list_targets(params))


def find_reached(nodes: Sequence[Node]) -> frozenset[int]:
    seen: set[int] = set()
    waiting = [0] if nodes else []
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting.extend(nodes[place].leads_to)
    return frozenset(seen)


def find_endless_loops(nodes: Sequence[Node]) -> list[list[int]]:
    """No step of such a loop waits or decides, and nothing need be refused. Places are in order."""
    state: dict[int, str] = {}
    loops: list[list[int]] = []
    for first in range(len(nodes)):
        way: list[int] = []
        place: int | None = first
        while place is not None and place not in state and not nodes[place].is_pause:
            state[place] = "open"
            way.append(place)
            place = nodes[place].goes_to
        if place is not None and state.get(place) == "open":
            loops.append(way[way.index(place) :])
        state.update(dict.fromkeys(way, "done"))
    return loops
