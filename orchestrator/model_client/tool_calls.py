"""Reads the tool calls in an answer of the model, whole or in the pieces of a stream.

OpenAI sends `tool_calls` whose arguments are JSON text, in pieces. GigaChat sends one `function_call` whose arguments are an object.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ToolCall

MAX_CALLS: Final = 128
MAX_ARGUMENTS: Final = 200_000
"""How many characters the arguments of all calls of an answer may have together."""
_LONGEST_NAME: Final = 200


@dataclass
class _PartialCall:
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    ready: Mapping[str, Any] | None = None


class CallCollector:
    """Collects the tool calls of one answer. Raises ModelClientError for calls that have no form at all."""

    def __init__(self) -> None:
        """Start without calls."""
        self._calls: dict[int, _PartialCall] = {}
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, tool_calls: object, function_call: object) -> None:
        """Take what a message, or a piece of one, says about calls in either form; None says nothing."""
        if isinstance(function_call, Mapping):
            self._add(0, "", function_call)
        if tool_calls is None:
            return
        if not isinstance(tool_calls, list) or not all(isinstance(one, Mapping) for one in tool_calls):
            raise ModelClientError("The model service sent tool calls that are no calls.")
        for position, one in enumerate(tool_calls):
            index, function = one.get("index", position), one.get("function")
            if type(index) is not int or not 0 <= index < MAX_CALLS or not isinstance(function, Mapping):
                raise ModelClientError("The model service sent a tool call without a function.")
            self._add(index, one.get("id"), function)

    def finish(self) -> tuple[ToolCall, ...]:
        """Return the calls in order. What is wrong with the arguments of a call is its `problem`."""
        return tuple(_build_call(number, one) for number, (_, one) in enumerate(sorted(self._calls.items()), start=1))

    def _add(self, index: int, call_id: object, function: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(index, _PartialCall())
        if isinstance(call_id, str):
            call.id = call.id or call_id[:_LONGEST_NAME]
        if isinstance(name := function.get("name"), str):
            call.name = call.name or name[:_LONGEST_NAME]
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            call.ready = arguments
        elif isinstance(arguments, str):
            call.pieces.append(arguments)
            self._size += len(arguments)
        elif arguments is not None:
            call.pieces.append(json.dumps(arguments))
        if self._size > MAX_ARGUMENTS:
            raise ModelClientError(f"The arguments of the model's tool calls are longer than {MAX_ARGUMENTS} characters.")


def _build_call(number: int, partial: _PartialCall) -> ToolCall:
    arguments, problem = _read_arguments(partial)
    if not partial.name:
        problem = "the call names no tool"
    return ToolCall(id=partial.id or f"call-{number}", name=partial.name, arguments=arguments, problem=problem)


def _read_arguments(partial: _PartialCall) -> tuple[Mapping[str, Any], str]:
    """Return (the arguments, what is wrong with them); a call without any arguments has none and is right."""
    if partial.ready is not None:
        return partial.ready, ""
    text = "".join(partial.pieces)
    if not text.strip():
        return {}, ""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        return {}, f"the arguments are not JSON: {error}"[:_LONGEST_NAME]
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object but {type(value).__name__}"
    return value, ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
