"""Turns a finished run of a workflow into a test that can be played.

What its models answered, or did not, what reads of the portal gave and what the person said is read from the run's stream. What it proposed
is not: the test is played, and what comes of it is what the test expects, if the run ended as that does with the same text and operations.
"""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from engines.workflows.core.engine import TUUMS
from engines.workflows.core.kind import WORKFLOW
from engines.workflows.core.rune_types import RuneTypes
from engines.workflows.rehearsal.case import CHUNKS, ExpectedWorkflow, WorkflowCase
from engines.workflows.rehearsal.playing import (
    PlayableWorkflow,
    WorkflowPlayed,
    WorkflowScript,
    compare_workflow,
    list_parts,
    play_script,
    play_workflow,
)
from orchestrator.definitions.rules import FindClasses
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.run_inputs import RunAnswer
from orchestrator.engines.runs import Ask
from orchestrator.engines.shared.launch import PARAMETERS, TEXT
from orchestrator.engines.step_nodes import find_step_id
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.case import FAILED, Given
from orchestrator.rehearsals.comparing import list_messages
from orchestrator.rehearsals.recorded_nodes import (
    NOTHING,
    STREAM,
    NotRecordable,
    build_mock,
    build_mocks,
    check_end,
    compare_variables,
    describe_start,
    load_recorded_output,
    load_run_document,
    read_finished,
    read_input,
    read_tape,
)
from orchestrator.rehearsals.rehearsal import NO_ANSWER, Place
from orchestrator.rehearsals.script import find_shipped_classes
from orchestrator.runs.memo import read_args
from state.canonical import dumps
from state.events.runs import NodeDone, NodeFailed, RunWaits, RunWoken
from state.journal.async_store import AsyncStore
from state.stored import JsonObject

_TEMP: Final = "_block/temp/"
"""Where a run reads its record before its changes, anew after each retry: the next part of the node is the number of the round."""
_CHOICE: Final = "_block/choice/"
"""Where the person chose in a conflict: a run that is played changes nothing, and asks nobody about it."""
_BEFORE: Final = "apply/before/"
"""What `+=` counts on: the next part is the place of the operation, and another behind it the number of the retry."""
_UNREAD: Final = ("_block/after", "_shown/")
"""What is read behind changes that were made, or for links of the last message; in a test nothing is made."""
_APPLY: Final = "apply/"
"""How nodes begin that make changes, but for what `+=` counts on."""
_ANSWER_FAILED: Final = "/failed"
_COMPARED: Final = ("isSuccess", "rawText", "operations", "finished")


@dataclass(frozen=True, slots=True)
class HeardInput:
    """What the person gave at a node, and the number of the option if they pressed one."""

    node: str
    given: str | Given
    option: int | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedWorkflow:
    """What was read of a run."""

    key: str
    case: WorkflowCase
    inputs: Sequence[HeardInput]
    document: Any
    tuums: Mapping[str, object]
    status: str
    code: str
    result: Any
    """The result of the run, None if it has none."""


@dataclass
class _Tape:
    """What has been read so far, in the order in which it happened."""

    inputs: list[HeardInput] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)
    """What models gave, by node."""
    reads: dict[str, tuple[str, Any]] = field(default_factory=dict)
    """(method, what it gave) of reads, by node."""
    tuums: Mapping[str, object] = field(default_factory=dict)
    buttons: dict[str, Sequence[str]] = field(default_factory=dict)

    def find_last_temp(self) -> str:
        """Return the node of the first reading of the record in the last round, "" if there was none."""
        rounds = {node for node in self.reads if node.startswith(_TEMP) and node.count("/") == _TEMP.count("/")}
        return max(rounds, key=lambda node: int(node.removeprefix(_TEMP)), default="")


@dataclass(frozen=True, kw_only=True)
class CompletedWorkflow:
    """A test of a workflow with what is to come of it."""

    case: WorkflowCase
    left_out: Sequence[str] = ()
    """The global variables at which it does not look, with both values: they came otherwise when it was played."""


