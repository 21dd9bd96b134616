"""What a canvas draws and does: the ways out of each step, and documents with a step or a way more or less. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from engines.scenarios.core.definition import BRANCHES
from engines.scenarios.core.plan import Node, StepTypes, build_graph, list_steps
from engines.scenarios.core.step_types import AnyStepType
from orchestrator.charts.chart import Port, cut_text
from orchestrator.documents.changing import find_value, insert_item, remove_value, set_value
from orchestrator.domain.finding import Path
from state.stored import JsonObject

_STEPS: Final = "steps"
_NEXT, _MAP, _DEFAULT = "next_step", "next_step_map", "default"
_REFUSALS: Final = ("on_invalid", "on_timeout", "on_refused")
_LONGEST_LABEL: Final = 24
_TEXT: Final = "string"


def list_ports(node: Node) -> tuple[Port, ...]:
    """The usual way first; those that are chosen, and those that could be."""
    base: Path = (_STEPS, node.index)
    kind = node.type
    if kind is None:
        return (Port(path=(*base, _NEXT)),)
    ports = [Port(path=(*base, "branches", way), word=f"scenario-way-{way}") for way in BRANCHES] if kind.decides else []
    if kind.can_continue(node.params) and not kind.decides:
        ports.insert(0, Port(path=(*base, _NEXT)))
    known = [Port(path=(*base, "params", *path), word=_name_way(path), label=_label_way(path)) for path in _list_ways(kind, node.params)]
    return (*ports, *known)


def _list_ways(kind: AnyStepType, params: JsonObject) -> list[Path]:
    """Paths in the parameters: of buttons and other answers, then of what goes wrong."""
    fields = kind.params.model_fields
    ways: list[Path] = [(_MAP, text) for text in _list_answers(params)] if _MAP in fields else []
    ways += [(_MAP, _DEFAULT)] if ways else []
    ways += [(name,) for name in _REFUSALS if name in fields and (name != "on_timeout" or params.get("timeout") is not None)]
    ways += [path for path, _ in kind.list_targets(params) if path not in ways]
    return ways


def _list_answers(params: JsonObject) -> list[str]:
    buttons = params.get("buttons")
    texts = [one.get("value", one.get("text")) if isinstance(one, Mapping) else one for one in buttons] if isinstance(buttons, list) else []
    return list(dict.fromkeys(text for text in texts if isinstance(text, str) and text))


def _name_way(path: Path) -> str:
    return "" if path[0] == _MAP and path[-1] != _DEFAULT else f"scenario-way-{str(path[-1]).removeprefix('on_')}"


def _label_way(path: Path) -> str:
    return "" if _name_way(path) else cut_text(str(path[-1]), _LONGEST_LABEL)


class ScenarioDeeds:
    """Steps are named by their ids; one without an id gets one when a way must lead to it."""

    def __init__(self, types: StepTypes) -> None:
        self._types = types

    def connect(self, document: object, source: str, port: int, target: str) -> object:
        node, way = self._find_port(document, source, port)
        if node is None or way is None or self._find_node(document, target) is None:
            return document
        if way.path[-1] == _NEXT and self._follows(document, node, target):
            return remove_value(document, way.path, keep=2)
        return set_value(document, way.path, target)

    def disconnect(self, document: object, source: str, port: int, target: str) -> object:
        _, way = self._find_port(document, source, port)
        return remove_value(document, way.path, keep=2) if way is not None and find_value(document, way.path) == target else document

    def add(self, document: object, step_type: str, source: str, port: int) -> tuple[object, str]:
        """Behind its source, on that way; without one at the end."""
        key, kind = self._find_free_id(document, step_type), self._types.get(step_type)
        step = {"id": key, "type": step_type, **_build_params(kind)}
        node, way = self._find_port(document, source, port)
        if node is None or way is None:
            return insert_item(document, (_STEPS,), len(list_steps(document)), step), key
        target = find_value(document, way.path)
        if way.path[-1] == _NEXT:
            document = remove_value(document, way.path, keep=2)
        else:
            document, after = self._name_next(document, node)
            if not isinstance(target, str):
                target = after
            document = set_value(document, (_STEPS, node.index, _NEXT), after) if after and _goes_on(node) else document
            document = set_value(document, way.path, key)
        if isinstance(target, str) and target and (kind is None or kind.can_continue({})):
            step[_NEXT] = target
        return insert_item(document, (_STEPS,), node.index + 1, step), key

    def remove(self, document: object, keys: Sequence[str]) -> object:
        for key in keys:
            document = self._remove_one(document, key)
        return document

    def _remove_one(self, document: object, key: str) -> object:
        node = self._find_node(document, key)
        if node is None:
            return document
        graph = build_graph(list_steps(document), self._types)
        places = [target.path for one in graph if one.index != node.index for target in one.targets if target.id == key]
        successor = ""
        if places and node.goes_to is not None:
            document, successor = self._name_step(document, node.goes_to)
        for place in places:
            document = set_value(document, place, successor) if successor and successor != key else remove_value(document, place, keep=2)
        before = graph[node.index - 1] if node.index else None
        is_jump = node.goes_to is not None and node.goes_to != node.index + 1
        if before is not None and before.goes_to == node.index and is_jump and (_STEPS, before.index, _NEXT) not in places:
            document, name = self._name_step(document, node.goes_to or 0)
            document = set_value(document, (_STEPS, before.index, _NEXT), name)
        return _remove_step(document, node.index)

    def _find_port(self, document: object, source: str, port: int) -> tuple[Node | None, Port | None]:
        node = self._find_node(document, source)
        ports = list_ports(node) if node is not None else ()
        return (node, ports[port]) if 0 <= port < len(ports) else (node, None)

    def _find_node(self, document: object, key: str) -> Node | None:
        return next((node for node in build_graph(list_steps(document), self._types) if node.id == key), None) if key else None

    def _follows(self, document: object, node: Node, target: str) -> bool:
        steps = list_steps(document)
        after = steps[node.index + 1] if node.index + 1 < len(steps) else None
        return isinstance(after, Mapping) and after.get("id") == target

    def _name_next(self, document: object, node: Node) -> tuple[object, str]:
        """What follows it in the end, "" for nothing."""
        return self._name_step(document, node.goes_to) if node.goes_to is not None else (document, "")

    def _name_step(self, document: object, index: int) -> tuple[object, str]:
        step = list_steps(document)[index]
        name = step.get("id") if isinstance(step, Mapping) else None
        if isinstance(name, str) and name:
            return document, name
        key = self._find_free_id(document, str(step.get("type") or "step") if isinstance(step, Mapping) else "step")
        return set_value(document, (_STEPS, index, "id"), key), key

    def _find_free_id(self, document: object, step_type: str) -> str:
        taken = {step.get("id") for step in list_steps(document) if isinstance(step, Mapping)}
        return next(key for number in range(1, len(taken) + 3) if (key := f"{step_type}_{number}") not in taken)


def _goes_on(node: Node) -> bool:
    return node.type is None or (node.type.can_continue(node.params) and not node.type.decides)


def _remove_step(document: object, index: int) -> object:
    steps = list(list_steps(document))
    return set_value(document, (_STEPS,), [*steps[:index], *steps[index + 1 :]])


def _build_params(kind: AnyStepType | None) -> JsonObject:
    """What the type requires, empty where it is a text."""
    if kind is None:
        return {}
    if kind.decides:
        return {"condition": "", "branches": {}}
    schema: Mapping[str, Any] = kind.params.model_json_schema()
    examples = kind.example.get("params") or {}
    needed = sorted({*schema.get("required", ()), *kind.needs}, key=list(schema.get("properties", {})).index)
    values = {name: "" if schema["properties"][name].get("type") == _TEXT else examples.get(name, "") for name in needed}
    return {"params": values} if values else {}
