"""The steps that run a flow or a workflow inside of a scenario."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

from pydantic import Field

from engines.scenarios.core.step_types import AnyStepCall, Raw, StepCall, StepParams, StepResult, StepType, VariableName, list_named
from engines.scenarios.core.steps.flow import fail_with_child, list_mapped, map_outputs
from orchestrator.domain.taint import FOREIGN, Value, join_origins, split_values
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS
from orchestrator.expressions.placeholders import SCENARIO, Template
from state.stored import JsonObject

FLOW: Final = "flow"
WORKFLOW: Final = "workflow"
_RESULT: Final = "flow_result"
_WORKFLOW_RESULT: Final = "workflow_result"


class FlowRunParams(StepParams):
    """Which flow runs inside of this scenario, and what they exchange."""

    flow_id: str = Field(min_length=1, pattern=r"^[^@]*$", description="The key of the flow.")
    parameters: JsonObject | None = Field(None, description="Its launch parameters; without them it asks the person for each.")
    context: JsonObject = Field(default_factory=dict, description="What all of its agents are told beside them.")
    output_mapping: dict[VariableName, object] | list[VariableName] | None = Field(
        None, description="Which fields of its resultPayload become which variables; without it output_var gets the whole result."
    )
    output_var: VariableName = Field(
        _RESULT, min_length=1, description="Without output_mapping: the variable that gets {payload, summary}."
    )


class WorkflowRunParams(StepParams):
    """Which workflow runs inside of this scenario, and what they exchange."""

    workflow_id: str = Field(min_length=1, pattern=r"^[^@]*$", description="The key of the workflow.")
    parameters: JsonObject | None = Field(None, description="Its trigger parameters; without them it asks the person for each.")
    output_mapping: dict[VariableName, object] | list[VariableName] | None = Field(
        None, description="Which fields of its result become which variables; without it output_var gets the whole result."
    )
    output_var: VariableName = Field(
        _WORKFLOW_RESULT, min_length=1, description="Without output_mapping: the variable that gets {isSuccess, rawText, operations, …}."
    )


async def _run_flow(call: StepCall[FlowRunParams]) -> StepResult:
    """Raises RunFailed if it fails, or if text of strangers names it."""
    params = call.params
    ended = await _run_child(call, FLOW, "flow_id", {CONTEXT: _take(call, "context", {})})
    if params.output_mapping is None:
        return StepResult(changes={params.output_var: ended})
    return StepResult(changes=_map(params.output_mapping, ended.get("payload")))


async def _run_workflow(call: StepCall[WorkflowRunParams]) -> StepResult:
    """Raises RunFailed if it fails, or if text of strangers names it."""
    params = call.params
    ended = await _run_child(call, WORKFLOW, "workflow_id", {})
    if params.output_mapping is None:
        return StepResult(changes={params.output_var: ended})
    return StepResult(changes=_map(params.output_mapping, ended))


async def _run_child(call: AnyStepCall, engine: str, parameter: str, child_args: Mapping[str, Value]) -> Value:
    """`parameter` names the definition. Raises RunFailed if it fails, or if strangers named it."""
    key = str(getattr(call.params, parameter))
    if join_origins(split_values(call.filled[parameter])[1]) & FOREIGN:  # text of strangers must not choose what is done
        raise call.fail("scenario-value-unfit", f"{parameter} comes from text of strangers", name=parameter)
    args = dict(child_args)
    if call.params.parameters is not None:
        args[PARAMETERS] = _take(call, "parameters", {})
    ended = await call.ctx.child(call.node, engine, key, args)
    if ended.status != "done":
        raise fail_with_child(call, ended, engine, key)
    return ended.value


def _map(mapping: Mapping[str, object] | list[str], result: Value) -> Mapping[str, Value]:
    return {name: result.get(name) for name in mapping} if isinstance(mapping, list) else map_outputs(mapping, result)


def _take(call: AnyStepCall, name: str, default: JsonObject) -> Value:
    """As one value, also of strangers whose text has chosen the way to this step."""
    return Value(split_values(call.filled.get(name, default))[0], call.find_origins(name))


def _list_outputs(raw: Raw, default: str) -> Iterable[str]:
    return list_mapped(raw) if isinstance(raw.get("output_mapping"), Mapping | list) else list_named("output_var", default)(raw)


def _list_uses(raw: Raw, engine: str, parameter: str) -> Iterable[tuple[str, str]]:
    key = raw.get(parameter)
    return ((engine, key),) if isinstance(key, str) and key and not Template(key, SCENARIO).placeholders else ()


RUN_FLOW: Final = StepType(
    name="run_flow",
    summary="Runs a flow of agents inside of this scenario.",
    params=FlowRunParams,
    perform=_run_flow,
    example={"params": {"flow_id": "proposal", "parameters": {"client": "{client}"}, "output_mapping": {"draft": "text"}}},
    list_outputs=partial(_list_outputs, default=_RESULT),
    source="model",
    list_uses=partial(_list_uses, engine=FLOW, parameter="flow_id"),
    unfilled=frozenset({"output_mapping"}),
    is_internal=True,
    waits=True,
)
RUN_WORKFLOW: Final = StepType(
    name="run_workflow",
    summary="Runs a workflow inside of this scenario.",
    params=WorkflowRunParams,
    perform=_run_workflow,
    example={"params": {"workflow_id": "client_dossier", "parameters": {"client": "{client}"}, "output_mapping": {"dossier": "rawText"}}},
    list_outputs=partial(_list_outputs, default=_WORKFLOW_RESULT),
    source="model",
    list_uses=partial(_list_uses, engine=WORKFLOW, parameter="workflow_id"),
    unfilled=frozenset({"output_mapping"}),
    gives_blocks=True,
    is_internal=True,
    waits=True,
)
TYPES: Final = (RUN_FLOW, RUN_WORKFLOW)
