"""Reads JSON that has one reading: Python's own reader takes NaN, which no journal holds, and of two equal keys the last."""

import json
from collections.abc import Sequence
from typing import Final, NoReturn

from bot.http_api.server.errors import ApiError

_SHOWN_KEY: Final = 60


def parse_json(body: bytes) -> object:
    """Return what the body says.

    Raises ApiError 400 if it is JSON for Python alone or has a key twice in one object, and ValueError or RecursionError if it is none.
    """
    return json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_build_object)


def _refuse_constant(name: str) -> NoReturn:
    raise ApiError(400, "invalid_json", f"The body is no valid JSON: {name} is no number.")


def _build_object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            shown = json.dumps(name[:_SHOWN_KEY])
            raise ApiError(400, "invalid_json", f"The body is no valid JSON: the key {shown} stands twice in one object.")
        found[name] = value
    return found
