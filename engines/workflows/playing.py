"""The form of a test of a workflow, which stands beside it as `NAME.test.yaml`, and how it is played and compared."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from bot.i18n.translate import Translator, split_method
from bot.rehearsing.trials import Asking, TrialInputs, Tried, Watch, build_case, build_tried
from bot.rehearsing.words import cut_text
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.entities import find_entity
from engines.workflows.core.execution import Execution
from engines.workflows.core.kind import WORKFLOW
from engines.workflows.core.operations import read_operation
from engines.workflows.core.results import AtomicOperation, WorkflowExecutionResult
from engines.workflows.core.rune_types import RuneTypes
from orchestrator.definitions.mistakes import report_mistake
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.actor import Actor
from orchestrator.domain.effect import Outcome
from orchestrator.domain.finding import Finding, Path
from orchestrator.domain.taint import Value
from orchestrator.engines.runs import RunEffect, RunFailed, RunModelRequest, RunResult
from orchestrator.engines.shared.block_marks import restore_data, restore_marks
from orchestrator.engines.shared.raw_text import Words, parse_raw_text
from orchestrator.expressions.placeholders import format_value
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.case import BEGINS, FAILED, PERSON, REFUSED, FilePart, KnownSteps, LaunchedCase, build_actor, build_launch_args
from orchestrator.rehearsals.comparing import compare_left, compare_lists, compare_values, list_messages
from orchestrator.rehearsals.rehearsal import Happening, Place, Rehearsal, TakeText
from orchestrator.rehearsals.script import (
    NO_MOCK,
    AskModel,
    Script,
    ScriptEnded,
    ask_no_model,
    find_among,
    find_shipped_classes,
    play_script,
)
from state.canonical import dumps
from state.clock import SystemClock
from state.stored import JsonObject

CHUNKS: Final = "chunks"
"""A mock of a model whose answer comes in pieces; its value is a list of them."""
_OWN: Final = ("apply", "_block", "_shown")
"""Reads of the engine itself: for `+=`, the record of the run, records of the last message."""
Operation = Annotated[AtomicOperation, BeforeValidator(read_operation)]
TextPart = str | dict[str, str]
"""Plain words of a text, or a block: {its id: its data}."""


class ExpectedWorkflow(FilePart):
    """What must come of a workflow. What is left out is not looked at, but for `isSuccess`."""

    is_success: bool = Field(True, alias="isSuccess", description="Whether the workflow succeeds.")
    error_code: str = Field("", alias="errorCode", description="The code of the failure, such as TuumExecutionFailed or Stopped.")
    error_message: str = Field("", alias="errorMessage", description="The words of the failure, such as those of stop().")
    raw_text: str | None = Field(None, alias="rawText", description="The whole text of the result.")
    parts: list[TextPart] | None = Field(None, description="The text by its parts: words as they are, blocks as {id: data}.")
    operations: list[Operation] | None = Field(None, description="All operations of the result, in order.")
    globals: JsonObject = Field(default_factory=dict, description="Global variables at the end; others are not looked at.")
    finished: list[str] | None = Field(None, description="The tuums that finished, in the order of the file.")
    messages: list[str] | None = Field(
        None, description="Everything that the person reads while it is started, in order; a sentence of the program as [its-code]."
    )


class WorkflowCase(LaunchedCase):
    """One test of a workflow."""

    answers: dict[str, Any] = Field(default_factory=dict, description="What the model of each tuum answers.")
    queries: dict[str, Any] = Field(
        default_factory=dict, description="What reading the portal gives, by METHOD, TUUM/METHOD or the node of the run."
    )
    expect: ExpectedWorkflow = Field(default_factory=ExpectedWorkflow)

    def choose_mocks(self, _place: object, kind: object) -> tuple[str, Mapping[str, Any]]:
        return ("answers", self.answers) if kind == "model" else ("queries", self.queries)


class WorkflowCaseFile(FilePart):
    """All tests of one workflow."""

    tests: list[WorkflowCase] = Field(min_length=1, max_length=1000)


def is_query_known(name: str, tuums: Sequence[str], find_classes: FindClasses = find_shipped_classes) -> bool:
    tuum, slash, _ = name.partition("/")
    return tuum in (*tuums, *_OWN) if slash else find_classes("bitrix", name) is not None


def check_workflow_cases(document: Document, tuums: Sequence[str], find_classes: FindClasses = find_shipped_classes) -> Iterable[Finding]:
    """Return all mistakes. Unknown tuums and methods are looked for when nothing else is wrong."""
    findings = Findings(document)
    if report_model_mistakes(findings, WorkflowCaseFile, document.data, ()):
        known = KnownSteps("", {"": {tuum: tuum for tuum in tuums}}, kind="tuum")
        for index, test in enumerate(WorkflowCaseFile.model_validate(document.data).tests):
            _check_names(findings, known, test, ("tests", index), find_classes)
    return findings.list_all()


def _check_names(findings: Findings, known: KnownSteps, test: WorkflowCase, path: Path, find_classes: FindClasses) -> None:
    for name in test.answers:
        known.report_unknown(findings, (*path, "answers", name), name)
    for name in test.queries:
        if is_query_known(name, known.list_names(), find_classes):
            continue
        if "/" in name:
            known.report_unknown(findings, (*path, "queries", name), name.partition("/")[0])
            continue
        report_mistake(findings, "finding-method-unknown", (*path, "queries", name), name=quote_part(name))
    for index, name in enumerate(test.expect.finished or ()):
        known.report_unknown(findings, (*path, "expect", "finished", index), name, of_value=True)


_ENDED: Final = "rehearsal-ended"


_SHOWN: Final = "_shown/"
"""Nodes that read records for the last message; without them it only has no links."""


@dataclass(frozen=True, kw_only=True)
class WorkflowPlayed:
    result: WorkflowExecutionResult
    """Code and words of a run that failed before or behind its tuums."""
    proposed: tuple[AtomicOperation, ...] = ()
    left_out: tuple[str, ...] = ()
    """Fields that are not written, because no value came for them."""
    reached: frozenset[str] = frozenset()
    happenings: Sequence[Happening] = ()
    ended: RunResult
    problem: str = ""
    """Why it could not be played to its end; "" if it was."""
    left: int = 0


class WorkflowScript(Script):
    """The outside of a workflow: models and reads are mocked, changes are only planned."""

    def __init__(
        self,
        test: WorkflowCase,
        *,
        model: AskModel = ask_no_model,
        find_classes: FindClasses = find_shipped_classes,
        is_strict: bool = True,
    ) -> None:
        """`model` answers where the test does not. An unknown read ends the test, or is refused if not `is_strict`."""
        super().__init__(test, model=model, find_classes=find_classes, is_strict=is_strict)
        self._refuses_reads = not is_strict
        self.problem = ""
        """What the script lacks; "" for nothing."""

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """Raises RunFailed, also if there is no answer."""
        try:
            return await super().ask_model(place, request, on_delta)
        except ScriptEnded as error:
            raise self._end(error) from None

    async def give_answer(self, found: Any, request: RunModelRequest, on_delta: TakeText | None) -> Any:
        """Stream a mock of {chunks: […]}; {chunks: […], failed: why} breaks off."""
        pieces: Sequence[object] | None = None
        if isinstance(found, Mapping) and CHUNKS in found and set(found) <= {CHUNKS, FAILED} and isinstance(found[CHUNKS], list):
            pieces = found[CHUNKS]
            found = {FAILED: found[FAILED]} if FAILED in found else "".join(map(str, pieces))
        for piece in pieces or ():
            if on_delta is not None:
                await on_delta(str(piece))
        answer = await super().give_answer(found, request, None)
        if pieces is None and on_delta is not None:
            await on_delta(answer)
        return answer

    async def perform(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """Raises RunFailed for a read that the test does not know."""
        if (refused := await self.refuse_form(place, effect, params)) is not None:
            return refused
        if not effect.must_read:
            return self.build_outcome(place, effect, NO_MOCK)
        try:
            return self.build_outcome(place, effect, self._find_read(place, effect.method))
        except ScriptEnded as error:
            raise self._end(error) from None

    def _find_read(self, place: Place, method: str) -> Any:
        """Look up a read by node, tuum or method alone. Raises ScriptEnded."""
        node = f"{place.step}/{place.node.partition('/')[2]}"
        mock = self.take_mock(place, "effect", (node, f"{place.step}/{method}", method))
        if mock is not NO_MOCK:
            return mock
        if self._refuses_reads or place.node.startswith(_SHOWN):
            return {REFUSED: f"the portal is not read here, and what {method} gives is not among the given queries"}
        raise ScriptEnded(f"{node} reads {method}: give what it returns as queries.{method}")

    def _end(self, error: ScriptEnded) -> RunFailed:
        self.problem = self.problem or str(error)
        return RunFailed(_ENDED, self.problem)


class _WorkflowAsking(Asking, WorkflowScript):
    def _name_read(self, place: Place, effect: RunEffect) -> str:
        return f"{place.step}/{effect.method}"

    def _has_read(self, place: Place, name: str) -> bool:
        mocks, node = self._dialogue.choose_mocks(place, "effect")[1], f"{place.step}/{place.node.partition('/')[2]}"
        return any(one in mocks for one in (node, name, name.partition("/")[2]))

    async def _miss_read(self, place: Place, effect: RunEffect, params: Any) -> Outcome:
        """A part that lacks it fails; others go on."""
        return await WorkflowScript.perform(self, place, effect, params)


@dataclass(frozen=True, kw_only=True)
class PlayableWorkflow:
    key: str
    document: Mapping[str, Any]
    tuums: Mapping[str, object] = field(default_factory=dict)
    types: RuneTypes
    case_model = WorkflowCase

    async def play(self, inputs: TrialInputs, person: Actor, watch: Watch) -> Tried:
        test = WorkflowCase.model_validate(build_case(inputs, person, "answers", "queries"))
        script = _WorkflowAsking(test)
        script.start(self.key, watch)
        now, actor = test.find_start(inputs.begun or SystemClock().now()), build_actor(test.person)
        async with ScriptRunner() as scripts:
            played = await rehearse_workflow(self, build_launch_args(test), script, scripts, now=now, person=actor)
        status: Literal["done", "failed"] = "done" if played.result.is_success else "failed"
        ended = RunResult(status=status, code="" if played.result.is_success else played.result.error_code)
        result = played.result.model_dump(mode="json", by_alias=True, exclude_none=True)
        left_out = {"leftOut": list(played.left_out)} if played.left_out else {}
        proposed = tuple(partial(describe_operation, operation) for operation in played.proposed)
        return build_tried(script, ended, played.problem, result={**result, **left_out}, proposed=proposed)


async def rehearse_workflow(
    workflow: PlayableWorkflow,
    args: Mapping[str, Value],
    script: WorkflowScript,
    scripts: ScriptRunner,
    *,
    now: datetime,
    person: Actor = PERSON,
) -> WorkflowPlayed:
    """Raises SettingsError of the outside."""
    noted: list[Execution] = []
    engine = WorkflowEngine(workflow.types, scripts, find_among(workflow.tuums), note_execution=noted.append)
    find = lambda kind, key: workflow.document if (kind, key) == (WORKFLOW, workflow.key) else None  # noqa: E731 - reads as the argument that it is
    rehearsal = Rehearsal({WORKFLOW: engine}, find, script, now=now, person=person)
    ended, problem = await play_script(rehearsal, WORKFLOW, workflow.key, args)
    execution = noted[-1] if noted else None
    reached = frozenset((*execution.result.finished, execution.failed_tuum)) - {""} if execution is not None else frozenset[str]()
    return WorkflowPlayed(
        result=_build_result(ended, execution, script.happenings),
        proposed=execution.result.operations if execution is not None else (),
        left_out=execution.left_out if execution is not None else (),
        reached=reached,
        happenings=script.happenings,
        ended=ended,
        problem=script.problem or problem,
        left=script.left,
    )


def _build_result(ended: RunResult, execution: Execution | None, happenings: Sequence[Happening]) -> WorkflowExecutionResult:
    known = execution.result if execution is not None else WorkflowExecutionResult(is_success=False)
    if ended.status == "done" or known.error_code:
        return known
    failures = [happening for happening in happenings if happening.kind == "failure"]
    result_fields = {"error_code": ended.code, "error_message": failures[-1].text if failures else "", "raw_text": "", "operations": ()}
    return known.model_copy(update={"is_success": False, **result_fields})


async def play_workflow(
    workflow: PlayableWorkflow, test: WorkflowCase, scripts: ScriptRunner, *, find_classes: FindClasses = find_shipped_classes
) -> WorkflowPlayed:
    return await play_with(workflow, test, WorkflowScript(test, find_classes=find_classes), scripts)


async def play_with(workflow: PlayableWorkflow, test: WorkflowCase, script: WorkflowScript, scripts: ScriptRunner) -> WorkflowPlayed:
    person = build_actor(test.person)
    return await rehearse_workflow(workflow, build_launch_args(test), script, scripts, now=test.find_start(BEGINS), person=person)


def compare_workflow(expect: ExpectedWorkflow, played: WorkflowPlayed) -> list[str]:
    """Lines to read; none without a difference."""
    return list(_compare(expect, played))


def _compare(expect: ExpectedWorkflow, played: WorkflowPlayed) -> Iterator[str]:
    result = played.result
    if played.problem:
        yield played.problem
        return
    yield from _compare_end(expect, result)
    yield from compare_left(played.left)
    if expect.raw_text is not None:
        yield from compare_lists("rawText", restore_marks(expect.raw_text).split("\n"), restore_marks(result.raw_text).split("\n"))
    if expect.parts is not None:
        yield from compare_lists("parts", list(map(_write_part, expect.parts)), list(map(_write_part, list_parts(result.raw_text))))
    if expect.operations is not None:
        yield from compare_lists("operations", list(map(write_operation, expect.operations)), list(map(write_operation, result.operations)))
    yield from compare_values("globals", restore_data(expect.globals), restore_data(result.globals))
    yield from compare_lists("finished", expect.finished, result.finished)
    yield from compare_lists("messages", expect.messages, list_messages(played.happenings))


def _compare_end(expect: ExpectedWorkflow, result: WorkflowExecutionResult) -> Iterator[str]:
    if expect.is_success != result.is_success or (expect.error_code and expect.error_code != result.error_code):
        expected_end, came = _write_end(expect.is_success, expect.error_code), _write_end(result.is_success, result.error_code)
        yield f"isSuccess: expected {expected_end}, came {came}{f' ({result.error_message})' if result.error_message else ''}"
    elif expect.error_message and expect.error_message != result.error_message:
        yield f"errorMessage: expected {dumps(expect.error_message)}, came {dumps(result.error_message)}"


def _write_end(is_success: bool, code: str) -> str:  # noqa: FBT001 - the value that is written
    return f"{dumps(is_success)} {code}".strip()


def list_parts(raw_text: str) -> list[TextPart]:
    read = [restore_data(one.text.strip() if isinstance(one, Words) else {one.id: one.data.strip()}) for one in parse_raw_text(raw_text)]
    return [one for one in read if one]


def _write_part(part: TextPart) -> str:
    return part.strip() if isinstance(part, str) else dumps({name: data.strip() for name, data in part.items()})


def write_operation(operation: AtomicOperation) -> str:
    data = operation.model_dump(mode="json", by_alias=True, exclude_none=True)
    what = " ".join(str(data.pop(name)) for name in ("operationType", "entityType", "entityId"))
    return f"{what} {dumps(data)}" if data else what


def describe_operation(operation: AtomicOperation, tr: Translator) -> str:
    method = find_entity(operation.entity_type).find_method(operation.operation_type)
    words = f"{tr.describe_call(method, *split_method(method)) or method} {operation.entity_id}"
    if operation.operation_type == "ModifyEntity":
        return f"{words}: {operation.attribute_key} {operation.modify_operator} {cut_text(format_value(operation.modify_value)).strip()}"
    fields = "; ".join(f"{name} = {cut_text(format_value(one))}" for name, one in (operation.initial_attributes or {}).items())
    return f"{words}: {fields}" if fields else words
