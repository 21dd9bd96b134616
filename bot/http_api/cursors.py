"""Places in lists as callers carry them: opaque, checked, and worth nothing to anybody but who may see the list. Ring 3, pure."""

import base64
import binascii
from collections.abc import Sequence
from typing import Annotated, Final

import orjson
from pydantic import Field

from bot.http_api.errors import ApiError

_LONGEST: Final = 3000
CursorText = Annotated[
    str,
    Field(
        max_length=_LONGEST, pattern=r"^[A-Za-z0-9_-]+$", description="`next` of the answer before, as it is.", examples=["WyJlIiwiMTIiXQ"]
    ),
]


def encode_cursor(kind: str, *place: str) -> str:
    """A place in lists of that kind."""
    return base64.urlsafe_b64encode(orjson.dumps([kind, *place])).decode().rstrip("=")


def parse_cursor(text: str | None, kind: str, parts: int) -> Sequence[str] | None:
    """The place behind a cursor, None for none; ApiError 400 for one that was not made for such a list."""
    if text is None:
        return None
    try:
        found = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        found = None
    fits = isinstance(found, list) and len(found) == parts + 1 and found[0] == kind and all(isinstance(part, str) for part in found)
    if not fits or any("\x00" in part for part in found):
        raise ApiError(400, "invalid_cursor", "The cursor is none of this list.")
    return [str(part) for part in found[1:]]
