"""What doors ask of flows and agents: beginnings, schemas, and the picture of steps, their ways and the channels of memory between them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pydantic import ValidationError

from bot.plugins.kind_face import NO_PARTS, KindFace, Say, Steps, Use
from engines.flows.choices import build_item, open_agent_choices, open_choices
from engines.flows.core.checks import EXCLUDED
from engines.flows.core.definition import AGENT, Agent, Flow, FlowStep, MemoryWrite, find_route_after_failure, find_route_after_success
from engines.flows.core.outputs import MARK, read_reference
from engines.flows.deeds import FLOW_DEEDS, list_ports
from orchestrator.charts.chart import Arrow, Box, Chart, Drawing, cut_text
from orchestrator.definitions.references import is_version_id
from orchestrator.documents.changing import ABSENT, find_value, remove_value, set_value
from orchestrator.documents.json_schema import split_schema, write_schema
from orchestrator.domain.finding import Path
from state.stored import JsonObject

_LONGEST_LINE: Final = 34
_UNKNOWN: Final = "?"
BETWEEN: Final = " · "
"""Between id and name of a step."""
COMPLETE: Final = "complete"
FAIL: Final = "fail"
_END: Final = Box(title=COMPLETE, text="", shape="end", word="flow-box-end")
_FAILURE: Final = Box(title=FAIL, text="", shape="failure", word="flow-box-failure")


def build_chart(document: object, agents: Mapping[str, object] = NO_PARTS) -> Chart:
    """Draw a flow, also one with mistakes, without ways to unknown steps. `agents` are by what their steps say."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    raw_steps = raw.get("steps")
    steps = [_read_step(one) for one in raw_steps] if isinstance(raw_steps, list) else []
    metadata = raw.get("metadata")
    title = str(metadata.get("title") or "") if isinstance(metadata, Mapping) else ""
    return _Drawing(steps, agents).build(title or str(raw.get("flowId") or ""))


class _Drawing(Drawing):
    def __init__(self, steps: Sequence[FlowStep], agents: Mapping[str, object]) -> None:
        self._steps = steps
        self._places = {step.id: index for index, step in reversed(list(enumerate(steps)))}
        super().__init__(_build_box(index, step, agents.get(step.agent_version_id)) for index, step in enumerate(steps))

    def build(self, title: str) -> Chart:
        arrows = [arrow for index, step in enumerate(self._steps) for arrow in self._list_routes(index, step)]
        arrows += [arrow for index, step in enumerate(self._steps) for arrow in self._list_memory(index, step)]
        return Chart(title=title, boxes=self.boxes, arrows=arrows)

    def _list_routes(self, index: int, step: FlowStep) -> Iterator[Arrow]:
        after = find_route_after_success(step)
        if not after.next_step:
            is_own = step.transitions.on_success.complete is not None
            yield Arrow(source=index, target=self.find_other(_END), is_own=is_own)
        elif after.next_step in self._places:
            yield Arrow(source=index, target=self._places[after.next_step])
        route, failure_route = find_route_after_failure(step), step.transitions.on_failure
        if route.next_step:
            if route.next_step in self._places:
                label = "onFailure, fail" if route.is_doomed else "onFailure"
                yield Arrow(source=index, target=self._places[route.next_step], label=label, way="failure", port=1)
        elif failure_route.fail is not None:
            yield Arrow(
                source=index, target=self.find_other(_FAILURE if failure_route.fail else _END), label="onFailure", way="failure", port=1
            )

    def _list_memory(self, index: int, step: FlowStep) -> Iterator[Arrow]:
        for channel in dict.fromkeys(one.channel for one in step.memory_writes):
            yield Arrow(source=index, target=self._find_channel(channel), way="data", is_own=False)
        for channel in dict.fromkeys(one.channel for one in step.memory_reads):
            yield Arrow(source=self._find_channel(channel), target=index, way="data", is_own=False)

    def _find_channel(self, channel: str) -> int:
        return self.find_other(Box(title=cut_text(channel, _LONGEST_LINE), text="", shape="store"))


def _build_box(index: int, step: FlowStep, agent_document: object) -> Box:
    title = f"{step.id}{BETWEEN}{step.name}" if step.name and step.name != step.id else step.id
    named = agent_document.get("title") if isinstance(agent_document, Mapping) else None
    agent = str(named) if named else "" if is_version_id(step.agent_version_id) else step.agent_version_id
    attempts = f"×{step.max_attempts}" if step.max_attempts > 1 else ""
    return Box(
        title=cut_text(title, _LONGEST_LINE),
        text=" · ".join(filter(None, (cut_text(agent, _LONGEST_LINE - len(attempts)), attempts))),
        shape="step",
        key=step.id,
        path=(*_STEPS, index),
        kind=AGENT,
        ports=list_ports(index),
    )


def _read_step(raw: object) -> FlowStep:
    step: JsonObject = raw if isinstance(raw, Mapping) else {}
    try:
        return FlowStep.model_validate(step)
    except ValidationError as error:
        wrong = {one["loc"][0] for one in error.errors() if one["loc"]}
        right = {name: one for name, one in step.items() if name not in wrong}
        read = FlowStep.model_validate({"id": "step", "agentVersionId": _UNKNOWN, **right})
        return read if "id" in right else read.model_copy(update={"id": _UNKNOWN})


