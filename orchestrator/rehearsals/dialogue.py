"""The form of a test of a scenario: what is answered, what the outside gives in its place, and what is to come of it.

It stands beside the scenario as `NAME.test.yaml`. Texts may be written as numbers or true, as in the scenario itself.
"""

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from orchestrator.definitions.model_mistakes import report_model_mistakes
from orchestrator.documents.document import Document
from orchestrator.documents.findings import Findings
from orchestrator.domain.address import REHEARSAL_PERSON
from orchestrator.domain.finding import Finding, Path
from orchestrator.language.schedule_terms import is_plain_zone
from orchestrator.rehearsals.step_names import KnownSteps
from state.stored import JsonObject

EACH: Final = "each"
"""The key of a mock that has one value for each time the step is done."""
REFUSED: Final = "refused"
"""The key of a mock of an effect that a person or a rule refuses; its value is the reason."""
FAILED: Final = "failed"
"""The key of a mock of a model, an agent or a service that gives no answer; its value is the reason."""


class FilePart(BaseModel):
    """A part of the file; a field that there is not is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Given(FilePart):
    """One answer of the person that is more than a typed text; exactly one field is given."""

    text: str | None = Field(None, description="What is typed, also if a button says the same.")
    press: str | None = Field(
        None, description="The words on the button that is pressed; of a button of the program their code, such as scenario-back."
    )
    contact: str | None = Field(None, description="The telephone of the contact that is sent.")
    photo: str | None = Field(None, description="The name of the photo that is sent.")
    document: str | None = Field(None, description="The name of the file that is sent.")
    timeout: Literal[True] | None = Field(None, description="True if no answer comes until the time is over.")

    @model_validator(mode="after")
    def _check_one(self) -> "Given":
        if len(self.model_dump(exclude_none=True)) != 1:
            raise ValueError("exactly one of text, press, contact, photo, document, timeout is needed")
        return self


class ExpectedEffect(FilePart):
    """One effect that must have been asked for."""

    step: str | None = None
    method: str
    params: JsonObject | None = Field(None, description="All parameters; without it any.")


class Expected(FilePart):
    """What must come of a dialogue. What is left out is not looked at."""

    outcome: Literal["done", "failed", "cancelled"] = "done"
    code: str = Field("", description="The code of the failure.")
    messages: list[str] | None = Field(
        None, description="Everything that the person reads, in order; a sentence of the program as [its-code]."
    )
    variables: JsonObject = Field(default_factory=dict, description="Variables at the end; others are not looked at.")
    effects: list[ExpectedEffect] | None = Field(None, description="All effects, in order.")


class Person(FilePart):
    """Who has the dialogue."""

    name: str = "Test"
    key: str = REHEARSAL_PERSON
    employee: int | None = Field(1, description="Their number as an employee of the portal; null for somebody who is none.")
    time_zone: str = Field("Europe/Moscow", description="Their time zone.")

    @field_validator("time_zone")
    @classmethod
    def _check_zone(cls, given: str) -> str:
        if not is_plain_zone(given):
            raise ValueError("there is no such time zone")
        return given


class Case(FilePart):
    """What tests of scenarios and of flows have in common: who has the run, on which day, and what is answered."""

    name: str = Field(min_length=1, max_length=200)
    person: Person = Field(default_factory=Person)
    day: str = Field("", description="The day on which it begins, such as 2026-11-27; without it a Monday.")
    inputs: list[str | Given] = Field(default_factory=list, description="The answers, in order.")

    @field_validator("day", mode="before")
    @classmethod
    def _check_day(cls, given: object) -> object:
        if isinstance(given, str) and given:
            date.fromisoformat(given)
        return given

    @field_validator("inputs", mode="before")
    @classmethod
    def _to_texts(cls, given: object) -> object:
        """Return numbers and truth values as the texts that a person would type."""
        return [to_typed(one) for one in given] if isinstance(given, list) else given

    def find_start(self, usual: datetime) -> datetime:
        """Return the moment at which it begins: `usual`, or its hour on the day of the test."""
        return datetime.combine(date.fromisoformat(self.day), usual.timetz()) if self.day else usual


class LaunchedCase(Case):
    """What tests of flows and of workflows have in common: how the run is started."""

    parameters: JsonObject | None = Field(
        None, description="The parameters of the start, as a program gives them; without them it is started in a chat, which asks for them."
    )
    text: str = Field("", description="What is typed behind the command that starts it in a chat.")


class Dialogue(Case):
    """One dialogue."""

    args: JsonObject = Field(default_factory=lambda: {"text": ""}, description="What it is started with; without it as by a bare /run.")
    mocks: dict[str, Any] = Field(default_factory=dict, description="What models, effects, documents and agents give, by step.")
    expect: Expected = Field(default_factory=Expected)

    def choose_mocks(self, _place: object, _kind: object) -> tuple[str, Mapping[str, Any]]:
        """Return all mocks: the step says what is asked for."""
        return "mocks", self.mocks


class DialogueFile(FilePart):
    """All dialogues of one scenario."""

    dialogues: list[Dialogue] = Field(min_length=1, max_length=1000)


def to_typed(given: object) -> object:
    """Return a scalar of a file as a person types it."""
    if isinstance(given, bool):
        return str(given).lower()
    return str(given) if isinstance(given, int | float) else given


def check_dialogue(document: Document, known: KnownSteps) -> Iterable[Finding]:
    """Return what is wrong with a document that is a single dialogue."""
    findings = Findings(document)
    if report_model_mistakes(findings, Dialogue, document.data, ()):
        _check_steps(findings, known, Dialogue.model_validate(document.data), ())
    return findings.list_all()


def check_dialogues(document: Document, known: KnownSteps) -> Iterable[Finding]:
    """Return what is wrong with a file of dialogues, all of it. Steps that there are not are looked for when nothing else is wrong."""
    findings = Findings(document)
    if report_model_mistakes(findings, DialogueFile, document.data, ()):
        for index, one in enumerate(DialogueFile.model_validate(document.data).dialogues):
            _check_steps(findings, known, one, ("dialogues", index))
    return findings.list_all()


def _check_steps(findings: Findings, known: KnownSteps, dialogue: Dialogue, path: Path) -> None:
    """Report mocks and effects of steps that there are not: nothing would ever ask for them."""
    for name in dialogue.mocks:
        known.report_unknown(findings, (*path, "mocks", name), name, may_be_keyed=True)
    for index, effect in enumerate(dialogue.expect.effects or ()):
        if effect.step is not None:
            known.report_unknown(findings, (*path, "expect", "effects", index, "step"), effect.step, of_value=True)
