"""The form of a test of a scenario, which stands beside it as `NAME.test.yaml`."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.finding import Finding, Path
from orchestrator.rehearsals.case import Case, ExpectedEffect, FilePart
from orchestrator.rehearsals.known_steps import KnownSteps
from state.stored import JsonObject


class Expected(FilePart):
    """What must come of a dialogue. What is left out is not looked at."""

    outcome: Literal["done", "failed", "cancelled"] = "done"
    code: str = Field("", description="The code of the failure.")
    messages: list[str] | None = Field(
        None, description="Everything that the person reads, in order; a sentence of the program as [its-code]."
    )
    variables: JsonObject = Field(default_factory=dict, description="Variables at the end; others are not looked at.")
    effects: list[ExpectedEffect] | None = Field(None, description="All effects, in order.")


class Dialogue(Case):
    """One dialogue."""

    args: JsonObject = Field(default_factory=lambda: {"text": ""}, description="What it is started with; without it as by a bare /run.")
    mocks: dict[str, Any] = Field(default_factory=dict, description="What models, effects, documents and agents give, by step.")
    expect: Expected = Field(default_factory=Expected)

    def choose_mocks(self, _place: object, _kind: object) -> tuple[str, Mapping[str, Any]]:
        return "mocks", self.mocks


class DialogueFile(FilePart):
    """All dialogues of one scenario."""

    dialogues: list[Dialogue] = Field(min_length=1, max_length=1000)


def check_dialogue(document: Document, known: KnownSteps) -> Iterable[Finding]:
    findings = Findings(document)
    if report_model_mistakes(findings, Dialogue, document.data, ()):
        _check_steps(findings, known, Dialogue.model_validate(document.data), ())
    return findings.list_all()


def check_dialogues(document: Document, known: KnownSteps) -> Iterable[Finding]:
    """Return all mistakes; unknown steps are looked for when nothing else is wrong."""
    findings = Findings(document)
    if report_model_mistakes(findings, DialogueFile, document.data, ()):
        for index, dialogue in enumerate(DialogueFile.model_validate(document.data).dialogues):
            _check_steps(findings, known, dialogue, ("dialogues", index))
    return findings.list_all()


def _check_steps(findings: Findings, known: KnownSteps, dialogue: Dialogue, path: Path) -> None:
    for name in dialogue.mocks:
        known.report_unknown(findings, (*path, "mocks", name), name, may_be_keyed=True)
    for index, effect in enumerate(dialogue.expect.effects or ()):
        if effect.step is not None:
            known.report_unknown(findings, (*path, "expect", "effects", index, "step"), effect.step, of_value=True)
