"""Turns a finished run of a flow into a test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import dropwhile
from typing import Any, Final

from engines.flows.core.engine import LEFT, REOPENED
from engines.flows.core.kind import FLOW
from engines.flows.playing import ExpectedFlow, FlowCase, FlowPlayed, is_operation, is_tool, play_flow
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.effect import Outcome
from orchestrator.engines.base import find_step_id
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS, TEXT
from orchestrator.rehearsals.case import FAILED, Given
from orchestrator.rehearsals.comparing import list_effects, list_messages
from orchestrator.rehearsals.recorded_nodes import (
    NOTHING,
    STREAM,
    Done,
    FinishedRun,
    NotRecordable,
    build_mock,
    build_mocks,
    build_operation_mock,
    check_effects,
    check_end,
    list_done,
    load_recorded_output,
    read_finished,
    read_input,
    read_tape,
)
from orchestrator.rehearsals.rehearsal import CALLS, NO_ANSWER, Place
from orchestrator.rehearsals.script import find_shipped_classes
from orchestrator.runs.limits import RETRY
from state.canonical import dumps
from state.events.runs import WHOLE, NodeDone, NodeFailed, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_AGENTS: Final = "agents"


@dataclass(frozen=True, kw_only=True)
class RecordedFlow:
    run: FinishedRun
    case: FlowCase
    agents: Mapping[str, object]
    path: Sequence[str]
    effects: Sequence[Done]


@dataclass
class _Visit:
    answers: list[Any] = field(default_factory=list)
    is_answered: bool = False
    is_left: bool = False
    """The flow went on from its failure, which no retry opens again."""


@dataclass
class _Tape:
    key: str
    inputs: list[str | Given] = field(default_factory=list)
    visits: dict[tuple[str, str], _Visit] = field(default_factory=dict)
    operations: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By step and then by node; `calls` alike for tools."""
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    effects: dict[str, Done] = field(default_factory=dict)
    agents: Mapping[str, object] = field(default_factory=dict)
    buttons: dict[str, Sequence[str]] = field(default_factory=dict)
    begun: dict[tuple[str, str], None] = field(default_factory=dict)
    """In the order in which they began, also those without an answer."""

    def find_visit(self, node: str) -> _Visit:
        key = find_visit_key(node)
        self.begun.setdefault(key)
        return self.visits.setdefault(key, _Visit())

    def forget_unanswered(self) -> None:
        """A retry begins unanswered steps anew, unless the flow has left them."""
        self.visits = {key: visit for key, visit in self.visits.items() if visit.is_answered or visit.is_left}

    def forget_other_way(self, reopened: NodeDone) -> None:
        """Forget visits that followed a failure of this one, which has succeeded since."""
        own, numbers = find_visit_key(reopened.node), reopened.output or {}
        followed = dropwhile(lambda key: key != own, self.begun)
        gone = {key for key in followed if key != own and int(key[1]) <= numbers.get(key[0], 0)}
        self.visits = {key: visit for key, visit in self.visits.items() if key not in gone}
        for by_node in (self.effects, *self.calls.values()):
            for node in [node for node in by_node if find_visit_key(node) in gone]:
                del by_node[node]


def find_visit_key(node: str) -> tuple[str, str]:
    """(step, number of the visit)."""
    return find_step_id(node), node.partition("/")[2].partition("/")[0]


async def read_flow_recording(run_id: str, store: AsyncStore) -> RecordedFlow:
    """Raises NotRecordable."""
    run = await read_finished(store, f"{STREAM}{run_id}", FLOW)
    tape = _Tape(key=run.key)
    await read_tape(run.stream, store, partial(_read_event, tape=tape, store=store))
    case = FlowCase(
        name=f"{run.key} {run_id}",
        person=run.person,
        day=run.day,
        inputs=tape.inputs,
        parameters=run.args.get(PARAMETERS),
        context=run.args.get(CONTEXT) or {},
        text=str(run.args.get(TEXT, "")),
        answers=_join_answers(tape),
        operations={step: build_mocks(list(values.values())) for step, values in tape.operations.items()},
        calls={step: build_mocks(list(values.values())) for step, values in tape.calls.items()},
    )
    path = [step for step, _ in tape.visits]
    return RecordedFlow(run=run, case=case, agents=tape.agents, path=path, effects=list(tape.effects.values()))


