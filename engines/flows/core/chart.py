"""The picture of a flow: its steps, where they lead, how it ends, and the channels of memory between them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pydantic import ValidationError

from engines.flows.core.definition import FlowStep, find_route_after_failure, find_route_after_success
from orchestrator.charts.chart import Arrow, Box, Chart, cut_text
from state.stored import JsonObject

_LONGEST_LINE: Final = 34
_UNKNOWN: Final = "?"
_UUID_SIGNS: Final = 36
_SHOWN_SIGNS: Final = 8
COMPLETE: Final = "complete"
FAIL: Final = "fail"


def build_chart(document: object) -> Chart:
    """Draw a flow, also one with mistakes, without ways to unknown steps."""
    raw: JsonObject = document if isinstance(document, Mapping) else {}
    raw_steps = raw.get("steps")
    steps = [_read_step(one) for one in raw_steps] if isinstance(raw_steps, list) else []
    metadata = raw.get("metadata")
    title = str(metadata.get("title") or "") if isinstance(metadata, Mapping) else ""
    return _Drawing(steps).build(title or str(raw.get("flowId") or ""))


class _Drawing:
    def __init__(self, steps: Sequence[FlowStep]) -> None:
        self._steps = steps
        self._places = {step.id: index for index, step in reversed(list(enumerate(steps)))}
        self._boxes = [_build_box(step) for step in steps]
        self._others: dict[Box, int] = {}

    def build(self, title: str) -> Chart:
        arrows = [arrow for index, step in enumerate(self._steps) for arrow in self._list_routes(index, step)]
        arrows += [arrow for index, step in enumerate(self._steps) for arrow in self._list_memory(index, step)]
        return Chart(title=title, boxes=self._boxes, arrows=arrows)

    def _list_routes(self, index: int, step: FlowStep) -> Iterator[Arrow]:
        after = find_route_after_success(step)
        if not after.next_step:
            yield Arrow(source=index, target=self._find_other(Box(title=COMPLETE, text="", shape="end")))
        elif after.next_step in self._places:
            yield Arrow(source=index, target=self._places[after.next_step])
        route, failure_route = find_route_after_failure(step), step.transitions.on_failure
        if route.next_step:
            if route.next_step in self._places:
                label = "onFailure, fail" if route.is_doomed else "onFailure"
                yield Arrow(source=index, target=self._places[route.next_step], label=label, way="failure")
        elif failure_route.fail is not None:
            end = Box(title=FAIL, text="", shape="failure") if failure_route.fail else Box(title=COMPLETE, text="", shape="end")
            yield Arrow(source=index, target=self._find_other(end), label="onFailure", way="failure")

    def _list_memory(self, index: int, step: FlowStep) -> Iterator[Arrow]:
        for channel in dict.fromkeys(one.channel for one in step.memory_writes):
            yield Arrow(source=index, target=self._find_channel(channel), way="data")
        for channel in dict.fromkeys(one.channel for one in step.memory_reads):
            yield Arrow(source=self._find_channel(channel), target=index, way="data")

    def _find_channel(self, channel: str) -> int:
        return self._find_other(Box(title=cut_text(channel, _LONGEST_LINE), text="", shape="store"))

    def _find_other(self, box: Box) -> int:
        if box not in self._others:
            self._others[box] = len(self._boxes)
            self._boxes.append(box)
        return self._others[box]


def _build_box(step: FlowStep) -> Box:
    title = f"{step.id} · {step.name}" if step.name and step.name != step.id else step.id
    agent = step.agent_version_id[: _SHOWN_SIGNS if len(step.agent_version_id) == _UUID_SIGNS else None]
    attempts = f" · maxAttempts {step.max_attempts}" if step.max_attempts > 1 else ""
    return Box(
        title=cut_text(title, _LONGEST_LINE), text=cut_text(agent, _LONGEST_LINE - len(attempts)) + attempts, shape="step", key=step.id
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
