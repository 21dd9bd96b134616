"""What the doors show of flows and their agents."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from bot.console.definitions.form.changing import find_value
from bot.console.definitions.form.form_face import FormFace, FormSource
from bot.console.runs.history import StepState
from bot.console.runs.run_face import Launch, RunFace
from bot.console.visit import Visit
from bot.i18n.translate import Locale
from bot.plugins.kind_face import KindFace, Say, Steps, Use
from bot.rehearsing.loading import load_named
from bot.rehearsing.trial_face import TrialFace
from engines.flows.core.chart import build_chart
from engines.flows.core.definition import Flow
from engines.flows.core.references import MARK, read_reference
from engines.flows.core.schema import build_agent_schema, build_flow_schema
from engines.flows.core.telling import tell_result
from engines.flows.form.agent_choices import load_agents
from engines.flows.form.flow_fields import FlowFields
from engines.flows.form.source import FlowSource
from engines.flows.http.run_events import FlowHistory
from engines.flows.trial import PlayableFlow
from orchestrator.definitions.kinds import DefinitionKind
from orchestrator.domain.finding import Path
from orchestrator.runs.registry import Definitions
from state.journal.async_store import AsyncStore
from state.journal.store import StoredEvent
from state.stored import JsonObject

_STEPS: Final[Path] = ("steps",)
_CHANNELS: Final[Path] = ("memory", "sharedChannels")
_WAYS: Final[tuple[Path, ...]] = (("transitions", "onSuccess", "next"), ("transitions", "onFailure", "next"))
_MEMORY: Final = ("memoryReads", "memoryWrites")
_PAYLOAD: Final[Path] = ("outputs", "resultPayload")
_PATHS: Final[tuple[Path, ...]] = (("outputs", "summaryFields"), ("outputs", "titles"))
"""Where paths are written without their sign, too."""
_STATES: Final[Mapping[str, StepState]] = {
    "WAITING_APPROVAL": "waiting",
    "RUNNING": "running",
    "COMPLETED": "done",
    "FAILED": "failed",
    "SKIPPED": "skipped",
    "CANCELLED": "skipped",
}


def begin_flow(say: Say) -> JsonObject:
    """Return a first flow."""
    step = {"id": "first", "agentVersionId": "", "transitions": {"onSuccess": {"complete": True}}}
    return {"flowId": "new_one", "metadata": {"title": say("console-new-title")}, "steps": [step]}


def begin_agent(say: Say) -> JsonObject:
    """Return a first agent."""
    return {"title": say("console-new-title"), "systemPrompt": say("console-new-prompt")}


async def open_form(visit: Visit) -> FormSource:
    """Return the form of flows."""
    return FlowSource(FlowFields(visit.say, await load_agents(visit)))


def list_uses(document: object, listed: Path) -> Iterator[Use]:
    """Yield where a flow names its steps, or its channels of memory."""
    yield from _list_channels(document) if listed == _CHANNELS else _list_steps(document)


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
    """Yield the texts such as `$steps.review.output.content` in a part of a document."""
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


async def load_playable(
    kind: DefinitionKind, key: str, document: Mapping[str, Any], *, store: AsyncStore, definitions: Definitions
) -> PlayableFlow:
    """Return the flow with its agents. Whatever its triggers say, its author may try it."""
    del definitions
    agents = await load_named((reference.written for reference in kind.list_references(document)), store)
    return PlayableFlow(key=key, document={name: part for name, part in document.items() if name != "triggers"}, agents=agents)


def read_launch(document: object) -> Launch:
    """Return the launch parameters."""
    flow = read_flow(document)
    return Launch(parameters=tuple(flow.launch_parameters) if flow is not None else ())


def read_flow(document: object) -> Flow | None:
    """Return the flow, None for one that cannot be read any more."""
    try:
        return Flow.model_validate(document)
    except ValidationError:
        return None


@dataclass
class FlowFollower:
    """Follows the events of one run of a flow."""

    flow: Flow
    history: FlowHistory

    def add(self, event: StoredEvent) -> None:
        """Take in the next event."""
        self.history.add(event)

    def find_state(self, step: str) -> StepState | None:
        """Return how a step stands."""
        return _STATES.get(self.history.find_status(step))

    def tell_result(self, result: Mapping[str, object], *, today: str, locale: Locale) -> Sequence[tuple[str, str]]:
        """Return (title, text) of all that the result tells."""
        return tell_result(self.flow, result, today=today, locale=locale)


def follow(document: object) -> FlowFollower | None:
    """Return what follows a run of this flow."""
    flow = read_flow(document)
    return FlowFollower(flow, FlowHistory(flow)) if flow is not None else None


FLOW_FACE: Final = KindFace(
    begin=begin_flow,
    build_schema=build_flow_schema,
    steps=Steps(field="steps", draw=lambda document, _parts: build_chart(document)),
    named_lists=(_STEPS, _CHANNELS),
    list_uses=list_uses,
)
AGENT_FACE: Final = KindFace(begin=begin_agent, build_schema=build_agent_schema)
RUN_FACE: Final = RunFace(takes_parameters=True, read_launch=read_launch, follow=follow)
TRIAL: Final = TrialFace(load=load_playable)
FORM: Final = FormFace(open=open_form)
