"""Chooses a function of the client by a rule: the one whose description shares most words with the message. No understanding is claimed.

A request may also force a function by its name. The arguments are taken from the message by the types of the parameters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.model.embedding import vector
from sandbox.model.script import ToolCall

ALIKE: Final = 0.12
"""How alike message and description must be; measured with the two functions of the demo."""
_NUMBER: Final = re.compile(r"-?\d+(?:[.,]\d+)?")
_CONTEXT: Final = 4_000


@dataclass(frozen=True, slots=True)
class Offer:
    """The functions that a request offers: each with name, description and parameters, and the name of the one that must be called."""

    functions: tuple[Mapping[str, Any], ...] = ()
    forced: str = ""
    forbidden: bool = False
    legacy: bool = False
    """Whether they came as `functions`, so that the answer must be a `function_call`."""
    known: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the request gives for the forced function (GigaChat: partial_arguments)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the functions."""
        return tuple(str(one.get("name", "")) for one in self.functions)


def read_offer(body: Mapping[str, Any]) -> Offer:
    """Return what a chat request offers: `tools` with `tool_choice`, or `functions` with `function_call`."""
    tools, functions = body.get("tools"), body.get("functions")
    if isinstance(tools, Sequence) and tools:
        offered = tuple(one["function"] for one in tools if isinstance(one, Mapping) and isinstance(one.get("function"), Mapping))
        choice = body.get("tool_choice")
        named = choice.get("function", {}).get("name", "") if isinstance(choice, Mapping) else ""
        return Offer(offered, forced=named or (_first(offered) if choice == "required" else ""), forbidden=choice == "none")
    if isinstance(functions, Sequence) and functions:
        choice = body.get("function_call")
        named, known = (choice.get("name", ""), choice.get("partial_arguments")) if isinstance(choice, Mapping) else ("", None)
        offered = tuple(one for one in functions if isinstance(one, Mapping))
        return Offer(offered, forced=named, forbidden=choice == "none", legacy=True, known=known if isinstance(known, Mapping) else {})
    return Offer()


def choose(offer: Offer, message: str) -> ToolCall | None:
    """Return the call of the forced function, or of the one that is most like the message; None if none is like it."""
    if offer.forbidden or not offer.functions:
        return None
    if offer.forced:
        chosen = next((one for one in offer.functions if one.get("name") == offer.forced), None)
    else:
        heard = vector(message[:_CONTEXT])
        near = [(_compare(heard, vector(f"{one.get('name', '')} {one.get('description', '')}"[:_CONTEXT])), one) for one in offer.functions]
        likest, chosen = max(near, key=lambda pair: pair[0])
        chosen = chosen if likest >= ALIKE else None
    if chosen is None:
        return None
    return ToolCall(name=str(chosen.get("name", "")) or "function", arguments={**_fill(chosen, message), **offer.known})


def _first(functions: Sequence[Mapping[str, Any]]) -> str:
    return str(functions[0].get("name", "")) if functions else ""


def _compare(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _fill(function: Mapping[str, Any], message: str) -> dict[str, Any]:
    schema = function.get("parameters")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return {}
    required = schema.get("required") if isinstance(schema, Mapping) else None
    names = [name for name in required if name in properties] if isinstance(required, list) and required else list(properties)
    return {name: _find_argument(properties[name], message) for name in names}


def _find_argument(schema: object, message: str) -> Any:
    given = schema if isinstance(schema, Mapping) else {}
    options = given.get("enum")
    if isinstance(options, list) and options:
        return next((one for one in options if str(one).lower() in message.lower()), options[0])
    number = _NUMBER.search(message)
    match given.get("type"):
        case "integer":
            return int(number[0].split(".")[0].split(",")[0]) if number else given.get("default", 1)
        case "number":
            return float(number[0].replace(",", ".")) if number else given.get("default", 1.0)
        case "boolean":
            return True
        case "array":
            return [_find_argument(given.get("items"), message)]
        case "object":
            return _fill({"parameters": given}, message)
        case _:
            longest = given.get("maxLength")
            return message[:longest] if isinstance(longest, int) else message
