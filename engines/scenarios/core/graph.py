"""Where the steps of a scenario lead: which are reached, which repeat without end. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from engines.scenarios.core.definition import BRANCHES
from engines.scenarios.core.plan import StepTypes, find_type
from engines.scenarios.core.step_types import AnyStepType
from state.stored import JsonObject

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
