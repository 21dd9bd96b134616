"""A run of a flow in the seed's words and spelling (S002-X3, S002-X5). Pure."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints
from pydantic.alias_generators import to_camel

from bot.http_api.audit.run_events import format_value
from bot.http_api.runs.run_models import RUN_ID, Usage, value_use
from bot.http_api.server.endpoint_context import Moment
from bot.http_api.server.errors import Trouble as AnswerTrouble
from engines.flows.core.definition import Flow
from engines.flows.http.definition_models import FlowApiModel
from engines.flows.http.run_events import EventType, Execution, FlowHistory, FlowStatus, Happening, StepStatus, Trouble, sum_use
from orchestrator.domain.budget import Budget
from orchestrator.engines.shared.declared import ParameterType
from orchestrator.engines.shared.parameters import ParameterMistake

LONGEST_WAIT: Final = 30
USUAL_WAIT: Final = 25
MOST_CONTEXT: Final = 200
Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]


class LaunchBody(BaseModel):
    """The body of a request to start a flow, or to see before what that would mean."""

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        json_schema_extra={"examples": [{"parameters": {"client": "Romashka"}, "sharedContext": {"channel": "site"}}]},
    )
    parameters: dict[Name, JsonValue] = Field(default_factory=dict, max_length=100, description="The launch parameters by name.")
    shared_context: dict[Name, JsonValue] = Field(
        default_factory=dict, max_length=MOST_CONTEXT, description="Facts that every agent is told; they stand over those of the flow."
    )


class Started(FlowApiModel):
    """The answer to a start: the run is stored, and as a rule has begun."""

    session_id: str = Field(description="The id of the run, under which it is followed.", examples=[RUN_ID])
    flow_id: str = Field(examples=["offer"])
    version: int = Field(description="The version whose form the parameters were checked by.", examples=[3])
    status: Literal["PENDING"] = "PENDING"


class ParameterProblem(FlowApiModel):
    """What is wrong with one launch parameter."""

    name: str = Field(examples=["client"])
    problem: Literal["missing", "type", "choice", "unknown"]
    expected: str = Field(description="The type, the choices, or for an unknown one the known names.", examples=["string"])


class ParametersTrouble(AnswerTrouble):
    """The error that launch parameters do not fit."""

    parameters: Sequence[ParameterProblem] = Field((), description="Each one that does not fit; none for another Idempotency-Key.")


class ParametersBody(BaseModel):
    """The body of the answer that launch parameters do not fit."""

    error: ParametersTrouble


class FlowError(FlowApiModel):
    """Why something failed."""

    code: str = Field(description="A word for programs.", examples=["degraded"])
    message: str = Field("", description="A sentence; empty where none is known, or where the token may not read it.")


class FlowEvent(FlowApiModel):
    """One thing that happened in a run of a flow."""

    event_id: int = Field(description="Grows from event to event, with gaps; send the last one as sinceEventId.", examples=[3000])
    type: EventType
    at: Moment
    step_id: str = Field("", examples=["draft"])
    visit: int = Field(0, description="The how manieth visit of the step it is; 0 for an event of the whole flow.")
    attempt: int = Field(0, description="The how manieth attempt of that visit.")
    started_at: str = ""
    ended_at: str = ""
    retry_at: str = Field("", description="Of STEP_RETRY_SCHEDULED: when the next attempt begins.")
    usage: Usage | None = Field(None, description="What the attempt has used so far.")
    error: FlowError | None = None
    by: str = Field("", description="Who ordered it, of FLOW_STARTED, FLOW_PAUSED and FLOW_CANCELLED.", examples=["http:site"])
    reason: Literal["", "resume", "retry"] = Field("", description="Of FLOW_RESUMED: what was ordered.")


class StepLine(FlowApiModel):
    """One step of the definition as it stands now."""

    id: str = Field(examples=["draft"])
    name: str
    status: StepStatus
    visits: int = Field(description="How often the flow came to it.")
    attempts: int = Field(description="How many executions it has had in all visits.")


class StepExecution(FlowApiModel):
    """One attempt of one visit of a step."""

    visit: int
    attempt: int
    status: StepStatus
    started_at: str
    ended_at: str
    usage: Usage | None
    error: FlowError | None
    output: Any = Field(description="The answer as `content`, with its fields if it is a JSON object; null where there is none.")


class StepWhole(StepLine):
    """One step with its executions."""

    executions: Sequence[StepExecution] = Field(description="In the order in which they began.")


class FlowRunLine(FlowApiModel):
    """Where a run of a flow stands."""

    session_id: str = Field(examples=[RUN_ID])
    flow_id: str = Field(examples=["offer"])
    version: int
    status: FlowStatus
    state_version: int = Field(description="Grows with every change; send it back to wait for the next one.", examples=[9])
    last_event_id: int
    started_at: str
    ended_at: str
    result: Any = Field(description="{payload, summary} of a flow that is complete; null before, and where the token may not read it.")
    error: FlowError | None = Field(description="Why it failed.")


class FlowRun(FlowRunLine):
    """A run of a flow with what is new in it."""

    steps: Sequence[StepLine]
    events: Sequence[FlowEvent] = Field(description="What came after sinceEventId, the oldest first.")


class MemoryVersion(FlowApiModel):
    """One entry of a channel of memory."""

    version: int = Field(description="Counted from 1 in each channel.")
    data: Any


class MemoryChannel(FlowApiModel):
    """What a channel of memory keeps, the newest entry first."""

    id: str
    versions: Sequence[MemoryVersion]


class RunDefinition(FlowApiModel):
    """The definition that a run executes, as it was when the run began."""

    id: str = Field(description="The UUID of its version; empty for one that came with the program, or whose version is gone.")
    flow_id: str
    version: int
    digest: str = Field(description="The SHA-256 of its canonical JSON.")
    document: Any = Field(description="The definition itself; null where the token may not read it.")


class FlowSnapshot(FlowRunLine):
    """The whole picture of a run of a flow."""

    definition: RunDefinition
    parameters: Any = Field(description="What it was started with; null where the token may not read it.")
    shared_context: Any = Field(description="The context of the start; null where the token may not read it.")
    steps: Sequence[StepWhole]
    channels: Sequence[MemoryChannel] = Field(description="What its completed steps left in memory; none where the token may not read it.")
    usage: Usage = Field(description="Of all executions.")


class ControlBody(BaseModel):
    """The body of an order to a run of a flow."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, json_schema_extra={"examples": [{"action": "pause"}]})
    action: Literal["pause", "resume", "cancel", "retryStep"] = Field(
        description="retryStep goes on at what failed, with all attempts of it; finished steps are not done again."
    )
    step_id: str = Field("", max_length=64, description="Of retryStep: the step that failed; without it the one that did.")


