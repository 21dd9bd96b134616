"""JSON with one reading: Python's own takes NaN, and of two equal keys the last."""

import json
from collections.abc import Sequence
from typing import Final, NoReturn

from bot.http_api.server.errors import ApiError

_SHOWN_KEY: Final = 60


def parse_json(body: bytes) -> object:
    """Raises ApiError 400 for NaN and double keys, and ValueError or RecursionError if it is no JSON."""
    return json.loads(body, parse_constant=_refuse_constant, object_pairs_hook=_build_object)


def _refuse_constant(name: str) -> NoReturn:
    raise ApiError(400, "invalid_json", f"The body is no valid JSON: {name} is no number.")


def _build_object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for name, value in pairs:
        if name in members:
            quoted_name = json.dumps(name[:_SHOWN_KEY])
            raise ApiError(400, "invalid_json", f"The body is no valid JSON: the key {quoted_name} stands twice in one object.")
        members[name] = value
    return members
