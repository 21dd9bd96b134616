"""What a flow starts with."""

from typing import Final

from engines.flows.core.definition import Flow
from orchestrator.domain.taint import Origins, Value, combine
from orchestrator.engines.runs import RunContext
from orchestrator.engines.shared.launch import CONTEXT, PARAMETERS, TEXT, check_names, check_trigger, find_parameters, read_object

_AUTHOR: Final[Origins] = frozenset({"definition"})


async def find_start(ctx: RunContext, flow: Flow) -> Value:
    """Return {parameters, context} as every agent is told them: the flow's context lies under that of the start (S002-A10).

    Raises RunFailed if what was given does not fit, RunSuspended while a person is asked.
    """
    check_trigger(ctx, flow.triggers)
    check_names(ctx, (PARAMETERS, CONTEXT, TEXT))
    context = read_object(ctx, CONTEXT)
    own = Value(flow.defaults.context, _AUTHOR)
    parameters = await find_parameters(ctx, flow.launch_parameters)
    return combine(lambda mine, theirs, read: {"context": {**mine, **theirs}, "parameters": read}, own, context, parameters)
