"""The form of a flow and of its agents as authors write them (S002-1…43, S002-X10), and where steps lead (S002-34…39, S002-A1, S002-A2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from orchestrator.engines.shared.declared import Budget, FlowModel, LaunchParameter, Metadata, Options, Slug, Triggers
from state.stored import JsonObject

AGENT: Final = "agent"

OWN_TOOLS: Final[Mapping[str, tuple[str, str, str]]] = {
    "rag_search": ("Answers a question from the company's documents.", "question", "The question, short and complete."),
    "calculate": ("Calculates with numbers, sums of money and percent.", "expression", 'Such as "150 000 + 20%".'),
}
"""Tools that are no methods of the portal: name: (what it does, its parameter, what that means)."""


class Agent(BaseModel):
    """An agent as its author writes it. Its key, its versions, and whether it is active belong to the store of definitions."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True, alias_generator=Options.model_config["alias_generator"])

    title: str = Field("", max_length=200, description="What people call it.")
    description: str = Field("", max_length=2000, description="What it is good at.")
    system_prompt: str = Field(min_length=1, max_length=100_000, description="What it is told about its part.")
    model: str = Field("", max_length=200, description="The name of a model of the settings; without it that of the role tool.")
    default_options: Options = Field(default_factory=Options, description="Options that a step may override.")
    tools: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list,
        max_length=30,
        description="What it may use while it works: reading methods such as crm.deal.list, rag_search (documents), calculate.",
    )
    effects: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        default_factory=list, max_length=100, description="Methods that it may propose, such as crm.deal.update; each passes the gate."
    )


MOST_STEPS: Final = 500
USUAL_LIMIT: Final = 10
USUAL_VERSIONS: Final = 10
USUAL_DAYS: Final = 30
"""How long a channel keeps its entries (S002-X10)."""

WriteMode = Literal["AGENT_OUTPUT", "STATIC"]


def _to_upper(mode: object) -> object:
    """Modes may be written either way (S002-X7)."""
    return mode.upper() if isinstance(mode, str) else mode


class DefaultOverrides(FlowModel):
    """What is changed for all steps."""

    options: Options = Field(default_factory=Options, description="Options of all steps that say nothing else.")


class Defaults(FlowModel):
    """What all steps share (S002-18, S002-19)."""

    context: JsonObject = Field(default_factory=dict, description="Facts that every agent is told; those of the start replace them.")
    overrides: DefaultOverrides = Field(default_factory=DefaultOverrides, description="Options of the models.")


class SharedChannel(FlowModel):
    """A channel of memory that outlives a step, and with the scope `user` the run (S002-16, S002-A8)."""

    id: Slug = Field(description="The name by which steps read and write it.")
    retention_versions: int = Field(USUAL_VERSIONS, ge=1, le=1000, description="How many entries it keeps.")
    retention_days: int = Field(USUAL_DAYS, ge=1, le=3650, description="For how many days it keeps an entry.")
    scope: Literal["run", "user"] = Field(
        "run", description="Ours: whether it ends with the run, or later runs of the same person read it."
    )


class Memory(FlowModel):
    """The channels that are declared. Others may be used, too, and keep what is usual (S002-A7)."""

    shared_channels: list[SharedChannel] = Field(default_factory=list, max_length=100, description="The channels.")


class MemoryRead(FlowModel):
    """A channel whose newest entries a step is told (S002-29)."""

    channel: Slug = Field(description="The channel.")
    limit: int = Field(USUAL_LIMIT, description="How many entries; a number that is not positive means the usual (S002-X7).")


class MemoryWrite(FlowModel):
    """What a step leaves in a channel (S002-31, S002-32)."""

    channel: Slug = Field(description="The channel.")
    mode: Annotated[WriteMode, BeforeValidator(_to_upper)] = Field("AGENT_OUTPUT", description="The agent's answer, or a fixed payload.")
    payload: Any = Field(None, description="What STATIC writes.")


class SuccessRoute(FlowModel):
    """Where a step that succeeded leads (S002-34, S002-35)."""

    next: str | None = Field(None, max_length=64, description="The step that follows.")
    complete: bool | None = Field(None, description="Whether the flow is complete. It counts more than next (S002-A2).")


class FailureRoute(FlowModel):
    """Where a step leads whose every attempt failed (S002-36, S002-37)."""

    next: str | None = Field(None, max_length=64, description="The step that follows.")
    fail: bool | None = Field(None, description="Whether the flow fails, also after the step that follows (S002-A1).")


