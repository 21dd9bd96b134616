"""Answers the agents of the example flows: a ready text for each part, filled with what the flow was started with and with its memory."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sandbox.model.lexicon import load
from sandbox.model.reading import Message, content_of, last_user_content

_MEMORY: Final = re.compile(r"\AMemory of the channel (?P<channel>[\w-]+), newest first:\n(?P<entries>.*)\Z", re.DOTALL)
_LEFT_OUT: Final = "—"
"""What stands in an answer in place of a parameter that was not given."""


def answer_flow_agent(messages: Sequence[Message]) -> str | None:
    """Return the answer of an agent of a flow, None if the request is of none that this model knows."""
    instructions = "\n".join(content_of(one) for one in messages if one.get("role") == "system")
    found = next((one["answer"] for one in load("flow_agents") if one["asked"] in instructions), None)
    if found is None:
        return None
    values = defaultdict(lambda: _LEFT_OUT, {**_read_memory(messages), **_read_parameters(messages)})
    filled = _fill(found, values)
    return filled if isinstance(filled, str) else json.dumps(filled, ensure_ascii=False, indent=1)


def _read_parameters(messages: Sequence[Message]) -> dict[str, str]:
    """Return the launch parameters as texts; none if the last message is not what a flow sends."""
    try:
        given = json.loads(last_user_content(messages))
    except ValueError:
        return {}
    parameters = given.get("parameters") if isinstance(given, dict) else None
    return {name: _write(one) for name, one in parameters.items()} if isinstance(parameters, dict) else {}


def _read_memory(messages: Sequence[Message]) -> dict[str, str]:
    """Return the newest entry of each channel that the agent was told."""
    found: dict[str, str] = {}
    for message in messages:
        told = _MEMORY.match(content_of(message))
        if told is not None:
            newest = next(iter(json.loads(told["entries"])), None)
            found[told["channel"]] = _write(newest["content"] if isinstance(newest, dict) and "content" in newest else newest)
    return found


def _write(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(_write(one) for one in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.10g}".replace(",", "\N{NO-BREAK SPACE}")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fill(part: Any, values: Mapping[str, str]) -> Any:
    if isinstance(part, str):
        return part.format_map(values)
    if isinstance(part, list):
        return [_fill(one, values) for one in part]
    return {name: _fill(one, values) for name, one in part.items()}