_MODES: Final = "mode"


def build_flow_schema() -> JsonObject:
    whole, defs = split_schema(Flow)
    for part_schema in (whole, defs[FlowStep.__name__]):
        part_schema["properties"] |= dict.fromkeys(EXCLUDED, False)
    modes: dict[str, Any] = defs[MemoryWrite.__name__]["properties"][_MODES]
    defs[MemoryWrite.__name__]["properties"][_MODES] = _allow_small_letters(modes)
    return write_schema("Flow of Sdelka", whole, defs)


def _allow_small_letters(modes: dict[str, Any]) -> JsonObject:
    """Also small letters; editors offer the capitals (S002-X7)."""
    words = modes.pop("enum")
    pattern = "|".join("".join(f"[{sign}{sign.lower()}]" if sign.isalpha() else sign for sign in word) for word in words)
    return {**modes, "anyOf": [{"enum": words}, {"pattern": f"^({pattern})$"}]}


def build_agent_schema() -> JsonObject:
    return write_schema("Agent of Sdelka", *split_schema(Agent))


_STEPS: Final[Path] = ("steps",)
_CHANNELS: Final[Path] = ("memory", "sharedChannels")
_WAYS: Final[tuple[Path, ...]] = (("transitions", "onSuccess", "next"), ("transitions", "onFailure", "next"))
_MEMORY: Final = ("memoryReads", "memoryWrites")
_PAYLOAD: Final[Path] = ("outputs", "resultPayload")
_PATHS: Final[tuple[Path, ...]] = (("outputs", "summaryFields"), ("outputs", "titles"))


def begin_flow(say: Say) -> JsonObject:
    step = {"id": "first", "agentVersionId": "", "transitions": {"onSuccess": {"complete": True}}}
    return {"flowId": "new_one", "metadata": {"title": say("console-new-title")}, "steps": [step]}


def begin_agent(say: Say) -> JsonObject:
    return {"title": say("console-new-title"), "systemPrompt": say("console-new-prompt")}


def list_uses(document: object, named_list: Path) -> Iterator[Use]:
    yield from _list_channels(document) if named_list == _CHANNELS else _list_steps(document)


def _list_steps(document: object) -> Iterator[Use]:
    places: list[Path] = [("startStepId",)]
    places += [(*_STEPS, index, *way) for index in _list_indexes(document, _STEPS) for way in _WAYS]
    for place in places:
        if name := _to_name(find_value(document, place)):
            yield place, name
    yield from _list_references(find_value(document, _PAYLOAD), _PAYLOAD, begin=MARK)
    for place in _PATHS:
        yield from _list_references(find_value(document, place), place, begin="")


def _list_channels(document: object) -> Iterator[Use]:
    for index in _list_indexes(document, _STEPS):
        for memory in _MEMORY:
            place: Path = (*_STEPS, index, memory)
            for number in _list_indexes(document, place):
                if name := _to_name(find_value(document, (*place, number, "channel"))):
                    yield (*place, number, "channel"), name


def _list_references(value: object, place: Path, *, begin: str) -> Iterator[Use]:
    match value:
        case str():
            reference = read_reference(value) if value.startswith(begin) else None
            if reference is not None:
                yield place, reference.step
        case Mapping():
            for key, part in value.items():
                yield from _list_references(part, (*place, key), begin=begin)
        case list():
            for index, part in enumerate(value):
                yield from _list_references(part, (*place, index), begin=begin)


def _list_indexes(document: object, place: Path) -> range:
    items = find_value(document, place)
    return range(len(items)) if isinstance(items, list) else range(0)


def _to_name(value: object) -> str:
    return value if isinstance(value, str) else ""


def follow(document: object, path: Path) -> object:
    """A chosen next step takes the end away, and a new step follows the one before it."""
    if path[2:] == _WAYS[0] and find_value(document, path) is not ABSENT:
        return remove_value(document, (*path[:-1], COMPLETE), keep=len(path) - 1)
    if len(path) == len(_STEPS) + 1 and path[:1] == _STEPS and isinstance(path[1], int) and path[1] > 0:
        before, name = (*_STEPS, path[1] - 1), _to_name(find_value(document, (*path, "id")))
        if name and _to_name(find_value(document, (*before, *_WAYS[0]))) == "":
            return follow(set_value(document, (*before, *_WAYS[0]), name), (*before, *_WAYS[0]))
    return document


FLOW_FACE: Final = KindFace(
    begin=begin_flow,
    build_schema=build_flow_schema,
    steps=Steps(field="steps", draw=build_chart, deeds=FLOW_DEEDS),
    build_item=build_item,
    named_lists=(_STEPS, _CHANNELS),
    list_uses=list_uses,
    offers={AGENT: True},
    open_choices=open_choices,
    follow=follow,
)
AGENT_FACE: Final = KindFace(begin=begin_agent, build_schema=build_agent_schema, open_choices=open_agent_choices)
