"""The form of a test of a flow, which stands beside it as `NAME.test.yaml`, and how it is played and compared."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import Field

from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from engines.flows.core.definition import Agent, Flow, FlowStep, Route, find_route_after_failure, find_route_after_success
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import FLOW
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.finding import Finding, Path
from orchestrator.engines.runs import RunEffect, RunResult
from orchestrator.engines.shared.launch import CONTEXT
from orchestrator.rehearsals.case import BEGINS, ExpectedEffect, FilePart, KnownSteps, LaunchedCase, build_actor, build_launch_args
from orchestrator.rehearsals.comparing import (
    compare_effects,
    compare_left,
    compare_lists,
    compare_outcome,
    compare_values,
    list_effects,
    list_messages,
)
from orchestrator.rehearsals.recorded_nodes import apply_operation_mock
from orchestrator.rehearsals.rehearsal import Happening, Place, Rehearsal
from orchestrator.rehearsals.script import Script, ScriptEnded, find_among, find_shipped_classes, play_script
from state.clock import SystemClock
from state.stored import JsonObject

OPERATIONS: Final = "operations"


class ExpectedFlow(FilePart):
    """What must come of a flow. What is left out is not looked at."""

    outcome: Literal["done", "failed", "cancelled"] = "done"
    code: str = Field("", description="The code of the failure.")
    path: list[str] | None = Field(None, description="The steps in the order in which they are done, each time it is done.")
    failed_steps: list[str] | None = Field(
        None, alias="failedSteps", description="The steps of which every attempt failed, in order, also those from which it recovered."
    )
    payload: JsonObject = Field(default_factory=dict, description="Fields of the result; others are not looked at.")
    summary: JsonObject = Field(default_factory=dict, description="Fields of the summary, by their path.")
    operations: list[ExpectedEffect] | None = Field(None, description="All operations of steps, in order.")
    calls: list[ExpectedEffect] | None = Field(None, description="All calls of the portal that agents make as tools, in order.")
    messages: list[str] | None = Field(
        None, description="Everything that the person reads while it is started, in order; a sentence of the program as [its-code]."
    )


class FlowCase(LaunchedCase):
    """One test of a flow."""

    context: JsonObject = Field(default_factory=dict, description="What it is told beside the parameters.")
    answers: dict[str, Any] = Field(default_factory=dict, description="What the agent of each step answers.")
    operations: dict[str, Any] = Field(
        default_factory=dict, description="What the operations of each step give; without it they are planned."
    )
    calls: dict[str, Any] = Field(default_factory=dict, description="What the tools that the agent of each step calls give.")
    expect: ExpectedFlow = Field(default_factory=ExpectedFlow)

    def choose_mocks(self, place: Place, kind: object) -> tuple[str, Mapping[str, Any]]:
        """Return the answers of agents, what operations give, or what tools give."""
        if kind == "model":
            return "answers", self.answers
        return ("operations", self.operations) if is_operation(place) else ("calls", self.calls)


class FlowCaseFile(FilePart):
    """All tests of one flow."""

    tests: list[FlowCase] = Field(min_length=1, max_length=1000)


def is_operation(place: Place) -> bool:
    return OPERATIONS in place.node.split("/")[2:3]


def check_flow_cases(document: Document, steps: Sequence[str]) -> Iterable[Finding]:
    """Return all mistakes; unknown steps are looked for when nothing else is wrong."""
    findings = Findings(document)
    if report_model_mistakes(findings, FlowCaseFile, document.data, ()):
        known = KnownSteps("", {"": {step: step for step in steps}})
        for index, test in enumerate(FlowCaseFile.model_validate(document.data).tests):
            _check_steps(findings, known, test, ("tests", index))
    return findings.list_all()


def _check_steps(findings: Findings, known: KnownSteps, test: FlowCase, path: Path) -> None:
    for part, mocks in (("answers", test.answers), ("operations", test.operations), ("calls", test.calls)):
        for name in mocks:
            known.report_unknown(findings, (*path, part, name), name)
    expect = test.expect
    for part, step_names in (("path", expect.path), ("failedSteps", expect.failed_steps)):
        for index, name in enumerate(step_names or ()):
            known.report_unknown(findings, (*path, "expect", part, index), name, of_value=True)
    for part, effects in (("operations", expect.operations), ("calls", expect.calls)):
        known.report_unknown_effects(findings, (*path, "expect", part), effects)


STAND_IN: Final = Agent.model_validate({"systemPrompt": "-"})
_CALL: Final = "call-"


@dataclass(frozen=True)
class Visit:
    step: str
    is_answered: bool


@dataclass(frozen=True, kw_only=True)
class FlowPlayed:
    result: RunResult
    visits: Sequence[Visit]
    happenings: Sequence[Happening]
    problem: str = ""
    """Why the test could not be played to its end; "" if it was."""
    left: int = 0
    """Inputs that were not asked for."""

    @property
    def path(self) -> list[str]:
        return [visit.step for visit in self.visits]

    @property
    def failed_steps(self) -> list[str]:
        return [visit.step for visit in self.visits if not visit.is_answered]

    def find_result(self, part: str) -> JsonObject:
        """`part` is `payload` or `summary`; {} if there is none."""
        data = self.result.value.data
        return (data.get(part) or {}) if isinstance(data, Mapping) else {}

    @property
    def operations(self) -> list[Happening]:
        return [happening for happening in self.happenings if happening.kind == "effect" and is_operation(happening.place)]

    @property
    def calls(self) -> list[Happening]:
        return [happening for happening in self.happenings if happening.kind == "effect" and not is_operation(happening.place)]


def is_tool(place: Place) -> bool:
    return "/" in place.node and place.node.rpartition("/")[2].startswith(_CALL)


class FlowScript(Script):
    """The outside of a flow. Tools are not called: the test says what they give."""

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Mock a step's operations or a tool. Raises ScriptEnded."""
        outcome = await super().perform(place, effect, params)
        try:
            return apply_operation_mock(outcome) if is_operation(place) else outcome
        except ValueError as error:
            raise ScriptEnded(f"operations.{place.step} of {place.definition}: {error}") from None

    async def read_memo(self, place: Place, make: Callable[[], Awaitable[Any]]) -> Any:
        """Mock a tool; what the run notes by itself needs no outside. Raises ScriptEnded."""
        if not is_tool(place):
            return await make()
        return self.take_required(place, "memo", "calls a tool: give what it returns")


