"""What an agent is told at a step, and what becomes of its answer (S002-26…28, S002-X7, S002-X8, S002-A9, S002-A10)."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from engines.flows.core.definition import Agent, Flow, FlowStep
from engines.flows.core.memory import render_channel
from engines.flows.core.operations import describe_operations
from orchestrator.domain.taint import Origins, Value, join_origins
from orchestrator.engines.runs import RunInfo, RunModelRequest
from orchestrator.engines.shared.declared import join_options
from orchestrator.engines.shared.model_json import JsonUnreadable, read_model_json
from state.canonical import dumps
from state.stored import JsonObject

CONTENT: Final = "content"
_AUTHOR: Final[Origins] = frozenset({"definition"})


def build_request(
    flow: Flow, step: FlowStep, agent: Agent, start: Value, channel_values: Sequence[tuple[str, Value]], run: RunInfo
) -> RunModelRequest:
    """Build the question: the agent's part, its channels, and the start as JSON."""
    part = "\n\n".join(one for one in (step.prompt or agent.system_prompt, _describe_person(agent, run), describe_operations(agent)) if one)
    messages: list[JsonObject] = [{"role": "system", "content": part}]
    messages += [{"role": "user", "content": render_channel(channel, entries.data)} for channel, entries in channel_values]
    messages.append({"role": "user", "content": dumps(start.data)})
    origins = _AUTHOR | start.origins | join_origins(entries for _, entries in channel_values)
    options = join_options(agent.default_options, flow.defaults.overrides.options, step.overrides)
    return RunModelRequest(messages=messages, service=agent.model, options=options, origins=origins, is_shown=False)


def _describe_person(agent: Agent, run: RunInfo) -> str:
    if not agent.tools and not agent.effects:
        return ""
    employee = f", employee {run.employee}" if run.employee is not None else ""
    return f"Today is {run.today} ({run.time_zone}). You work for {run.owner_name}{employee}."


def read_output(answer: Value) -> Value:
    """The whole answer as `content`, and the fields of its JSON object if there is one."""
    return answer.map(lambda text: {**_read_fields(str(text)), CONTENT: text})


def _read_fields(text: str) -> JsonObject:
    with suppress(JsonUnreadable):
        data = read_model_json(text)
        return data if isinstance(data, dict) else {}
    return {}
