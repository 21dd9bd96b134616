from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from engines.workflows.core.engine import TUUMS
from engines.workflows.core.kind import WORKFLOW
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.playing import (
    CHUNKS,
    ExpectedWorkflow,
    PlayableWorkflow,
    WorkflowCase,
    WorkflowPlayed,
    WorkflowScript,
    compare_workflow,
    list_parts,
    play_with,
    play_workflow,
)
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.effect import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.base import find_step_id
from orchestrator.engines.runs import Ask
from orchestrator.engines.shared.launch import PARAMETERS, TEXT
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.case import FAILED, Given
from orchestrator.rehearsals.comparing import list_messages
from orchestrator.rehearsals.recorded_nodes import (
    NOTHING,
    STREAM,
    FinishedRun,
    NotRecordable,
    build_mock,
    build_mocks,
    check_end,
    compare_variables,
    load_recorded_output,
    read_finished,
    read_input,
    read_tape,
)
from orchestrator.rehearsals.rehearsal import NO_ANSWER, Place
from orchestrator.rehearsals.script import find_shipped_classes
from state.canonical import dumps
from state.events.runs import NodeDone, NodeFailed, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_TEMP: Final = "_block/temp/"
"""Reads of the record before its changes; the next part of the node is the round."""
_CHOICE: Final = "_block/choice/"
"""A replay changes nothing, and asks nobody about conflicts."""
_BEFORE: Final = "apply/before/"
"""Reads for `+=`; the next parts are the place of the operation and the number of the retry."""
_UNREAD: Final = ("_block/after", "_shown/")
"""Reads after changes, or for links; in a test nothing is changed."""
_APPLY: Final = "apply/"
_ANSWER_FAILED: Final = "/failed"
_COMPARED: Final = ("isSuccess", "rawText", "operations", "finished")


@dataclass(frozen=True, slots=True)
class HeardInput:
    """What the person gave, and the number of the option if they pressed one."""

    node: str
    given: str | Given
    option: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedWorkflow:
    run: FinishedRun
    case: WorkflowCase
    inputs: Sequence[HeardInput]
    tuums: Mapping[str, object]


@dataclass
class _Tape:
    inputs: list[HeardInput] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    reads: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """(method, what it gave) by node."""
    tuums: Mapping[str, object] = field(default_factory=dict)
    buttons: dict[str, Sequence[str]] = field(default_factory=dict)

    def find_last_temp(self) -> str:
        """The first reading of the record in the last round; "" if there was none."""
        rounds = {node for node in self.reads if node.startswith(_TEMP) and node.count("/") == _TEMP.count("/")}
        return max(rounds, key=lambda node: int(node.removeprefix(_TEMP)), default="")


@dataclass(frozen=True, kw_only=True)
class CompletedWorkflow:
    case: WorkflowCase
    left_out: Sequence[str] = ()
    """Global variables that are not compared, with both values: a replay gave others."""


async def read_workflow_recording(run_id: str, store: AsyncStore) -> RecordedWorkflow:
    """Raises NotRecordable."""
    run = await read_finished(store, f"{STREAM}{run_id}", WORKFLOW)
    tape = _Tape()
    await read_tape(run.stream, store, partial(_read_event, tape=tape, store=store))
    case = WorkflowCase(
        name=f"{run.key} {run_id}",
        person=run.person,
        day=run.day,
        parameters=run.args.get(PARAMETERS),
        text=str(run.args.get(TEXT, "")),
        answers=_join_answers(tape),
        queries=_name_reads(tape),
    )
    inputs = [heard_input for heard_input in tape.inputs if not heard_input.node.startswith(_CHOICE)]
    return RecordedWorkflow(run=run, case=case, inputs=inputs, tuums=tape.tuums)


async def _read_event(kind: str, data: JsonObject, tape: _Tape, store: AsyncStore) -> None:
    match kind:
        case "RunWaits":
            waits = RunWaits.from_data(data)
            if waits.on == "input":
                tape.buttons[waits.node] = (*waits.options, *waits.controls)
        case "RunWoken":
            woken = RunWoken.from_data(data)
            if (buttons := tape.buttons.get(woken.node)) is not None:
                stored: JsonObject = woken.value if isinstance(woken.value, Mapping) else {}
                option = int(stored["option"]) if woken.by != "timeout" and stored.get("kind") == "option" else None
                tape.inputs.append(HeardInput(woken.node, read_input(woken, buttons), option))
        case "NodeFailed":
            failed = NodeFailed.from_data(data)
            if failed.code == NO_ANSWER:
                tape.answers[failed.node] = {FAILED: failed.detail or failed.code}
        case "NodeDone":
            await _read_output(NodeDone.from_data(data), tape, store)


