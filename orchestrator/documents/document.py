"""A document as it was read: its data, and where in the text each key and value of it stands."""

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
"""How a sign inside of quotes is written that is written as several."""
_INDENT: Final = re.compile(" *")
_BLOCKS: Final = frozenset("|>")
NO_PLACE: Final = (0, 0)
"""Line and column of what stands in no text."""


class LineIndex:
    """Translates offsets of a text into lines and columns, which both count from 1."""

    def __init__(self, text: str) -> None:
        """Find the beginnings of the lines; `text` ends its lines with LF alone."""
        self._text, self._starts = text, [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return (line, column) of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

    def locate_inside(self, offset: int, line: int, column: int) -> tuple[int, int]:
        """Return (line, column) of a place inside of the text value that is written at `offset`: in its own line and column, from 1.

        Quotes and escapes before the place are counted as they are written. In a value that is folded over several lines it is the line
        alone that is right, for one of several lines in quotes its beginning.
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
            found = _ESCAPED[sign].match(self._text, at) if sign in _ESCAPED else None
            at = found.end() if found else at + 1
        return begun, first + at - offset

    def find_start(self, line: int) -> int:
        """Return the offset at which a line begins; of the last line if there is no such line."""
        return self._starts[min(line, len(self._starts)) - 1]


@dataclass(slots=True)
class Spot:
    """Where one value stands: the offset of its key (its own for elements of a list), its own offset, and the spots of its parts."""

    key: int
    value: int
    parts: "dict[str | int, Spot]" = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Document:
    """JSON data (objects, lists, texts, finite numbers, true, false, null) with the places of its parts in the text."""

    data: Any
    format: DocumentFormat = "json"
    spots: Spot | None = None
    lines: LineIndex | None = None

    @classmethod
    def from_data(cls, data: Any) -> "Document":
        """Return a document of data that came without a text, such as a stored definition; its places are (0, 0)."""
        return cls(data=data)

    def find_position(self, path: Iterable[str | int], *, of_value: bool = False) -> tuple[int, int]:
        """Return (line, column) of what is at `path`: of its key, of an element of a list, or of the value with `of_value`.

        For a path that is not in the document, return the place of the nearest part above it, where the key is missing.
        """
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
        """Return (line, column) in the document of a place inside of the text at `path`, which is given by its own line and column."""
        spot = self.spots
        for part in path:
            spot = spot.parts.get(part) if spot is not None else None
        if spot is None or self.lines is None:
            return NO_PLACE
        return self.lines.locate_inside(spot.value, max(line, 1), max(column, 1))

    def find_step(self, path: Iterable[str | int]) -> str:
        """Return the id of the innermost object on `path` that has one as a text, "" if none has; of tuums of workflows `tuumId`."""
        found, part = "", self.data
        for key in path:
            if isinstance(part, dict) and isinstance(key, str):
                part = part.get(key)
            elif isinstance(part, list) and isinstance(key, int) and 0 <= key < len(part):
                part = part[key]
            else:
                break
            if isinstance(part, dict) and isinstance(name := part.get("id", part.get("tuumId")), str) and name:
                found = name
        return found
