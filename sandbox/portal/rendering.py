"""Sandbox portal, rendering: rows of a list as ready JSON, made once and kept until the record changes; decides nothing about fields."""

from __future__ import annotations

from typing import Any

import orjson


class Rows:
    """The rows of one page as ready JSON; nobody takes them apart unless a batch refers to one or the answer is XML."""

    __slots__ = ("blobs",)

    def __init__(self, blobs: list[bytes]) -> None:
        self.blobs = blobs

    def __len__(self) -> int:
        return len(self.blobs)

    def at(self, place: int) -> Any:
        """One row as an object again; raise IndexError beyond the end."""
        return orjson.loads(self.blobs[place])

    def opened(self) -> list[Any]:
        """All rows as objects again."""
        return [orjson.loads(blob) for blob in self.blobs]


def to_json(body: Any) -> bytes:
    """The JSON of an answer, with ready rows put in as they are."""
    return orjson.dumps(body, default=_ready)


def _ready(value: Any) -> Any:
    if isinstance(value, Rows):
        return orjson.Fragment(b"[" + b",".join(value.blobs) + b"]")
    raise TypeError
