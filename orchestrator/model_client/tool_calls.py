"""Reads tool calls, whole or in pieces.

Services leave out places or ids, or give all calls one place; a call never gets another's arguments.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.domain.models import MalformedAnswer, ToolCall, UnusableAnswer
from state.canonical import NotCanonical, dumps, to_storable_text

MAX_CALLS: Final = 128
MAX_ARGUMENTS: Final = 200_000
_LONGEST_NAME: Final = 200


@dataclass
class _PartialCall:
    index: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    whole: str = ""
    problem: str = ""


class CallCollector:
    """Raises MalformedAnswer for what is no call, UnusableAnswer for too many or endless ones."""

    def __init__(self) -> None:
        self._calls: list[_PartialCall] = []
        self._size = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def take(self, tool_calls: object, function_call: object) -> None:
        """Either form; the older one says nothing new beside the other."""
        if tool_calls is None or tool_calls == []:
            if isinstance(function_call, Mapping):
                self._add(self._find(0, 0, "", function_call), "", function_call)
            return
        if not isinstance(tool_calls, list) or not all(isinstance(tool_call, Mapping) for tool_call in tool_calls):
            raise MalformedAnswer("The model service sent tool calls that are no calls.")
        for position, tool_call in enumerate(tool_calls):
            index, function, call_id = _read_place(tool_call), tool_call.get("function"), _read_text(tool_call, "id")
            if function is None and "function" in tool_call:  # a piece that says nothing of the function but names its call
                function = {}
            if not isinstance(function, Mapping) or not (index is None or (type(index) is int and 0 <= index < MAX_CALLS)):
                raise MalformedAnswer("The model service sent a tool call without a function.")
            self._add(self._find(index, position, call_id, function), call_id, function)

    def finish(self) -> tuple[ToolCall, ...]:
        """In order, with ids of their own; wrong arguments are a `problem`."""
        ids: set[str] = set()
        tool_calls: list[ToolCall] = []
        for number, call in enumerate(sorted(self._calls, key=lambda call: call.index), start=1):
            call_id = call.id or f"call-{number}"
            while call_id in ids:
                call_id = f"{call_id}-{number}"
            ids.add(call_id)
            tool_calls.append(_build_call(call_id, call))
        return tuple(tool_calls)

    def _find(self, index: int | None, position: int, call_id: str, function: Mapping[str, Any]) -> _PartialCall:
        """`position` counts without an `index`. Another id begins another call in the same place; without both, another name does."""
        name = _read_text(function, "name")
        if index is not None:
            current = _find_last(self._calls, lambda call: call.index == index)
        elif (known := _find_last(self._calls, lambda call: bool(call_id) and call.id == call_id)) is not None:
            return known
        else:
            current = self._calls[-1] if self._calls and position == 0 else None
            if current is not None and not call_id and name and current.name and name != current.name:
                current = None
        if current is None or (call_id and current.id and call_id != current.id):
            if len(self._calls) >= MAX_CALLS:
                raise UnusableAnswer(f"The model calls more than {MAX_CALLS} tools at once.")
            current = _PartialCall(len(self._calls) if index is None else index)
            self._calls.append(current)
        return current

    def _add(self, call: _PartialCall, call_id: str, function: Mapping[str, Any]) -> None:
        name, arguments = _read_text(function, "name"), function.get("arguments")
        call.id = call.id or call_id
        if call.name and name and name != call.name:
            call.problem = "the call names two tools"
        call.name = call.name or name
        if arguments is None:
            return
        try:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        except RecursionError:
            text, call.problem = "", "the arguments are nested too deeply"
        self._size += len(text)
        if self._size > MAX_ARGUMENTS:
            raise UnusableAnswer(f"The arguments of the model's tool calls are longer than {MAX_ARGUMENTS} characters.")
        if not isinstance(arguments, Mapping):
            call.pieces.append(text)
        elif call.whole and call.whole != text:
            call.problem = "the arguments are sent twice and differ"
        else:
            call.whole = text


def _read_place(tool_call: Mapping[str, Any]) -> object:
    index = tool_call.get("index")
    return int(index) if isinstance(index, str) and index.isdecimal() and len(index) <= len(str(MAX_CALLS)) else index


def _find_last(calls: Sequence[_PartialCall], fits: Callable[[_PartialCall], bool]) -> _PartialCall | None:
    return next((call for call in reversed(calls) if fits(call)), None)


def _read_text(part: Mapping[str, Any], name: str) -> str:
    value = part.get(name)
    return to_storable_text(value)[:_LONGEST_NAME] if isinstance(value, str) else ""


def _build_call(call_id: str, partial: _PartialCall) -> ToolCall:
    text = "".join(partial.pieces)
    arguments, problem = _parse_arguments(partial.whole or text)
    if partial.whole and text.strip():
        problem = "the arguments are sent twice and differ"
    problem = partial.problem or problem
    if not partial.name:
        problem = "the call names no tool"
    return ToolCall(id=call_id, name=partial.name, arguments={} if problem else arguments, problem=problem)


def _parse_arguments(text: str) -> tuple[Mapping[str, Any], str]:
    """(the arguments, what is wrong with them)."""
    if not text.strip():
        return {}, ""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_build_object)
        dumps(value)
    except NotCanonical as error:
        return {}, f"the arguments cannot be stored: {error}"[:_LONGEST_NAME]
    except ValueError as error:
        return {}, f"the arguments are not JSON: {error}"[:_LONGEST_NAME]
    except RecursionError:
        return {}, "the arguments are nested too deeply"
    if not isinstance(value, dict):
        return {}, f"the arguments are not a JSON object but {type(value).__name__}"
    return value, ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _build_object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Raises ValueError for a name that stands twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = next(name for name, _ in pairs if sum(name == other for other, _ in pairs) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return fields