class Transitions(FlowModel):
    """Where a step leads. Without any, success completes the flow and failure fails it (S002-38, S002-39)."""

    on_success: SuccessRoute = Field(default_factory=SuccessRoute, description="After an answer.")
    on_failure: FailureRoute = Field(default_factory=FailureRoute, description="After the last attempt without one.")


class FlowStep(FlowModel):
    """One step: which agent does it, what it is told, and where the flow goes from there."""

    id: Slug = Field(description="Its name in this flow.")
    name: str = Field("", max_length=200, description="What people call it.")
    agent_version_id: str = Field(
        min_length=1, max_length=200, description="The agent: the UUID of a version, or its key, or key@version (S002-A15)."
    )
    prompt: str | None = Field(None, max_length=100_000, description="What the agent is told about its part; without it its own (S002-27).")
    overrides: Options = Field(default_factory=Options, description="Options of this step alone.")
    memory_reads: list[MemoryRead] = Field(default_factory=list, max_length=50, description="Channels that it is told.")
    memory_writes: list[MemoryWrite] = Field(default_factory=list, max_length=50, description="Channels that it writes, any number.")
    transitions: Transitions = Field(default_factory=Transitions, description="Where it leads.")
    max_attempts: int = Field(1, le=20, description="How often it is tried, the first time included; below 1 means once (S002-X6, X7).")


class Title(FlowModel):
    """What people read in place of a name of the result, or of a field of an answer."""

    name: str = Field(min_length=1, max_length=200, description="The name.")
    title: str = Field(min_length=1, max_length=200, description="What people read.")


class Outputs(FlowModel):
    """What the flow gives at its end (S002-42, S002-43)."""

    summary_fields: list[str] = Field(default_factory=list, max_length=100, description="Paths such as steps.review.output.content.")
    result_payload: JsonObject = Field(default_factory=dict, description="JSON in which $steps.review.output.content is replaced.")
    titles: list[Title] = Field(
        default_factory=list, max_length=200, description="Ours: what people read in place of names, in the order in which they read it."
    )


class Flow(FlowModel):
    """A whole flow."""

    flow_id: Slug = Field(description="Its name, the key under which it is stored (S002-13).")
    version: int | None = Field(
        None, ge=1, description="Its number; the store gives it (S002-14, S002-A14).", json_schema_extra={"readOnly": True}
    )
    metadata: Metadata = Field(default_factory=Metadata, description="What people read about it.")
    sync_only: Literal[True] = Field(True, description="Always true: steps do not stream (S002-6).")
    memory: Memory = Field(default_factory=Memory, description="Its channels of memory.")
    triggers: Triggers = Field(default_factory=Triggers, description="From where it may be started.")
    defaults: Defaults = Field(default_factory=Defaults, description="What all steps share.")
    budget: Budget = Field(default_factory=Budget, description="Ours: how much one run may use.")
    launch_parameters: list[LaunchParameter] = Field(default_factory=list, max_length=100, description="What its start asks for.")
    start_step_id: str | None = Field(None, description="The first step; without it the first of the list (S002-49).")
    steps: list[FlowStep] = Field(min_length=1, max_length=MOST_STEPS, description="Its steps.")
    outputs: Outputs = Field(default_factory=Outputs, description="What it gives at its end.")


Ending = Literal["completed", "failed"]


@dataclass(frozen=True, slots=True)
class Route:
    """Another step, or the end. `is_doomed`: the flow fails whatever follows."""

    next_step: str = ""
    ending: Ending = "completed"
    is_doomed: bool = False


def find_route_after_success(step: FlowStep) -> Route:
    """`complete: true` counts more than `next`; without either the flow is complete."""
    on_success = step.transitions.on_success
    return Route() if on_success.complete or not on_success.next else Route(next_step=on_success.next)


def find_route_after_failure(step: FlowStep) -> Route:
    """Route after the last failed attempt. After `next` the flow fails only if `fail` is true, without `next` unless `fail` is false."""
    on_failure = step.transitions.on_failure
    if on_failure.next:
        return Route(next_step=on_failure.next, is_doomed=on_failure.fail is True)
    return Route(ending="completed" if on_failure.fail is False else "failed")


def list_next(step: FlowStep) -> list[str]:
    next_steps = (find_route_after_success(step).next_step, find_route_after_failure(step).next_step)
    return [one for one in dict.fromkeys(next_steps) if one]


def may_end(step: FlowStep) -> bool:
    return not (find_route_after_success(step).next_step and find_route_after_failure(step).next_step)
