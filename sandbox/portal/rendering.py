"""Sandbox portal, rendering: rows of a list as JSON bytes, so that an unchanged record is rendered only once."""

from __future__ import annotations

from typing import Any

import orjson


class Rows:
    """The rows of one page as JSON bytes. They are parsed again only for an XML answer or a reference in a batch."""

    __slots__ = ("blobs",)

    def __init__(self, blobs: list[bytes]) -> None:
        self.blobs = blobs

    def __len__(self) -> int:
        return len(self.blobs)

    def at(self, place: int) -> Any:
        """Return the row with the index `place` as an object. Raises IndexError beyond the end."""
        return orjson.loads(self.blobs[place])

    def opened(self) -> list[Any]:
        """Return all rows as objects."""
        return [orjson.loads(blob) for blob in self.blobs]


def to_json(body: Any) -> bytes:
    """Return an answer as JSON. The JSON bytes of `Rows` inside it are inserted unchanged."""
    return orjson.dumps(body, default=_ready)


def _ready(value: Any) -> Any:
    if isinstance(value, Rows):
        return orjson.Fragment(b"[" + b",".join(value.blobs) + b"]")
    raise TypeError
