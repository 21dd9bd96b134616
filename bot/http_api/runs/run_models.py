"""A run as the API presents it, with what it has used of the model."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.alias_generators import to_camel

from bot.http_api.approvals.card_models import ApiModel, Person
from bot.http_api.server.endpoint_context import LONGEST_SESSION, SESSION, CursorText, Moment
from orchestrator.domain.budget import Budget


class Usage(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)

    prompt_tokens: int = Field(examples=[812])
    completion_tokens: int = Field(examples=[240])
    cost: float | None = Field(description="By the price table of now; null where a model has no price.", examples=[0.33])
    currency: str = Field(examples=["RUB"])
    seconds: float = Field(0.0, description="How long the models took to answer.")


def round_cost(cost: Decimal) -> float:
    """Six places: single answers cost parts of a coin."""
    return float(round(cost, 6))


def value_use(budget: Budget, used: Mapping[str, tuple[int, int]], seconds: float = 0.0) -> Usage:
    is_known = all(budget.find_price(model) is not None for model in used)
    return Usage(
        prompt_tokens=sum(read for read, _ in used.values()),
        completion_tokens=sum(written for _, written in used.values()),
        cost=round_cost(budget.calculate_cost(used)) if is_known else None,
        currency=budget.currency,
        seconds=round(seconds, 3),
    )


RUN_ID: Final = "0190aaaa-0000-7000-8000-000000000001"
QUESTION: Final = "7f3a90c2"
MOST_ARGS: Final = 50
LONGEST_ANSWER: Final = 4000
Status = Literal["running", "waiting", "paused", "done", "failed", "cancelled"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.:/-]+$")]
ArgName = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]

OwnerKey = Annotated[
    str, Field(pattern=r"^[a-z]{2,10}:[!-~]{1,200}$", description="Only with the rights of this person or token.", examples=["tg:1007"])
]


class RunBody(BaseModel):
    """The body of a request to start a run."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"engine": "steps", "definition": "welcome", "args": {"deal": 481}}]}
    )
    engine: Name = Field(description="The engine that executes it.", examples=["steps"])
    definition: Name = Field(description="The key of the definition to execute.", examples=["welcome"])
    args: dict[ArgName, JsonValue] = Field(
        default_factory=dict, max_length=MOST_ARGS, description="The values with which it starts, by name.", examples=[{"deal": 481}]
    )
    home: Annotated[
        str | None,
        Field(
            pattern=f"^{SESSION.pattern}$",
            max_length=LONGEST_SESSION,
            description="The session in which its messages are shown: one of the token's own, by default http:{token}:runs.",
            examples=["http:site:42"],
        ),
    ] = None


class AnswerBody(BaseModel):
    """The body of an answer to the question of a run: a button by its number, or text."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"option": 0}]})
    option: int | None = Field(None, ge=0, le=999, description="The number of the button, counted from 0.", examples=[0])
    text: str | None = Field(
        None, min_length=1, max_length=LONGEST_ANSWER, description="The answer in words, where the question takes them."
    )


class RunQuery(BaseModel):
    model_config = ConfigDict(extra="forbid")
    status: Sequence[Status] = Field((), max_length=10, description="Only in this status; may be given again.")
    engine: Name | None = Field(None, description="Only of this engine.", examples=["steps"])
    definition: Name | None = Field(None, description="Only of the definition with this key.", examples=["welcome"])
    owner: OwnerKey | None = None
    cursor: CursorText | None = None
    limit: int = Field(20, ge=1, le=100)


class RunAccepted(ApiModel):
    """The answer to a request to start a run: it is stored, and the run begins soon."""

    id: str = Field(description="For /runs/{id}.", examples=[RUN_ID])
    home: str = Field(description="Where its messages come: GET /sessions/{home}/events.", examples=["http:site:runs"])
    status: Literal["accepted"] = "accepted"


class RunLine(ApiModel):
    """One run as the list shows it."""

    id: str = Field(examples=[RUN_ID])
    engine: str = Field(examples=["steps"])
    definition: str = Field(examples=["welcome"])
    version: int = Field(description="The version of the definition that it executes to its end.", examples=[1])
    status: Status
    owner: Person = Field(description="The person or token with whose rights it works.")
    home: str = Field(description="The session in which its messages are shown.", examples=["http:site:42"])
    parent: str = Field("", description="The run that started it and waits for its end.")
    started_at: Moment
    updated_at: Moment = Field(description="When its status changed last.")


class Runs(BaseModel):
    """One page of runs, the one that was started last first."""

    runs: Sequence[RunLine]
    next: str | None = Field(description="Where the next page begins; null at the end. A page may be short and have a next one.")


class Wait(ApiModel):
    """One thing that a run waits for."""

    node: str = Field(description="The named piece of work that waits.", examples=["ask_budget"])
    waits_for: Literal["input", "effect", "timer", "run"] = Field(
        description="An answer of a person, the decision about a call, a moment, or the end of another run."
    )
    since: str = Field("", examples=["2026-11-22T14:05:00.000000Z"])
    until: str = Field("", description="When it goes on by itself.")
    question: str = Field("", description="Of an answer: POST /runs/{id}/answers/{question}.", examples=[QUESTION])
    text: str = Field("", description="The question; empty where the token may not read what a run says.")
    options: Sequence[str] = Field((), description="Its buttons, numbered from 0.")
    takes: Sequence[str] = Field((), description="What may be sent beside a button: text, contact, photo, document.")
    answers: Sequence[Person] = Field((), description="Who may answer.")
    confirmation_id: str = Field("", description="Of a decision: POST /confirmations/{id}.")
    run: str = Field("", description="The other run.")


class OpenCall(ApiModel):
    """One call of a model that has no answer: it is under way, or a crash or a stop has ended it."""

    place: str = Field(description="The named piece of work that asked.", examples=["ask_budget"])
    asked_at: Moment
    model: str
    tokens: int = Field(description="Estimated; they count in the budget.")
    month: int = Field(description="In whose budget they count.", examples=[202611])
    asked_again: bool = Field(description="Whether the same place has asked again since.")
    is_lost: bool = Field(description="Whether no answer can come any more; otherwise it is under way or lost.")


class OpenCalls(ApiModel):
    """The calls of models in a run that have no answer, the oldest first."""

    model_calls_without_answer: Sequence[OpenCall]


class RunError(ApiModel):
    """The error with which the run or one of its nodes failed last."""

    code: str = Field(description="A word for programs.", examples=["degraded"])
    node: str = ""
    at: Moment
    detail: str = Field("", description="What happened, for operations staff; empty where the token may not read it.")


class RunChanges(ApiModel):
    """What became of the changes that the run proposed."""

    made: int = Field(0, description="Made, planned, or there already.")
    left: int = Field(0, description="Not made: denied, refused, or behind one that was.")


class Run(RunLine):
    """One run as it is now."""

    title: str = Field("", description="What people call it: the title of its definition when it began; empty if that had none.")
    mode: str = Field(description="The safety mode in which it began; it never works in a less safe one.", examples=["full"])
    nodes_done: int
    waits: Sequence[Wait] = ()
    last_error: RunError | None = None
    changes: RunChanges = Field(RunChanges(), description="Known at its end.")
    result: JsonValue = Field(None, description="What it gave at its end; null where the token may not read it.")
    may_control: bool = Field(description="Whether this token may pause, resume, retry and cancel it.")
