"""The graph of a scenario as a chart: boxes with words and arrows with the reasons for which they are taken; and as a text for Mermaid."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.engines.scenarios.graph import Node, Target, build_graph
from orchestrator.engines.scenarios.plan import StepTypes
from state.stored import JsonObject

Shape = Literal["step", "question", "choice", "end", "effect"]
_LONGEST_LINE: Final = 34
_LONGEST_LABEL: Final = 24
_SHOWN: Final = ("prompt", "text", "method", "sub_scenario_id", "scenario_id", "collection_name", "query", "question", "message", "seconds")
"""The parameters of which the first one given says most about a step."""
_FORMS: Final[Mapping[Shape, tuple[str, str]]] = {
    "step": ("[", "]"),
    "question": ("[/", "/]"),
    "choice": ("{", "}"),
    "end": ("([", "])"),
    "effect": ("[[", "]]"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """One step."""

    title: str
    """Its id and type."""
    text: str
    """What it says or does, cut."""
    shape: Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """One way from a step to another, by their places in the list."""

    source: int
    target: int
    label: str = ""
    """When it is taken; "" for the usual way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A scenario to look at."""

    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


def build_chart(document: object, types: StepTypes) -> Chart:
    """Return the chart of a scenario, also of one with mistakes: ways to steps that there are not are left out."""
    given: JsonObject = document if isinstance(document, Mapping) else {}
    listed = given.get("steps")
    steps: list[object] = listed if isinstance(listed, list) else []
    nodes = build_graph(steps, types)
    places = {node.id: node.index for node in reversed(nodes) if node.id}
    boxes = [_build_box(node, step if isinstance(step, Mapping) else {}) for node, step in zip(nodes, steps, strict=True)]
    arrows = [arrow for node in nodes for arrow in _list_arrows(node, places)]
    return Chart(title=str(given.get("name") or ""), boxes=boxes, arrows=arrows)


def _build_box(node: Node, step: JsonObject) -> Box:
    kind = str(step.get("type") or "?")
    shown = str(step.get("condition") or "") if node.type is not None and node.type.decides else ""
    shown = shown or next((str(node.params[name]) for name in _SHOWN if node.params.get(name)), "")
    return Box(title=_cut(f"{node.id or node.index + 1} · {kind}", _LONGEST_LINE), text=_cut(shown, _LONGEST_LINE), shape=_find_shape(node))


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
    """Return when this way is taken: the last part of its place in the document."""
    last = str(target.path[-1])
    return "" if last == "next_step" else _cut(last.removeprefix("on_"), _LONGEST_LABEL)


def _cut(text: str, most: int) -> str:
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text[: most * 4]).split())
    return plain if len(plain) <= most else plain[: most - 1] + "…"


def write_mermaid(chart: Chart) -> str:
    """Return the chart as a flowchart for Mermaid, as GitHub and many editors show it. Text of the author cannot end its quotes."""
    lines = ["flowchart TD"]
    for number, box in enumerate(chart.boxes):
        begin, end = _FORMS[box.shape]
        words = "<br/>".join(_escape(one) for one in (box.title, box.text) if one)
        lines.append(f'  s{number}{begin}"{words}"{end}')
    for arrow in chart.arrows:
        label = f'|"{_escape(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  s{arrow.source} -->{label} s{arrow.target}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    """Return a text as Mermaid takes it inside of quotes: what could mean anything there is written by its number."""
    return "".join(sign if sign.isalnum() or sign in " .,:;!?·…-_/()=+%" else f"#{ord(sign)};" for sign in text)
