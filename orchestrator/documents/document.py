"""A document as it was read, with the places of its keys and values."""

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

DocumentFormat = Literal["json", "yaml"]
_ESCAPED: Final = {
    '"': re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"),
    "'": re.compile("''"),
}
"""How several written signs inside of quotes stand for one."""
_INDENT: Final = re.compile(" *")
_BLOCKS: Final = frozenset("|>")
NO_PLACE: Final = (0, 0)
"""Of what stands in no text."""


class LineIndex:
    """Lines and columns count from 1."""

    def __init__(self, text: str) -> None:
        """`text` ends its lines with LF alone."""
        self._text, self._starts = text, [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def locate(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def locate_inside(self, offset: int, line: int, column: int) -> tuple[int, int]:
        """`line` and `column` are inside of the value at `offset`; quotes and escapes count as written.

        In a folded value only the line is right, in quotes over several lines the beginning.
        """
        sign = self._text[offset : offset + 1]
        begun, first = self.locate(offset)
        if sign in _BLOCKS:
            start = self.find_start(begun + line)
            indent = _INDENT.match(self._text, start)
            return begun + line, (indent.end() - start if indent else 0) + column
        if line > 1:
            return begun, first
        at = offset + (sign in _ESCAPED)
        for _ in range(column - 1):
            match = _ESCAPED[sign].match(self._text, at) if sign in _ESCAPED else None
            at = match.end() if match else at + 1
        return begun, first + at - offset

    def find_start(self, line: int) -> int:
        """Of the last line if there is no such line."""
        return self._starts[min(line, len(self._starts)) - 1]


@dataclass(slots=True)
class Spot:
    """`key` is the value's own offset in a list."""

    key: int
    value: int
    parts: "dict[str | int, Spot]" = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Document:
    """With the places of its parts in the text."""

    data: Any
    format: DocumentFormat = "json"
    spots: Spot | None = None
    lines: LineIndex | None = None
    source: str = ""
    """YAML as it was written, with its line ends; "" for JSON, and for what was read from no text."""

    @classmethod
    def from_data(cls, data: Any) -> "Document":
        """Without a text, such as a stored definition; its places are (0, 0)."""
        return cls(data=data)

    def find_position(self, path: Iterable[str | int], *, of_value: bool = False) -> tuple[int, int]:
        """Of the key, or with `of_value` of the value; for a missing path, the nearest part above."""
        if self.spots is None or self.lines is None:
            return NO_PLACE
        spot, is_found = self.spots, True
        for part in path:
            below = spot.parts.get(part)
            if below is None:
                is_found = False
                break
            spot = below
        return self.lines.locate(spot.value if of_value and is_found else spot.key)

    def find_inside(self, path: Iterable[str | int], line: int, column: int) -> tuple[int, int]:
        """`line` and `column` are inside of the text at `path`."""
        spot = self.spots
        for part in path:
            spot = spot.parts.get(part) if spot is not None else None
        if spot is None or self.lines is None:
            return NO_PLACE
        return self.lines.locate_inside(spot.value, max(line, 1), max(column, 1))

    def find_step(self, path: Iterable[str | int]) -> str:
        """The innermost `id` (`tuumId` in workflows) on the path; "" if there is none."""
        step_id, part = "", self.data
        for key in path:
            if isinstance(part, dict) and isinstance(key, str):
                part = part.get(key)
            elif isinstance(part, list) and isinstance(key, int) and 0 <= key < len(part):
                part = part[key]
            else:
                break
            if isinstance(part, dict) and isinstance(name := part.get("id", part.get("tuumId")), str) and name:
                step_id = name
        return step_id
