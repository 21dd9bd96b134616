"""The form of a test of a flow, which stands beside it as `NAME.test.yaml`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Finding, Path
from orchestrator.rehearsals.case import ExpectedEffect, FilePart, LaunchedCase
from orchestrator.rehearsals.known_steps import KnownSteps
from orchestrator.rehearsals.rehearsal import Place
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
    for field, mocks in (("answers", test.answers), ("operations", test.operations), ("calls", test.calls)):
        for name in mocks:
            known.report_unknown(findings, (*path, field, name), name)
    expect = test.expect
    for field, step_names in (("path", expect.path), ("failedSteps", expect.failed_steps)):
        for index, name in enumerate(step_names or ()):
            known.report_unknown(findings, (*path, "expect", field, index), name, of_value=True)
    for field, effects in (("operations", expect.operations), ("calls", expect.calls)):
        for index, effect in enumerate(effects or ()):
            if effect.step is not None:
                known.report_unknown(findings, (*path, "expect", field, index, "step"), effect.step, of_value=True)