async def read_workflow_recording(run_id: str, store: AsyncStore) -> RecordedWorkflow:
    """Return what a run of a workflow was given, ready to be played. Raises NotRecordable."""
    stream = f"{STREAM}{run_id}"
    memo, started = await read_finished(store, stream, WORKFLOW)
    document = await load_run_document(started, store)
    tape = _Tape()
    await read_tape(stream, store, partial(_read_event, tape=tape, store=store))
    who, day = describe_start(memo, started)
    args = {name: arg.data for name, arg in read_args(started).items()}
    case = WorkflowCase(
        name=f"{started.definition} {run_id}",
        person=who,
        day=day,
        parameters=args.get(PARAMETERS),
        text=str(args.get(TEXT, "")),
        answers=_join_answers(tape),
        queries=_name_reads(tape),
    )
    finished = memo.finished
    return RecordedWorkflow(
        key=started.definition,
        case=case,
        inputs=[heard_input for heard_input in tape.inputs if not heard_input.node.startswith(_CHOICE)],
        document=document,
        tuums=tape.tuums,
        status=finished.status if finished else "",
        code=finished.code if finished else "",
        result=finished.result if finished else None,
    )


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
    """Take what a model or a read gave, the last one if a retry did it anew; what the run itself noted is made anew."""
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
    """Return the answers by tuum, in the order in which it asked."""
    found: dict[str, list[Any]] = {}
    for node, answer in tape.answers.items():
        found.setdefault(find_step_id(node), []).append(answer)
    return {tuum: build_mocks(answers) for tuum, answers in found.items()}


def _name_reads(tape: _Tape) -> dict[str, Any]:
    """Return what reads gave, by METHOD if it was read once, by TUUM/METHOD if the tuum has read it once, otherwise by node.

    A run that is played has no retries, so nodes that bear their number are called as in a run without any.
    """
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
    named: dict[str, Any] = {}
    for node, (method, mock) in reads.items():
        step = find_step_id(node)
        if methods[method] == 1:
            name = method
        elif of_steps[step, method] == 1:
            name = f"{step}/{method}"
        else:
            name = f"{step}/{node.partition('/')[2]}"
        named[name] = mock
    return named


class _Again(WorkflowScript):
    """The outside of a run that is played again. An option is pressed by its number, for its words may be in another language."""

    def __init__(self, case: WorkflowCase, inputs: Sequence[HeardInput], find_classes: FindClasses) -> None:
        super().__init__(case.model_copy(update={"inputs": [heard_input.given for heard_input in inputs]}), find_classes=find_classes)
        self._heard = deque(inputs)
        self.pressed: list[str | Given] = []
        """The inputs with the words of the buttons as they are here."""

    async def answer(self, place: Place, ask: Ask) -> RunAnswer | None:
        if self._heard:
            heard = self._heard.popleft()
            given = heard.given
            if heard.option is not None and heard.option < len(ask.options):
                given = self._inputs[0] = Given(press=ask.options[heard.option].label)
            self.pressed.append(given)
        return await super().answer(place, ask)


async def complete_workflow_recording(
    recorded: RecordedWorkflow, types: RuneTypes, scripts: ScriptRunner, find_classes: FindClasses = find_shipped_classes
) -> CompletedWorkflow:
    """Return the test with what is to come of it, after playing it.

    Raises NotRecordable if it does not end as the run did, or gives another text, other operations or other variables. A variable with
    another value, such as a time that was measured, is left out of what is expected.
    """
    document = {name: one for name, one in recorded.document.items() if name != "triggers"}  # whatever they say, it is played
    workflow = PlayableWorkflow(key=recorded.key, document=document, tuums=recorded.tuums, types=types)
    script = _Again(recorded.case, recorded.inputs, find_classes)
    played = await play_script(workflow, recorded.case, script, scripts)
    check_end((recorded.status, recorded.code), played.ended, played.problem, left=played.left)
    had = recorded.result if isinstance(recorded.result, Mapping) else {}
    came_result = played.result.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in _COMPARED if had else ():
        if dumps(had[name]) != dumps(came_result[name]):
            raise NotRecordable(f"{name}: the run had {dumps(had[name])}, and played again it is {dumps(came_result[name])}")
    left_out = compare_variables(had["globals"], played.result.globals) if "globals" in had else {}
    kept = {name: one for name, one in played.result.globals.items() if name not in left_out} if "globals" in had else {}
    expect = build_expected_workflow(played, kept)
    case = recorded.case.model_copy(update={"inputs": script.pressed, "expect": expect})
    if differences := compare_workflow(expect, await play_workflow(workflow, case, scripts, find_classes=find_classes)):
        raise NotRecordable(f"played twice it does not come as before: {differences[0]}")
    return CompletedWorkflow(case=case, left_out=list(left_out.values()))


def build_expected_workflow(played: WorkflowPlayed, variables: JsonObject) -> ExpectedWorkflow:
    """Return what came of a workflow as what is expected of it, and of its global variables only these."""
    result = played.result
    told: JsonObject = {
        "isSuccess": result.is_success,
        "errorCode": result.error_code or "",
        "errorMessage": result.error_message or "",
        "parts": list_parts(result.raw_text),
        "operations": [operation.model_dump(mode="json", by_alias=True, exclude_none=True) for operation in result.operations],
        "globals": variables,
        "finished": list(result.finished) if result.is_success else None,
        "messages": list_messages(played.happenings),
    }
    return ExpectedWorkflow.model_validate(told)
