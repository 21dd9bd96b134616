"""Checks `extra_body`.

It may tune answers, but not replace what the program says, bring in texts that the gate does not know, or carry keys.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from orchestrator.documents.reading import read_document
from state.stored import JsonObject

LONGEST: Final = 10_000
"""Characters of JSON."""
_DEEPEST: Final = 20
_SHORTEST_SECRET: Final = 6
_WHOLE_REQUEST: Final = "the program writes it itself"
_OWN: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("model", "models", "messages", "prompt", "input", "instructions", "stream", "stream_options", "n", "best_of"), _WHOLE_REQUEST
    ),
    **dict.fromkeys(("tools", "tool_choice", "functions", "function_call", "response_format"), _WHOLE_REQUEST),
    **dict.fromkeys(("temperature", "max_tokens", "reasoning_effort"), "it has a field of its own"),
    "max_completion_tokens": "write `max_tokens`, which is sent under this name where it is wanted",
    **dict.fromkeys(
        ("plugins", "web_search_options", "search_parameters", "data_sources", "storage", "thread_id", "assistant_id", "mcp_servers"),
        "the model would read texts that the gate does not know of",
    ),
    **dict.fromkeys(("headers", "extra_headers", "extra_body", "extra_query"), "it is no field of a request"),
}
_HIDDEN: Final = "a key or another secret; keys are sent in the header only, see `key`"
_KEY_NAME: Final = re.compile(r"api[-_]?key|authori[sz]ation|password|secret|credential|access[-_]?token", re.IGNORECASE)
_KEY_LIKE: Final = re.compile(r"\bsk-[\w-]{8,}|\b(?:Bearer|Basic|Api-Key)\s+\S{4,}", re.IGNORECASE)


def parse_extra_body(text: str) -> JsonObject:
    """Raises ValueError that never quotes the text."""
    text = text.strip()
    if text[:1] == text[-1:] == "'":  # some readers of .env leave the quotation marks of the shell
        text = text[1:-1]
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters")
    document = read_document(text, "json").document
    if document is None or not isinstance(document.data, dict):
        raise ValueError('it must be one object of JSON, such as {"top_k": 20}, with each name once')
    return document.data


def find_extra_fault(extra: JsonObject, secrets: Iterable[str] = ()) -> str:
    """Empty if nothing is wrong; never quotes a value."""
    for name in extra:
        # Some services (Ollama) do not tell capital letters from small ones, nor letters that Unicode folds into them.
        if reason := _OWN.get(str(name).strip().casefold()):
            return f"extra_body: {str(name).strip().casefold()} may not stand there: {reason}"
    try:
        if len(json.dumps(extra, ensure_ascii=False, allow_nan=False)) > LONGEST:
            return f"extra_body: it is longer than {LONGEST} characters"
        parts = list(_walk(extra, 0))
    except (TypeError, ValueError, RecursionError):
        return "extra_body: it holds something that JSON does not have, or is nested too deeply"
    known = [secret for secret in secrets if len(secret) >= _SHORTEST_SECRET]
    for place, text in parts:
        if _holds_secret(place, known):
            return f"extra_body: a name in it holds {_HIDDEN}"
        if _holds_secret(text, known):
            return f"extra_body: {place} holds {_HIDDEN}"
        if _KEY_NAME.search(place):
            return f"extra_body: {place} looks like the place of a key; keys are sent in the header only, see `key`"
    return ""


def _holds_secret(text: str, secrets: Sequence[str]) -> bool:
    return _KEY_LIKE.search(text) is not None or any(secret in text for secret in secrets)


def _walk(value: object, depth: int, place: str = "") -> Iterator[tuple[str, str]]:
    """(path, text). Raises ValueError if it is too deep or no JSON."""
    if depth > _DEEPEST:
        raise ValueError(place)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise TypeError(place)
            path = f"{place}.{name}" if place else name
            yield path, ""
            yield from _walk(inner, depth + 1, path)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from _walk(inner, depth + 1, place)
    elif isinstance(value, str):
        yield place, value
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(place)
