"""What tests of all kinds of definitions have in common: their form, the steps that they may name, with whom and what they begin."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from orchestrator.definitions.mistakes import report_mistake
from orchestrator.documents.findings import Findings
from orchestrator.documents.reports import quote_part
from orchestrator.domain.actor import Actor
from orchestrator.domain.address import REHEARSAL_PERSON
from orchestrator.domain.finding import Path
from orchestrator.domain.suggestions import suggest_name
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.shared.launch import PARAMETERS, TEXT
from orchestrator.language.schedule_terms import is_plain_zone
from state.stored import JsonObject

_CODE: Final = "finding-reference-unknown"
Names = Mapping[str, str]
"""By the first part of their nodes' names."""


@dataclass(frozen=True)
class KnownSteps:
    """Those of the tested definition, and of others that it may start."""

    key: str
    names: Mapping[str, Names]
    """By the key of their definition."""
    kind: str = "step"

    @property
    def is_open(self) -> bool:
        """A definition cannot be played, so not all steps are known."""
        return not all(self.names.values())

    def list_names(self) -> list[str]:
        return list(dict.fromkeys(name for names in self.names.values() for name in names.values()))

    def list_keyed_names(self) -> list[str]:
        """Return them as key/name."""
        return [f"{key}/{name}" for key, names in self.names.items() for name in names.values()]

    def report_unknown(self, findings: Findings, path: Path, name: str, *, may_be_keyed: bool = False, of_value: bool = False) -> None:
        known = [*self.list_names(), *(self.list_keyed_names() if may_be_keyed else ())]
        if name not in known and not self.is_open:
            near = self._suggest(name, known)
            report_mistake(findings, _CODE, path, suggestion=near, of_value=of_value, kind=self.kind, name=quote_part(name))

    def report_unknown_effects(self, findings: Findings, path: Path, effects: Sequence["ExpectedEffect"] | None) -> None:
        for index, effect in enumerate(effects or ()):
            if effect.step is not None:
                self.report_unknown(findings, (*path, index, "step"), effect.step, of_value=True)

    def _suggest(self, name: str, known: Collection[str]) -> str:
        """By number, although it has an id, or by a similar name."""
        label = name.rpartition("/")[2]
        by_label = next((names[label] for names in self.names.values() if label in names), "")
        return by_label or suggest_name(name, known)


BEGINS: Final = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
"""A Monday: a test must not depend on the day on which it runs."""
PERSONS: Final[Origins] = frozenset({"person"})
PERSON: Final = Actor(key=REHEARSAL_PERSON, name="Test", role="admin", sees="all", bitrix_user_id=1)
EACH: Final = "each"
"""One value for each time the step is done."""
REFUSED: Final = "refused"
"""A person or a rule refuses; the value is the reason."""
FAILED: Final = "failed"
"""No answer comes; the value is the reason."""


class FilePart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Given(FilePart):
    """An answer that is more than a typed text; exactly one field is given."""

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
    step: str | None = None
    method: str
    params: JsonObject | None = Field(None, description="All parameters; without it any.")


class Person(FilePart):
    name: str = "Test"
    key: str = REHEARSAL_PERSON
    employee: int | None = Field(1, description="Their number as an employee of the portal; null for somebody who is none.")
    time_zone: str = Field("Europe/Moscow", description="Their time zone.")

    @field_validator("time_zone")
    @classmethod
    def _check_zone(cls, zone: str) -> str:
        if not is_plain_zone(zone):
            raise ValueError("there is no such time zone")
        return zone


class Case(FilePart):
    name: str = Field(min_length=1, max_length=200)
    person: Person = Field(default_factory=Person)
    day: str = Field("", description="The day on which it begins, such as 2026-11-27; without it a Monday.")
    inputs: list[str | Given] = Field(default_factory=list, description="The answers, in order.")

    @field_validator("day", mode="before")
    @classmethod
    def _check_day(cls, day: object) -> object:
        if isinstance(day, str) and day:
            date.fromisoformat(day)
        return day

    @field_validator("inputs", mode="before")
    @classmethod
    def _to_texts(cls, answers: object) -> object:
        """Numbers and truth values are texts that a person types."""
        return [to_typed(one) for one in answers] if isinstance(answers, list) else answers

    def find_start(self, usual: datetime) -> datetime:
        """`usual`, or its hour on the day of the test."""
        return datetime.combine(date.fromisoformat(self.day), usual.timetz()) if self.day else usual


class LaunchedCase(Case):
    """How the run is started."""

    parameters: JsonObject | None = Field(
        None, description="The parameters of the start, as a program gives them; without them it is started in a chat, which asks for them."
    )
    text: str = Field("", description="What is typed behind the command that starts it in a chat.")


def to_typed(scalar: object) -> object:
    if isinstance(scalar, bool):
        return str(scalar).lower()
    return str(scalar) if isinstance(scalar, int | float) else scalar


def build_actor(person: Person) -> Actor:
    actor_fields = {"key": person.key, "name": person.name, "bitrix_user_id": person.employee, "time_zone": person.time_zone}
    return Actor.model_validate({**PERSON.model_dump(), **actor_fields})


def build_launch_args(test: LaunchedCase, more: JsonObject | None = None) -> dict[str, Value]:
    """By a program if parameters are given, otherwise in a chat."""
    start_values: JsonObject = {PARAMETERS: test.parameters} if test.parameters is not None else {TEXT: test.text}
    return {name: Value(one, PERSONS) for name, one in {**start_values, **(more or {})}.items()}
