"""Finds every mistake of a flow before it runs (S002-4, S002-11, S002-47…52, S002-A2…A7, A13)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, get_args, get_origin

from pydantic import BaseModel

from engines.flows.core.definition import (
    USUAL_LIMIT,
    Flow,
    FlowStep,
    MemoryWrite,
    Outputs,
    find_route_after_failure,
    find_route_after_success,
    list_next,
    may_end,
)
from engines.flows.core.outputs import EXAMPLE, MARK, list_references, list_texts, read_reference
from orchestrator.definitions.mistakes import Suggestions, report_mistake, report_name_twice
from orchestrator.definitions.model_mistakes import read_part, report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding, Path, Severity
from orchestrator.engines.shared.declared import LaunchParameter
from orchestrator.engines.shared.parameters import SENTENCES as PARAMETER_SENTENCES
from orchestrator.engines.shared.parameters import check_launch_parameter

SENTENCES: Final[dict[str, str]] = {
    **PARAMETER_SENTENCES,
    "finding-flow-step-unknown": 'there is no step "{name}"',
    "finding-flow-sync-only": "syncOnly is always true: steps of flows do not stream",
    "finding-flow-field-excluded": 'the field "{name}" is not part of flows: maxAttempts says how often a step is tried',
    "finding-flow-success-open": "complete is false and no next step is named: it is not known what follows",
    "finding-flow-next-unused": "complete is true, so the next step never follows",
    "finding-flow-loop-endless": "the steps {names} repeat without end: none of them ends the flow",
    "finding-flow-only-fails": "no way leads to an end at which the flow is complete: it can only fail",
    "finding-flow-step-unreachable": "nothing leads to this step",
    "finding-flow-payload-missing": "a write of mode STATIC without payload writes nothing",
    "finding-flow-payload-unused": "the payload has no effect: the mode AGENT_OUTPUT writes the agent's answer",
    "finding-flow-number-usual": '"{name}" below 1 counts as {usual}',
    "finding-flow-reference-unknown": '"{name}" names no step of this flow',
    "finding-flow-reference-inside": "a path is replaced where it is the whole text; here people read it as it is written",
    "finding-flow-reference-form": '"{name}" is no path: one looks like {example}',
    "finding-flow-channel-unwritten": 'no step writes the channel "{name}": nothing will be read',
    "finding-flow-step-deaf": "this step hears nothing of the answers before it: let one of them write a channel, and this one read it",
    "finding-flow-title-missing": "the flow has no title: people will see its name instead",
}


EXCLUDED: Final = ("retryPolicy", "timeoutSec")
"""Of earlier schemas; people may still write them (S002-52)."""
_SHOWN_LOOP: Final = 6
_SYNC: Final = "syncOnly"


def check_flow(document: Document) -> Iterable[Finding]:
    checking = _Checking(document)
    checking.check()
    return checking.findings.list_all()


class _Checking:
    def __init__(self, document: Document) -> None:
        self.findings = Findings(document)
        self._data = document.data
        self._suggest = Suggestions().find

    def check(self) -> None:
        data = self._data
        if isinstance(data, Mapping) and data.get(_SYNC, True) is not True:
            self._add("finding-flow-sync-only", (_SYNC,))
            data = {name: one for name, one in data.items() if name != _SYNC}
        report_model_mistakes(self.findings, Flow, data, ())
        if not isinstance(data, Mapping):
            return
        self._report_fields((), data, Flow)
        metadata = data.get("metadata")
        if not (isinstance(metadata, Mapping) and metadata.get("title")):
            self._add("finding-flow-title-missing", ("metadata",), severity="warning")
        raw = data.get("steps")
        raw_steps = raw if isinstance(raw, list) else []
        self._check_parts(data)
        self._check_steps(raw_steps)
        ids = _list_ids(raw_steps)
        start = data.get("startStepId")
        if isinstance(start, str) and start not in ids:
            self._report_unknown_step(("startStepId",), start, ids)
        self._check_outputs(data.get("outputs"), ids)
        steps = [read_part(FlowStep, one) for one in raw_steps]
        if raw_steps and all(step is not None for step in steps):
            self._check_ways([step for step in steps if step is not None], start if isinstance(start, str) else "")
            self._check_hearing([step for step in steps if step is not None], start if isinstance(start, str) else "")

    def _check_parts(self, data: Mapping[str, object]) -> None:
        memory, parameters = data.get("memory"), data.get("launchParameters")
        channels = memory.get("sharedChannels") if isinstance(memory, Mapping) else None
        self._check_names(("memory", "sharedChannels"), channels, "id")
        self._check_names(("launchParameters",), parameters, "name")
        for index, parameter in enumerate(parameters if isinstance(parameters, list) else ()):
            read = read_part(LaunchParameter, parameter)
            if read is not None:
                check_launch_parameter(self.findings, ("launchParameters", index), read)

    def _check_names(self, path: Path, declared: object, field: str) -> None:
        seen: set[str] = set()
        for index, declaration in enumerate(declared if isinstance(declared, list) else ()):
            name = declaration.get(field) if isinstance(declaration, Mapping) else None
            if isinstance(name, str) and name:
                if name in seen:
                    report_name_twice(self.findings, (*path, index, field), name)
                seen.add(name)

    def _check_steps(self, raw_steps: Sequence[object]) -> None:
        self._check_names(("steps",), raw_steps, "id")
        ids = _list_ids(raw_steps)
        for index, step in enumerate(raw_steps):
            if isinstance(step, Mapping):
                self._check_step(("steps", index), step, ids)

    def _check_step(self, path: Path, step: Mapping[str, object], ids: Mapping[str, None]) -> None:
        attempts = step.get("maxAttempts")
        if isinstance(attempts, int) and attempts < 1:
            self._warn_of_usual((*path, "maxAttempts"), "maxAttempts", 1)
        self._check_memory(path, step)
        transitions = step.get("transitions")
        for name, way in transitions.items() if isinstance(transitions, Mapping) else ():
            following = way.get("next") if isinstance(way, Mapping) else None
            if isinstance(following, str) and following and following not in ids:
                self._report_unknown_step((*path, "transitions", name, "next"), following, ids)
        success = transitions.get("onSuccess") if isinstance(transitions, Mapping) else None
        if isinstance(success, Mapping):
            place = (*path, "transitions", "onSuccess")
            if success.get("complete") is False and not success.get("next"):
                self._add("finding-flow-success-open", place)
            if success.get("complete") is True and success.get("next"):
                self._add("finding-flow-next-unused", (*place, "next"), severity="warning")

    def _check_memory(self, path: Path, step: Mapping[str, object]) -> None:
        reads, writes = step.get("memoryReads"), step.get("memoryWrites")
        for index, memory_json in enumerate(reads if isinstance(reads, list) else ()):
            limit = memory_json.get("limit") if isinstance(memory_json, Mapping) else None
            if isinstance(limit, int) and limit < 1:
                self._warn_of_usual((*path, "memoryReads", index, "limit"), "limit", USUAL_LIMIT)
        for index, memory_json in enumerate(writes if isinstance(writes, list) else ()):
            read = read_part(MemoryWrite, memory_json)
            place = (*path, "memoryWrites", index)
            if read is not None and read.mode == "STATIC" and read.payload is None:
                self._add("finding-flow-payload-missing", place, severity="warning")
            elif read is not None and read.mode == "AGENT_OUTPUT" and read.payload is not None:
                self._add("finding-flow-payload-unused", (*place, "payload"), severity="warning")

    def _check_outputs(self, raw: object, ids: Mapping[str, None]) -> None:
        outputs = read_part(Outputs, raw)
        if outputs is None:
            return
        for index, summary_field in enumerate(outputs.summary_fields):
            self._check_reference(("outputs", "summaryFields", index), summary_field, ids, EXAMPLE)
        for path, text in list_texts(outputs.result_payload):
            if MARK in text and not text.startswith(MARK):
                self._add("finding-flow-reference-inside", ("outputs", "resultPayload", *path), severity="warning", of_value=True)
        for path, path_text in list_references(outputs.result_payload):
            self._check_reference(("outputs", "resultPayload", *path), path_text, ids, f"{MARK[0]}{EXAMPLE}")

    def _check_reference(self, path: Path, path_text: str, ids: Mapping[str, None], example: str) -> None:
        reference = read_reference(path_text)
        if reference is None:
            self._add("finding-flow-reference-form", path, of_value=True, name=quote_part(path_text), example=example)
        elif reference.step not in ids:
            suggestion = self._suggest(reference.step, ids)
            self._add("finding-flow-reference-unknown", path, of_value=True, suggestion=suggestion, name=quote_part(reference.step))

    def _check_ways(self, steps: Sequence[FlowStep], start: str) -> None:
        places: dict[str, int] = {}
        for index, step in enumerate(steps):
            places.setdefault(step.id, index)
        ways = [[places[name] for name in list_next(step) if name in places] for step in steps]
        reached = find_reached(ways, [places.get(start, 0)])
        ending = _find_ending(ways, [index for index, step in enumerate(steps) if may_end(step) or len(ways[index]) < len(list_next(step))])
        for index in range(len(steps)):
            if index not in reached:
                self._add("finding-flow-step-unreachable", ("steps", index), severity="warning")
        endless = [index for index in sorted(reached) if index not in ending]
        if endless:
            loop = " → ".join(quote_part(steps[index].id) for index in endless[:_SHOWN_LOOP])
            names = loop + (" → …" if len(endless) > _SHOWN_LOOP else "")
            self._add("finding-flow-loop-endless", ("steps", endless[0]), names=names)
        elif steps and not _may_complete(steps, places, places.get(start, 0)):
            self._add("finding-flow-only-fails", ("steps", places.get(start, 0)), severity="warning")

    def _check_hearing(self, steps: Sequence[FlowStep], start: str) -> None:
        channels = {memory.channel: None for step in steps for memory in step.memory_writes}
        first = start or steps[0].id
        after = {step.transitions.on_success.next for step in steps} - {first}
        has_memory = any(step.memory_reads for step in steps)
        for index, step in enumerate(steps):
            if not has_memory and step.id in after:
                self._add("finding-flow-step-deaf", ("steps", index), severity="info")
            for place, memory in enumerate(step.memory_reads):
                if memory.channel not in channels:
                    near = self._suggest(memory.channel, channels)
                    path: Path = ("steps", index, "memoryReads", place, "channel")
                    self._add("finding-flow-channel-unwritten", path, severity="warning", suggestion=near, name=quote_part(memory.channel))

    def _report_fields(self, path: Path, part_json: Mapping[str, object], model: type[BaseModel]) -> None:
        """Report excluded and misspelt fields, also of the model's parts; others are the author's own."""
        known = [field.alias or name for name, field in model.model_fields.items()]
        for field, name in zip(model.model_fields.values(), known, strict=True):
            self._report_part((*path, name), part_json.get(name), field.annotation)
        for name in part_json:
            if name in EXCLUDED and model in {Flow, FlowStep}:
                self._add("finding-flow-field-excluded", (*path, name), name=name)
            elif name not in known and (near := self._suggest(name, known)):
                place = (*path, name)
                report_mistake(self.findings, "finding-field-unknown", place, severity="warning", suggestion=near, name=quote_part(name))

    def _report_part(self, path: Path, part_json: object, form: object) -> None:
        if get_origin(form) is list:
            for index, element in enumerate(part_json if isinstance(part_json, list) else ()):
                self._report_part((*path, index), element, get_args(form)[0])
        elif isinstance(form, type) and issubclass(form, BaseModel) and isinstance(part_json, Mapping):
            self._report_fields(path, part_json, form)

    def _report_unknown_step(self, path: Path, name: str, ids: Mapping[str, None]) -> None:
        self._add("finding-flow-step-unknown", path, of_value=True, suggestion=self._suggest(name, ids), name=quote_part(name))

    def _warn_of_usual(self, path: Path, name: str, usual: int) -> None:
        self._add("finding-flow-number-usual", path, severity="warning", of_value=True, name=name, usual=usual)

    def _add(
        self, code: str, path: Path, *, severity: Severity = "error", suggestion: str = "", of_value: bool = False, **args: str | int
    ) -> None:
        report_mistake(self.findings, code, path, sentences=SENTENCES, severity=severity, suggestion=suggestion, of_value=of_value, **args)


def _list_ids(raw_steps: Sequence[object]) -> dict[str, None]:
    return dict.fromkeys(step["id"] for step in raw_steps if isinstance(step, Mapping) and isinstance(step.get("id"), str))


def find_reached(ways: Sequence[Sequence[int]], starts: Iterable[int]) -> frozenset[int]:
    """Also the starts themselves."""
    seen: set[int] = set()
    waiting = list(starts)
    while waiting:
        place = waiting.pop()
        if place not in seen:
            seen.add(place)
            waiting.extend(ways[place])
    return frozenset(seen)


def _may_complete(steps: Sequence[FlowStep], places: Mapping[str, int], start: int) -> bool:
    """A step that does not exist counts as such an end."""
    ways: list[list[int]] = []
    ends: list[int] = []
    for index, step in enumerate(steps):
        routes = [route for route in (find_route_after_success(step), find_route_after_failure(step)) if not route.is_doomed]
        ways.append([places[route.next_step] for route in routes if route.next_step in places])
        if any(route.next_step not in places if route.next_step else route.ending == "completed" for route in routes):
            ends.append(index)
    return not find_reached(ways, [start]).isdisjoint(ends)


def _find_ending(ways: Sequence[Sequence[int]], ends: Iterable[int]) -> frozenset[int]:
    before: list[list[int]] = [[] for _ in ways]
    for place, following in enumerate(ways):
        for neighbour in following:
            before[neighbour].append(place)
    return find_reached(before, ends)
