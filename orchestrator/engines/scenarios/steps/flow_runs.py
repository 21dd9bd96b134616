"""The step that runs a flow of agents inside of a scenario, and takes over what it gives."""

from collections.abc import Iterable, Mapping
from typing import Final

from pydantic import Field

from orchestrator.domain.taint import FOREIGN, Value, join_origins, split_values
from orchestrator.engines.flows.kind import FLOW
from orchestrator.engines.flows.launch import CONTEXT, PARAMETERS
from orchestrator.engines.scenarios.step_types import Raw, StepCall, StepParams, StepResult, StepType, VariableName, list_named
from orchestrator.engines.scenarios.steps.flow import list_mapped, map_outputs
from orchestrator.expressions.placeholders import SCENARIO, Template
from state.stored import JsonObject

_RESULT: Final = "flow_result"


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


async def _run_flow(call: StepCall[FlowRunParams]) -> StepResult:
    """Run the flow to its end, and take over what it gives. Raises RunFailed if it fails, or if text of strangers names it."""
    params = call.params
    if join_origins(split_values(call.filled["flow_id"])[1]) & FOREIGN:  # text of strangers must not choose what is done
        raise call.fail("scenario-value-unfit", "flow_id comes from text of strangers", name="flow_id")
    given = {CONTEXT: _take(call, "context", {})}
    if params.parameters is not None:
        given[PARAMETERS] = _take(call, "parameters", {})
    ended = await call.ctx.child(call.node, FLOW, params.flow_id, given)
    if ended.status != "done":
        raise call.fail("scenario-child-failed", f"the flow {params.flow_id} ended as {ended.status} {ended.code}", child=params.flow_id)
    if params.output_mapping is None:
        return StepResult(changes={params.output_var: ended.value})
    payload = ended.value.get("payload")
    if isinstance(params.output_mapping, list):
        return StepResult(changes={name: payload.get(name) for name in params.output_mapping})
    return StepResult(changes=map_outputs(params.output_mapping, payload))


def _take(call: StepCall[FlowRunParams], name: str, default: JsonObject) -> Value:
    """Return a parameter as one value. It counts as text of strangers also where such text has chosen the way to this step."""
    return Value(split_values(call.filled.get(name, default))[0], call.find_origins(name))


def _list_outputs(raw: Raw) -> Iterable[str]:
    return list_mapped(raw) if isinstance(raw.get("output_mapping"), Mapping | list) else list_named("output_var", _RESULT)(raw)


def _list_uses(raw: Raw) -> Iterable[tuple[str, str]]:
    key = raw.get("flow_id")
    return ((FLOW, key),) if isinstance(key, str) and key and not Template(key, SCENARIO).placeholders else ()


RUN_FLOW: Final = StepType(
    name="run_flow",
    summary="Runs a flow of agents inside of this scenario.",
    params=FlowRunParams,
    perform=_run_flow,
    example={"params": {"flow_id": "proposal", "parameters": {"client": "{client}"}, "output_mapping": {"draft": "text"}}},
    list_outputs=_list_outputs,
    source="model",
    list_uses=_list_uses,
    unfilled=frozenset({"output_mapping"}),
    is_internal=True,
    waits=True,
)
TYPES: Final = (RUN_FLOW,)