class _FlowAsking(Asking, FlowScript): ...


@dataclass(frozen=True, kw_only=True)
class PlayableFlow:
    key: str
    document: Mapping[str, Any]
    agents: Mapping[str, object]
    case_model = FlowCase

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        test = FlowCase.model_validate(build_case(inputs, person, "answers", "calls"))
        script = _FlowAsking(test)
        script.start(self.key, watch)
        engine, now = FlowEngine(find_among(self.agents)), test.find_start(inputs.begun or SystemClock().now())
        result, problem = await rehearse_flow(self.key, self.document, engine, script, test, now=now)
        data = result.value.data
        return build_tried(script, result, problem, result=data if isinstance(data, dict) else {})


async def rehearse_flow(
    key: str, document: object, engine: FlowEngine, script: Script, test: FlowCase, *, now: datetime
) -> tuple[RunResult, str]:
    """How it ended, and why it could not be played to its end; "" if it was."""
    find = lambda kind, name: document if (kind, name) == (FLOW, key) else None  # noqa: E731 - reads as the argument that it is
    rehearsal = Rehearsal({FLOW: engine}, find, script, now=now, person=build_actor(test.person))
    return await play_script(rehearsal, FLOW, key, build_launch_args(test, {CONTEXT: test.context} if test.context else {}))


async def play_flow(
    key: str, document: object, agents: Mapping[str, object], test: FlowCase, *, find_classes: FindClasses = find_shipped_classes
) -> FlowPlayed:
    """`agents` are documents by what names them; others have a stand-in."""

    async def find_agents(names: list[str]) -> Mapping[str, object]:
        return {name: agents.get(name) or STAND_IN.model_dump(mode="json", by_alias=True) for name in names}

    visits: dict[tuple[str, int], Visit] = {}

    def note(step: str, visit: int, is_answered: bool) -> None:  # noqa: FBT001 - as the engine calls it
        visits[step, visit] = Visit(step, is_answered)

    script = FlowScript(test, find_classes=find_classes)
    engine = FlowEngine(find_agents, note_step=note)
    result, problem = await rehearse_flow(key, document, engine, script, test, now=test.find_start(BEGINS))
    return FlowPlayed(result=result, visits=list(visits.values()), happenings=script.happenings, problem=problem, left=script.left)


def compare_flow(expect: ExpectedFlow, played: FlowPlayed) -> list[str]:
    """Lines to read; none without a difference."""
    return list(_compare(expect, played))


def _compare(expect: ExpectedFlow, played: FlowPlayed) -> Iterator[str]:
    if played.problem:
        yield played.problem
    else:
        yield from compare_outcome(expect.outcome, expect.code, played.result, played.happenings)
        yield from compare_values("payload", expect.payload, played.find_result("payload"))
        yield from compare_values("summary", expect.summary, played.find_result("summary"))
        yield from compare_left(played.left)
    yield from compare_lists("path", expect.path, played.path)
    yield from compare_lists("failedSteps", expect.failed_steps, played.failed_steps)
    yield from compare_effects("operations", expect.operations, list_effects(played.operations))
    yield from compare_effects("calls", expect.calls, list_effects(played.calls))
    yield from compare_lists("messages", expect.messages, list_messages(played.happenings))


def list_transitions(flow: Flow) -> list[str]:
    """After an answer and after a failure, as people read them."""
    return [_describe_way(step, is_answered=is_answered) for step in flow.steps for is_answered in (True, False)]


def list_taken(flow: Flow, visits: Sequence[Visit]) -> list[str]:
    """As in `list_transitions`."""
    steps = {step.id: step for step in flow.steps}
    return [_describe_way(steps[visit.step], is_answered=visit.is_answered) for visit in visits]


def _describe_way(step: FlowStep, *, is_answered: bool) -> str:
    route = find_route_after_success(step) if is_answered else find_route_after_failure(step)
    return f"{step.id} {'->' if is_answered else '-failure->'} {_describe_end(route)}"


def _describe_end(route: Route) -> str:
    return route.next_step or ("complete" if route.ending == "completed" else "fail")
