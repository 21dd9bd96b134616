"""The form of a test of a workflow, which stands beside it as `NAME.test.yaml`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from engines.workflows.core.operations import read_operation
from engines.workflows.core.results import AtomicOperation
from orchestrator.definitions.mistakes import SENTENCES
from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.definitions.rules import FindClasses
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.finding import Finding, Path
from orchestrator.rehearsals.case import FilePart, LaunchedCase
from orchestrator.rehearsals.known_steps import KnownSteps
from orchestrator.rehearsals.script import find_shipped_classes
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
        code = "finding-method-unknown"
        args: dict[str, str | int] = {"name": quote_part(name)}
        findings.add(code, SENTENCES[code].format(**args), (*path, "queries", name), args=args)
    for index, name in enumerate(test.expect.finished or ()):
        known.report_unknown(findings, (*path, "expect", "finished", index), name, of_value=True)
