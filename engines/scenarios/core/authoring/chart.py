from collections.abc import Iterator, Mapping
from typing import Final

from engines.scenarios.core.graph import Node, Target, build_graph, list_steps
from engines.scenarios.core.plan import StepTypes
from orchestrator.charts.chart import Arrow, Box, Chart, Shape, cut_text
from state.stored import JsonObject

_LONGEST_LINE: Final = 34
_LONGEST_LABEL: Final = 24
_SHOWN: Final = ("prompt", "text", "method", "sub_scenario_id", "scenario_id", "collection_name", "query", "question", "message", "seconds")


def build_chart(document: object, types: StepTypes) -> Chart:
    """Draw also a scenario with mistakes, without ways to unknown steps."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    steps = list_steps(document)
    nodes = build_graph(steps, types)
    places = {node.id: node.index for node in reversed(nodes) if node.id}
    boxes = [_build_box(node, step if isinstance(step, Mapping) else {}) for node, step in zip(nodes, steps, strict=True)]
    arrows = [arrow for node in nodes for arrow in _list_arrows(node, places)]
    return Chart(title=str(raw.get("name") or ""), boxes=boxes, arrows=arrows)


def _build_box(node: Node, step: JsonObject) -> Box:
    kind = str(step.get("type") or "?")
    text = str(step.get("condition") or "") if node.type is not None and node.type.decides else ""
    text = text or next((str(node.params[name]) for name in _SHOWN if node.params.get(name)), "")
    title = cut_text(f"{node.id or node.index + 1} · {kind}", _LONGEST_LINE)
    return Box(title=title, text=cut_text(text, _LONGEST_LINE), shape=_find_shape(node), key=node.id)


def _find_shape(node: Node) -> Shape:
    kind = node.type
    if kind is None:
        return "step"
    if kind.decides:
        return "choice"
    if kind.name == "input":
        return "question"
    if not kind.can_continue(node.params):
        return "end"
    writes = kind.list_writes(node.params)
    return "effect" if writes is None or writes else "step"


def _list_arrows(node: Node, places: Mapping[str, int]) -> Iterator[Arrow]:
    has_next = False
    for target in node.targets:
        has_next |= target.path[-1] == "next_step"
        if target.id in places:
            yield Arrow(source=node.index, target=places[target.id], label=_find_label(target))
    if not has_next and node.goes_to is not None:
        decides = node.type is not None and node.type.decides
        yield Arrow(source=node.index, target=node.goes_to, label="else" if decides else "")


def _find_label(target: Target) -> str:
    last = str(target.path[-1])
    return "" if last == "next_step" else cut_text(last.removeprefix("on_"), _LONGEST_LABEL)
