from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from orchestrator.definitions.rules import KEY_PATTERN
from orchestrator.domain.frozen import LateModel
from orchestrator.domain.models import ModelOptions

MOST_CHOICES: Final = 99
"""A chat shows 100 buttons, of which one may leave the parameter out."""
Slug = Annotated[str, Field(pattern=KEY_PATTERN)]
"""The text of a UUID is one, too (S002-10, S002-A3)."""
ParameterType = Literal["string", "number", "boolean", "object", "array"]


class FlowModel(LateModel):
    """What all parts of a flow have in common: the spelling of the seed, and no silent conversion of types."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, alias_generator=to_camel, populate_by_name=False)


class Options(FlowModel):
    """How a model writes (S002-28). What is left out is decided by the agent."""

    temperature: float | None = Field(None, ge=0, le=2, description="How freely the model writes, 0 to 2.")
    top_p: float | None = Field(None, ge=0, le=1, description="Out of which part of the likeliest words it chooses, 0 to 1.")
    max_tokens: int | None = Field(None, ge=1, le=1_000_000, description="The most tokens of its answer.")


class Metadata(FlowModel):
    """What people read about the flow (S002-15)."""

    title: str = Field("", max_length=200, description="What people call it.")
    description: str = Field("", max_length=2000, description="What it is for.")
    tags: list[Annotated[str, Field(min_length=1, max_length=50)]] = Field(
        default_factory=list, max_length=50, description="Words by which it is found."
    )


class Triggers(FlowModel):
    """From where the flow may be started (S002-17, S002-A12)."""

    ui: bool = Field(True, description="Whether people see and start it in chats and pages.")
    api: bool = Field(True, description="Whether other programs start it over HTTP.")


class LaunchParameter(FlowModel):
    """Something that whoever starts the flow gives (S002-20)."""

    name: str = Field(min_length=1, max_length=100, pattern=r"\S", description="Its name.")
    type: ParameterType = Field("string", description="What it is.")
    required: bool = Field(True, description="Whether the flow does not start without it.")
    description: str = Field("", max_length=500, description="What people are asked.")
    default: Any = Field(None, description="Ours: what it is if nobody gives it.")
    choices: list[Any] = Field(default_factory=list, max_length=MOST_CHOICES, description="Ours: the values of which it is one.")


class Budget(FlowModel):
    """Ours: how much one run may use. A person who has a run retried that used it up grants the same once more."""

    max_steps: int | None = Field(None, ge=1, le=100, description="The most steps, repeated ones counted each time.")
    max_tokens: int | None = Field(None, ge=1, le=1_000_000_000, description="The most tokens of models, read and written together.")
    max_cost: float | None = Field(None, gt=0, le=1e12, description="The most money for models, in the currency of the price table.")
    max_seconds: int | None = Field(None, ge=1, le=31_536_000, description="The longest time, without that of waiting for people.")


RecordKind = Literal["deal", "lead", "contact", "company"]
RECORDS: Final[frozenset[str]] = frozenset(get_args(RecordKind))


def describe_flow(document: object) -> tuple[str, str]:
    """Return (title, description)."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    fields: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    return str(fields.get("title") or ""), str(fields.get("description") or "")


def allows_start(trigger: str, document: object) -> bool:
    """Return whether the trigger, `ui` or `api`, is not false (S002-17, S002-A12)."""
    triggers = document.get("triggers") if isinstance(document, Mapping) else None
    return not isinstance(triggers, Mapping) or triggers.get(trigger) is not False


def join_options(*layers: Options) -> ModelOptions:
    """Each option comes from the last that says it: agent, flow, step."""
    merged: dict[str, Any] = {}
    for options in layers:
        merged |= {name: getattr(options, name) for name in Options.model_fields if getattr(options, name) is not None}
    return ModelOptions(temperature=merged.get("temperature"), top_p=merged.get("top_p"), max_tokens=merged.get("max_tokens"))
