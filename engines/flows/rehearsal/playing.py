"""Plays a test of a flow and compares what came with what it expects."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from engines.flows.core.agents import Agent
from engines.flows.core.definition import Flow, FlowStep
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import FLOW
from engines.flows.core.routes import Route, find_route_after_failure, find_route_after_success
from engines.flows.rehearsal.case import ExpectedFlow, FlowCase, is_operation
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.outcome import Outcome
from orchestrator.engines.runs import RunEffect, RunResult
from orchestrator.engines.shared.launch import CONTEXT
from orchestrator.rehearsals.beginning import BEGINS, build_actor, build_launch_args
from orchestrator.rehearsals.comparing import compare_effects, compare_lists, compare_outcome, compare_values, list_effects, list_messages
from orchestrator.rehearsals.operation_mocks import apply_operation_mock
from orchestrator.rehearsals.rehearsal import Happening, Place, Rehearsal
from orchestrator.rehearsals.script import Script, ScriptEnded, find_shipped_classes
from state.stored import JsonObject

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


@dataclass
class _Trace:
    visits: dict[tuple[str, int], Visit] = field(default_factory=dict)

    def note(self, step: str, visit: int, is_answered: bool) -> None:  # noqa: FBT001 - as the engine calls it
        self.visits[step, visit] = Visit(step, is_answered)


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


async def play_flow(
    key: str, document: object, agents: Mapping[str, object], test: FlowCase, *, find_classes: FindClasses = find_shipped_classes
) -> FlowPlayed:
    """`agents` are documents by what names them; others have a stand-in."""

    async def find_agents(names: list[str]) -> Mapping[str, object]:
        return {name: agents.get(name) or STAND_IN.model_dump(mode="json", by_alias=True) for name in names}

    trace, script = _Trace(), FlowScript(test, find_classes=find_classes)
    engine = FlowEngine(find_agents, note_step=trace.note)
    actor = build_actor(test.person)
    rehearsal = Rehearsal(
        {FLOW: engine}, lambda kind, _: document if kind == FLOW else None, script, now=test.find_start(BEGINS), person=actor
    )
    problem, result = "", RunResult(status="cancelled")
    try:
        result = await rehearsal.play(FLOW, key, build_launch_args(test, {CONTEXT: test.context} if test.context else {}))
    except ScriptEnded as error:
        problem = str(error)
    visits = list(trace.visits.values())
    return FlowPlayed(result=result, visits=visits, happenings=script.happenings, problem=problem, left=script.left)


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
        if played.left:
            yield f"inputs: the last {played.left} were not asked for"
    if expect.path is not None:
        yield from compare_lists("path", expect.path, played.path)
    if expect.failed_steps is not None:
        yield from compare_lists("failedSteps", expect.failed_steps, played.failed_steps)
    if expect.operations is not None:
        yield from compare_effects("operations", expect.operations, list_effects(played.operations))
    if expect.calls is not None:
        yield from compare_effects("calls", expect.calls, list_effects(played.calls))
    if expect.messages is not None:
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
