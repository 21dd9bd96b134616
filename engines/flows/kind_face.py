from collections.abc import Iterator, Mapping
from typing import Any, Final

from bot.plugins.kind_face import KindFace, Say, Steps, Use
from engines.flows.core.agents import Agent
from engines.flows.core.chart import build_chart
from engines.flows.core.checks import EXCLUDED
from engines.flows.core.definition import Flow, FlowStep, MemoryWrite
from engines.flows.core.references import MARK, read_reference
from orchestrator.documents.changing import find_value
from orchestrator.documents.json_schema import split_schema, write_schema
from orchestrator.domain.finding import Path
from state.stored import JsonObject

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


FLOW_FACE: Final = KindFace(
    begin=begin_flow,
    build_schema=build_flow_schema,
    steps=Steps(field="steps", draw=lambda document, _parts: build_chart(document)),
    named_lists=(_STEPS, _CHANNELS),
    list_uses=list_uses,
)
AGENT_FACE: Final = KindFace(begin=begin_agent, build_schema=build_agent_schema)