async def _read_output(done: NodeDone, tape: _Tape, store: AsyncStore) -> None:
    """A retry's value replaces the first; what the run itself noted is made anew."""
    before, is_failure, _ = done.node.rpartition(_ANSWER_FAILED)
    is_wanted = done.kind in {"model", "effect"} or done.node == TUUMS or (done.kind == "memo" and is_failure)
    is_change = done.node.startswith(_APPLY) and not done.node.startswith(_BEFORE)
    if not is_wanted or is_change or "#" in done.node or done.node.startswith(_UNREAD):
        return
    output = await load_recorded_output(done, store)
    if done.node == TUUMS:
        tape.tuums = output
    elif done.kind == "model":
        tape.answers[done.node] = output
    elif done.kind == "effect":
        outcome = Outcome.model_validate(output)
        mock = build_mock(done.kind, output)
        if mock is not NOTHING:
            tape.reads[done.node] = (outcome.method, mock)
    elif isinstance(output, Mapping) and "error" in output:
        failed = {FAILED: output["error"]}
        tape.answers[before] = {CHUNKS: [output["text"]], **failed} if output.get("text") else failed


def _join_answers(tape: _Tape) -> dict[str, Any]:
    answers_by_tuum: dict[str, list[Any]] = {}
    for node, answer in tape.answers.items():
        answers_by_tuum.setdefault(find_step_id(node), []).append(answer)
    return {tuum: build_mocks(answers) for tuum, answers in answers_by_tuum.items()}


def _name_reads(tape: _Tape) -> dict[str, Any]:
    """Name reads by METHOD or TUUM/METHOD if unique, otherwise by node."""
    reads: dict[str, tuple[str, Any]] = {}
    temp = tape.find_last_temp()
    for node, read in tape.reads.items():
        if node == temp:
            reads[f"{_TEMP}1"] = read
        elif node.startswith(_BEFORE):
            reads[_BEFORE + node.removeprefix(_BEFORE).partition("/")[0]] = read
        elif not node.startswith(_TEMP):
            reads[node] = read
    methods = Counter(method for method, _ in reads.values())
    of_steps = Counter((find_step_id(node), method) for node, (method, _) in reads.items())
    reads_by_name: dict[str, Any] = {}
    for node, (method, mock) in reads.items():
        step = find_step_id(node)
        if methods[method] == 1:
            name = method
        elif of_steps[step, method] == 1:
            name = f"{step}/{method}"
        else:
            name = f"{step}/{node.partition('/')[2]}"
        reads_by_name[name] = mock
    return reads_by_name


class _Again(WorkflowScript):
    """The outside of a replay."""

    def __init__(self, case: WorkflowCase, inputs: Sequence[HeardInput], find_classes: FindClasses) -> None:
        super().__init__(case.model_copy(update={"inputs": [heard_input.given for heard_input in inputs]}), find_classes=find_classes)
        self._heard = deque(inputs)
        self.pressed: list[str | Given] = []

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        if self._heard:
            heard = self._heard.popleft()
            recorded_input = heard.given
            if heard.option is not None and heard.option < len(ask.options):
                recorded_input = self._inputs[0] = Given(press=ask.options[heard.option].label)
            self.pressed.append(recorded_input)
        return await super().answer(place, ask)


async def complete_workflow_recording(
    recorded: RecordedWorkflow, types: RuneTypes, scripts: ScriptRunner, find_classes: FindClasses = find_shipped_classes
) -> CompletedWorkflow:
    """Play the test to complete it. Raises NotRecordable if it ends otherwise, or gives another text, other operations or variables."""
    document = {name: one for name, one in recorded.run.document.items() if name != "triggers"}  # whatever they say, it is played
    workflow = PlayableWorkflow(key=recorded.run.key, document=document, tuums=recorded.tuums, types=types)
    script = _Again(recorded.case, recorded.inputs, find_classes)
    played = await play_with(workflow, recorded.case, script, scripts)
    check_end(recorded.run, played.ended, played.problem, left=played.left)
    had = recorded.run.result if isinstance(recorded.run.result, Mapping) else {}
    came_result = played.result.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in _COMPARED if had else ():
        if dumps(had[name]) != dumps(came_result[name]):
            raise NotRecordable(f"{name}: the run had {dumps(had[name])}, and played again it is {dumps(came_result[name])}")
    left_out = compare_variables(had["globals"], played.result.globals) if "globals" in had else {}
    global_values = {name: one for name, one in played.result.globals.items() if name not in left_out} if "globals" in had else {}
    expect = build_expected_workflow(played, global_values)
    case = recorded.case.model_copy(update={"inputs": script.pressed, "expect": expect})
    if differences := compare_workflow(expect, await play_workflow(workflow, case, scripts, find_classes=find_classes)):
        raise NotRecordable(f"played twice it does not come as before: {differences[0]}")
    return CompletedWorkflow(case=case, left_out=list(left_out.values()))


def build_expected_workflow(played: WorkflowPlayed, variables: JsonObject) -> ExpectedWorkflow:
    result = played.result
    expected: JsonObject = {
        "isSuccess": result.is_success,
        "errorCode": result.error_code or "",
        "errorMessage": result.error_message or "",
        "parts": list_parts(result.raw_text),
        "operations": [operation.model_dump(mode="json", by_alias=True, exclude_none=True) for operation in result.operations],
        "globals": variables,
        "finished": list(result.finished) if result.is_success else None,
        "messages": list_messages(played.happenings),
    }
    return ExpectedWorkflow.model_validate(expected)
