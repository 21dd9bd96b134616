"""The mistakes of a chat request that GigaChat refuses although services like OpenAI accept them, with the service's own words."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

ROLES: Final = frozenset({"system", "user", "assistant", "function"})


def find_mistake(body: Mapping[str, Any]) -> tuple[int, str] | None:
    """Return (status, message) of the first mistake in a request, None if there is none."""
    for place, message in enumerate(body.get("messages") or ()):
        if (mistake := _check_message(place, message)) is not None:
            return mistake
    for function in body.get("functions") or ():
        parameters = function.get("parameters") if isinstance(function, Mapping) else None
        for path in _find_bare_objects(parameters, ""):
            return 422, f"Field '{path}properties' is missing"
    return None


def _check_message(place: int, message: Mapping[str, Any]) -> tuple[int, str] | None:
    role, content, call = message.get("role"), message.get("content"), message.get("function_call")
    if role not in ROLES:
        return 422, f"Invalid params: unknown role {role}"
    if role == "system" and place > 0:
        return 422, "system message must be the first message"
    if role == "function" and not _is_json(content):
        return 422, "Invalid params: content of a function message must be JSON"
    if isinstance(call, Mapping) and not isinstance(call.get("arguments"), Mapping):
        return 400, "Your request contains invalid JSON syntax."
    return None


def _is_json(content: object) -> bool:
    try:
        json.loads(content if isinstance(content, str) else "")
    except ValueError:
        return False
    return True


def _find_bare_objects(schema: object, path: str) -> Iterator[str]:
    """Yield the paths of the objects that declare no properties, each with a dot at its end unless it is the whole."""
    if not isinstance(schema, Mapping):
        return
    properties = schema.get("properties")
    if schema.get("type") == "object" and not isinstance(properties, Mapping):
        yield path
    for name, one in properties.items() if isinstance(properties, Mapping) else ():
        yield from _find_bare_objects(one, f"{path}properties.{name}.")
    yield from _find_bare_objects(schema.get("items"), f"{path}items.")
