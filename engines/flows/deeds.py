"""What a canvas does to a flow: steps, and where they lead after an answer and after a failure. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from bot.plugins.kind_face import Deeds, Say, StepChoice
from engines.flows.core.definition import AGENT
from orchestrator.charts.chart import Port
from orchestrator.documents.changing import find_value, insert_item, remove_value, set_value
from orchestrator.domain.finding import Path

_STEPS: Final = "steps"
_START: Final = "startStepId"
_NEXT, _COMPLETE = "next", "complete"
_ROUTES: Final = ("onSuccess", "onFailure")
_WORDS: Final = ("", "flow-way-failure")


def list_ports(index: int) -> tuple[Port, ...]:
    """After an answer, and after a failure."""
    return tuple(Port(path=(_STEPS, index, "transitions", route, _NEXT), word=word) for route, word in zip(_ROUTES, _WORDS, strict=True))


def connect(document: object, source: str, port: int, target: str) -> object:
    """What would end the flow there goes away."""
    index = _find_index(document, source)
    if index is None or not 0 <= port < len(_ROUTES) or _find_index(document, target) is None:
        return document
    path = list_ports(index)[port].path
    return set_value(remove_value(document, (*path[:-1], _COMPLETE), keep=len(path) - 1), path, target)


def disconnect(document: object, source: str, port: int, target: str) -> object:
    index = _find_index(document, source)
    if index is None or not 0 <= port < len(_ROUTES):
        return document
    path = list_ports(index)[port].path
    return remove_value(document, path, keep=2) if find_value(document, path) == target else document


def add(document: object, kind: str, source: str, port: int) -> tuple[object, str]:
    """Behind its source, on that way; it leads where that way led. `kind` is always that of an agent."""
    del kind
    key, index = find_free_id(document), _find_index(document, source)
    step: dict[str, Any] = {"id": key, "agentVersionId": ""}
    if index is None or not 0 <= port < len(_ROUTES):
        return insert_item(document, (_STEPS,), len(_list_steps(document)), step), key
    target = find_value(document, list_ports(index)[port].path)
    if isinstance(target, str) and target:
        step["transitions"] = {_ROUTES[0]: {_NEXT: target}}
    document = insert_item(document, (_STEPS,), index + 1, step)
    return connect(document, source, port, key), key


def remove(document: object, keys: Sequence[str]) -> object:
    """What led to a step leads to what followed it after an answer; the start, too."""
    for key in keys:
        index = _find_index(document, key)
        if index is None:
            continue
        found = find_value(document, list_ports(index)[0].path)
        successor = found if isinstance(found, str) and found != key else ""
        places: list[Path] = [(_START,)]
        places += [port.path for number in range(len(_list_steps(document))) if number != index for port in list_ports(number)]
        for place in places:
            if find_value(document, place) == key:
                document = (
                    set_value(document, place, successor) if successor else remove_value(document, place, keep=min(2, len(place) - 1))
                )
        steps = _list_steps(document)
        document = set_value(document, (_STEPS,), [*steps[:index], *steps[index + 1 :]])
    return document


def list_types(say: Say) -> Sequence[StepChoice]:
    return [StepChoice(value=AGENT, label=say("flow-add-step"))]


FLOW_DEEDS: Final = Deeds(list_types=list_types, add=add, connect=connect, disconnect=disconnect, remove=remove)


def _list_steps(document: object) -> Sequence[Any]:
    steps = document.get(_STEPS) if isinstance(document, Mapping) else None
    return steps if isinstance(steps, list) else []


def _find_index(document: object, key: str) -> int | None:
    steps = enumerate(_list_steps(document))
    return next((index for index, step in steps if key and isinstance(step, Mapping) and step.get("id") == key), None)


def find_free_id(document: object) -> str:
    taken = {step.get("id") for step in _list_steps(document) if isinstance(step, Mapping)}
    return next(key for number in range(len(taken) + 1, 2 * len(taken) + 3) if (key := f"step{number}") not in taken)
