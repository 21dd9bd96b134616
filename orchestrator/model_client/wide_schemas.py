"""Fits the parameters of tools to providers that accept only a few properties in a schema.

`split` moves the properties into nested objects of at most that many and puts the arguments of a call together again, so nothing is lost.
`narrow` keeps the required properties and the first others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from orchestrator.domain.models import ModelTool, ToolCall
from orchestrator.model_client.failures import RejectedRequest

Fit = Literal["split", "narrow", "keep"]
WIDEST: Final = 8
"""How many properties a schema may have for GigaChat."""
_PART: Final = "part_"


def fit_tool(tool: ModelTool, fit: Fit) -> ModelTool:
    """Return the tool with parameters of at most `WIDEST` properties. Raises RejectedRequest if that cannot be done."""
    properties = tool.parameters.get("properties")
    if fit == "keep" or not isinstance(properties, Mapping) or len(properties) <= WIDEST:
        return tool
    required = [name for name in tool.parameters.get("required", ()) if name in properties]
    if fit == "narrow":
        return replace(tool, parameters=_narrow(tool, properties, required))
    return replace(tool, parameters=_split(tool, properties, required))


def join_arguments(call: ToolCall, tools: Sequence[ModelTool], fit: Fit) -> ToolCall:
    """Return the call with the arguments as its tool declares them, after the model was shown the tool as `fit_tool` gives it.

    An argument that stands in two parts, or that is no part, is a problem of the call.
    """
    tool = next((one for one in tools if one.name == call.name), None)
    properties = tool.parameters.get("properties") if tool is not None else None
    if fit != "split" or call.problem or not isinstance(properties, Mapping) or len(properties) <= WIDEST:
        return call
    whole: dict[str, Any] = {}
    for name, value in call.arguments.items():
        part = value if name.startswith(_PART) and name not in properties else {name: value}
        if not isinstance(part, Mapping):
            return replace(call, arguments={}, problem=f"the argument {name} is not an object")
        if twice := whole.keys() & part.keys():
            return replace(call, arguments={}, problem=f"the argument {min(twice)} is given twice")
        whole |= part
    return replace(call, arguments=whole)


def _narrow(tool: ModelTool, properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    if len(required) > WIDEST:
        raise RejectedRequest(
            f"The tool {tool.name} has {len(required)} required parameters, and the provider takes {WIDEST}: use wide_schemas: split."
        )
    others = [name for name in properties if name not in required][: WIDEST - len(required)]
    kept = {name: schema for name, schema in properties.items() if name in required or name in others}
    return {**tool.parameters, "properties": kept}


def _split(tool: ModelTool, properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    names = [*required, *(name for name in properties if name not in required)]
    size = max(WIDEST, -(-len(names) // WIDEST))
    if size > WIDEST or any(name.startswith(_PART) for name in names):
        raise RejectedRequest(f"The tool {tool.name} has {len(names)} parameters, more than can be split for the provider.")
    parts = [names[at : at + WIDEST] for at in range(0, len(names), WIDEST)]
    whole: dict[str, Any] = {}
    needed: list[str] = []
    for number, part in enumerate(parts, start=1):
        inner = [name for name in part if name in required]
        whole[f"{_PART}{number}"] = {"type": "object", "properties": {name: properties[name] for name in part}, "required": inner}
        if inner:
            needed.append(f"{_PART}{number}")
    return {**tool.parameters, "properties": whole, "required": needed}
