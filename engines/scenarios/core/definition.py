"""The form of a scenario as authors write it: a JSON object with steps (S000-1 … S000-14)."""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from state.stored import JsonObject


def _to_text(raw: object) -> object:
    """YAML reads `version: 1.0` as a number."""
    return str(raw) if isinstance(raw, int | float) and not isinstance(raw, bool) else raw


class Step(BaseModel):
    """One step: what it is, its parameters, and where the run goes from it. Other fields are the author's own and have no effect."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    type: str = Field(min_length=1, description="What the step does, such as message or input.")
    id: str = Field("", max_length=100, description="The name by which other steps lead to this one.")
    params: JsonObject = Field(default_factory=dict, description="The parameters of this type of step.")
    next_step: str | None = Field(None, description="The id of the step that follows. Without it the next one in the list follows.")
    condition: str | None = Field(None, description="What a branch decides by, such as context.get('age', 0) >= 18.")
    branches: dict[str, str] | None = Field(None, description="Where a branch leads: the ids of steps under if and else.")


class Scenario(BaseModel):
    """A whole scenario."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    name: str = Field("", max_length=200, description="What people and logs call it.")
    description: str = Field("", max_length=2000, description="What it is for, in a sentence.")
    version: Annotated[str, BeforeValidator(_to_text)] = Field("", max_length=50, description='Such as "1.0".')
    customers: bool = Field(False, description="Whether customers may start it, through a token of the HTTP API that speaks for them.")
    show_progress: bool = Field(False, description="Whether each question says how far the scenario is.")
    allow_back: bool = Field(False, description="Whether a question has a button that goes back to the one before it.")
    allow_cancel: bool = Field(False, description="Whether a question has a button that cancels the scenario.")
    initial_context: JsonObject = Field(default_factory=dict, description="Variables that are there before the first step.")
    steps: list[Step] = Field(min_length=1, description="What is done, one after another.")


STEP_FIELDS: Final = tuple(Step.model_fields)
SCENARIO_FIELDS: Final = tuple(Scenario.model_fields)
BRANCHES: Final = ("if", "else")
RESERVED: Final = "__"
"""Begins the names of variables that only the engine sets (S000-X5)."""
AGENT: Final = "agent_id"
"""The one variable without `RESERVED` that only the engine sets."""
ABOUT_PERSON: Final = frozenset({"user_id", "user_name", "employee_id", "chat_id", "today", "time_zone"})
"""For whom, where and when a scenario runs; behind `RESERVED` always as the program knows it."""
IDENTITIES: Final = frozenset({"user_id", "user_name", "employee_id", "chat_id"})
"""Those that say who somebody is: a decision by one that a caller has given is the caller's."""
GIVEN_WINS: Final = 1
"""The edition since which values of authors and callers win."""


def is_for_customers(document: object) -> bool:
    return isinstance(document, Mapping) and document.get("customers") is True
