"""Sandbox portal, rendering: rows of a list as JSON, rendered once and kept until the record changes."""

from __future__ import annotations

from typing import Any

import orjson


class Rows:
    """The rows of one page as rendered JSON; parsed only if a batch refers to one or the answer is XML."""

    __slots__ = ("blobs",)

    def __init__(self, blobs: list[bytes]) -> None:
        self.blobs = blobs

    def __len__(self) -> int:
        return len(self.blobs)

    def at(self, place: int) -> Any:
        """Return one row as an object. Raises IndexError beyond the end."""
        return orjson.loads(self.blobs[place])

    def opened(self) -> list[Any]:
        """Return all rows as objects."""
        return [orjson.loads(blob) for blob in self.blobs]


def to_json(body: Any) -> bytes:
    """Encode an answer as JSON, inserting rendered rows unchanged."""
    return orjson.dumps(body, default=_ready)


def _ready(value: Any) -> Any:
    if isinstance(value, Rows):
        return orjson.Fragment(b"[" + b",".join(value.blobs) + b"]")
    raise TypeError
