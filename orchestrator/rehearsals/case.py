"""What tests of all kinds of definitions have in common: who has the run, on which day, and what is answered."""

from datetime import date, datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from orchestrator.domain.address import REHEARSAL_PERSON
from orchestrator.language.schedule_terms import is_plain_zone
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


def to_typed(given: object) -> object:
    """Return a scalar of a file as a person types it."""
    if isinstance(given, bool):
        return str(given).lower()
    return str(given) if isinstance(given, int | float) else given