class PollQuery(BaseModel):
    """The query of a poll. Without sinceEventId and stateVersion the answer comes at once."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)
    since_event_id: int | None = Field(None, ge=0, le=10**15, description="The last event that the caller has seen.", examples=[0])
    state_version: int | None = Field(None, ge=0, le=10**12, description="The state that the caller has seen.", examples=[0])
    timeout: int = Field(USUAL_WAIT, ge=0, le=LONGEST_WAIT, description="Seconds to wait when nothing is new.")


class Reading:
    """How one caller reads a run: whether its words may be shown, and the prices."""

    def __init__(self, budget: Budget, *, shows_words: bool) -> None:
        self._budget, self.shows_words = budget, shows_words

    def to_event(self, happening: Happening) -> FlowEvent:
        execution = happening.execution
        of_step = _pick(execution, "visit", "attempt", "started_at", "ended_at") if execution is not None else {}
        if execution is not None and happening.type == "STEP_RETRY_SCHEDULED":
            of_step["retry_at"] = execution.retry_at
        return FlowEvent(
            **_pick(happening, "type", "at", "by", "reason"),
            **of_step,
            event_id=happening.number,
            step_id=happening.step,
            error=self.to_error(happening.error),
            usage=self.to_usage([execution]) if execution is not None else None,
        )

    def to_usage(self, executions: Sequence[Execution]) -> Usage | None:
        """None for nothing."""
        return self.sum_usage(executions) if any(execution.used for execution in executions) else None

    def sum_usage(self, executions: Sequence[Execution]) -> Usage:
        return value_use(self._budget, sum_use(executions), sum(execution.seconds for execution in executions))

    def to_error(self, error: Trouble | None) -> FlowError | None:
        """The words only if this caller may read them."""
        if error is None:
            return None
        return FlowError(code=error.code, message=format_value(error.message) if self.shows_words else "")

    def list_steps(self, flow: Flow | None, history: FlowHistory) -> list[StepLine]:
        lines = []
        for step in flow.steps if flow is not None else ():
            visits = [execution.visit for execution in history.executions if execution.step == step.id]
            line = {"id": step.id, "name": step.name or step.id, "status": history.find_status(step.id)}
            lines.append(StepLine(**line, visits=len(set(visits)), attempts=len(visits)))
        return lines

    def to_execution(self, execution: Execution) -> StepExecution:
        return StepExecution(
            **_pick(execution, "visit", "attempt", "status", "started_at", "ended_at"),
            usage=self.to_usage([execution]),
            error=self.to_error(execution.error),
            output=execution.output if self.shows_words else None,
        )

    def describe_line(self, session_id: str, history: FlowHistory) -> FlowRunLine:
        started, finished = history.started, history.finished
        if started is None:
            raise LookupError(session_id)
        return FlowRunLine(
            session_id=session_id,
            flow_id=started.definition,
            version=started.version,
            **_pick(history, "status", "started_at", "ended_at"),
            state_version=history.version,
            last_event_id=history.happenings[-1].number,
            result=finished.result if finished is not None and finished.status == "done" and self.shows_words else None,
            error=self.to_error(history.error),
        )


def _pick(source: object, *names: str) -> dict[str, Any]:
    return {name: getattr(source, name) for name in names}


def to_problems(mistakes: Sequence[ParameterMistake]) -> list[ParameterProblem]:
    return [ParameterProblem(**_pick(mistake, "name", "problem", "expected")) for mistake in mistakes]


class LaunchParameterShown(FlowApiModel):
    """A launch parameter as a form shows it."""

    name: str
    type: ParameterType
    required: bool
    description: str
    default: Any
    choices: Sequence[Any]
    value: Any = Field(description="What the flow would be started with; null for nothing.")


class PlannedStep(FlowApiModel):
    """One step as a run would do it, and at most what it would use."""

    id: str
    name: str
    agent_version_id: str
    agent: str = Field(description="The title of the agent, without one its key; empty if it is not usable.")
    model: str = Field(description="The model that is asked first.")
    max_attempts: int
    prompt_tokens: int = Field(description="At most, of one attempt: what it is told, with full channels of memory.")
    completion_tokens: int = Field(description="At most, of one attempt: maxTokens, without it what is usual.")
    cost: float | None = Field(description="At most, of all attempts; null where the model has no price.")


class Estimate(FlowApiModel):
    """At most what one pass through all steps uses, each visited once with all its attempts. Tokens are an estimate by characters."""

    prompt_tokens: int
    completion_tokens: int
    cost: float | None = Field(description="Null where a model has no price; `unpriced` names it.")
    currency: str
    unpriced: Sequence[str]
    has_loops: bool = Field(description="Whether steps may be visited again: each visit costs as much again.")
    open_ended: Sequence[str] = Field(description="Steps without maxTokens: their answers may be longer than estimated.")


class LaunchPreview(FlowApiModel):
    """What starting a version of a flow would mean. Nothing was stored."""

    id: str
    flow_id: str
    version: int
    can_start: bool
    objections: Sequence[FlowError] = Field(description="Why it cannot be started now, apart from its parameters.")
    launch_parameters: Sequence[LaunchParameterShown]
    problems: Sequence[ParameterProblem] = Field(description="What is wrong with the parameters that were given.")
    steps: Sequence[PlannedStep] = Field(description="In the order of the definition.")
    estimate: Estimate