def _join_answers(tape: _Tape) -> dict[str, Any]:
    answers_by_step: dict[str, list[Any]] = {}
    for (step, _), visit in tape.visits.items():
        answers_by_step.setdefault(step, []).extend(visit.answers)
    return {step: build_mocks(answers) for step, answers in answers_by_step.items()}


async def _read_event(kind: str, data: JsonObject, tape: _Tape, store: AsyncStore) -> None:
    match kind:
        case "RunWaits":
            waits = RunWaits.from_data(data)
            if waits.on == "input":
                tape.buttons[waits.node] = (*waits.options, *waits.controls)
        case "RunWoken":
            woken = RunWoken.from_data(data)
            if woken.node == WHOLE and woken.by == RETRY:
                tape.forget_unanswered()
            elif (buttons := tape.buttons.get(woken.node)) is not None:
                tape.inputs.append(read_input(woken, buttons))
        case "NodeFailed":
            failed = NodeFailed.from_data(data)
            if failed.code == NO_ANSWER:
                tape.find_visit(failed.node).answers.append({FAILED: failed.detail or failed.code})
        case "NodeDone":
            await _read_output(NodeDone.from_data(data), tape, store)


async def _read_output(done: NodeDone, tape: _Tape, store: AsyncStore) -> None:
    place = Place(tape.key, done.node)
    if done.node.endswith(f"/{REOPENED}"):
        tape.forget_other_way(done)
    if done.node.endswith(f"/{LEFT}"):
        tape.find_visit(done.node).is_left = True
    is_wanted = done.kind in {"model", "effect"} or (done.kind == "memo" and (done.node == _AGENTS or is_tool(place)))
    if not is_wanted or "#" in done.node:
        return
    output = await load_recorded_output(done, store)
    if done.node == _AGENTS:
        tape.agents = output
    elif done.kind == "model":
        visit, answer = tape.find_visit(done.node), _build_answer(output)
        visit.answers.append(answer)
        visit.is_answered |= isinstance(answer, str) and bool(answer.strip())
    else:
        if done.kind == "effect":
            outcome = Outcome.model_validate(output)
            tape.effects[done.node] = Done(tape.key, place.step, outcome.method, outcome.status == "refused" and not outcome.already)
        mock = build_operation_mock(Outcome.model_validate(output)) if is_operation(place) else build_mock(done.kind, output)
        if mock is not NOTHING:
            mocks = tape.operations if is_operation(place) else tape.calls
            mocks.setdefault(place.step, {})[done.node] = mock


def _build_answer(output: Any) -> Any:
    if not isinstance(output, Mapping):
        return output
    calls = [{"name": one["name"], "arguments": one["arguments"]} for one in output.get(CALLS) or ()]
    return {"text": output.get("text", ""), CALLS: calls} if calls else output.get("text", "")


async def complete_flow_recording(recorded: RecordedFlow, find_classes: FindClasses = find_shipped_classes) -> FlowCase:
    """Play the test to complete it. Raises NotRecordable if it takes other steps, has other effects, or ends otherwise."""
    case, run = recorded.case, recorded.run
    played = await play_flow(run.key, run.document, recorded.agents, case, find_classes=find_classes)
    check_end(run, played.result, played.problem)
    if played.path != list(recorded.path):
        raise NotRecordable(f"the run did the steps {', '.join(recorded.path)}, and played again it does {', '.join(played.path)}")
    check_effects(recorded.effects, list_done(played.happenings))
    if dumps(played.result.value.data) != dumps(run.result):
        raise NotRecordable("the run gave another result than it gives when it is played again")
    return case.model_copy(update={"expect": build_expected_flow(played)})


def build_expected_flow(played: FlowPlayed) -> ExpectedFlow:
    expected: JsonObject = {
        "outcome": played.result.status,
        "code": played.result.code,
        "path": played.path,
        "failedSteps": played.failed_steps,
        "payload": played.find_result("payload"),
        "summary": played.find_result("summary"),
        "operations": list_effects(played.operations),
        "calls": list_effects(played.calls),
        "messages": list_messages(played.happenings),
    }
    return ExpectedFlow.model_validate(expected)
