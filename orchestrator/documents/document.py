"""A document as it was read: its data, and where in the text each key and value of it stands."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Literal

DocumentFormat = Literal["json", "yaml"]
NO_PLACE: Final = (0, 0)
"""Line and column of what stands in no text."""


class LineIndex:
    """Translates offsets of a text into lines and columns, which both count from 1."""

    def __init__(self, text: str) -> None:
        """Find the beginnings of the lines; `text` ends its lines with LF alone."""
        self._starts = [0]
        at = text.find("\n")
        while at >= 0:
            self._starts.append(at + 1)
            at = text.find("\n", at + 1)

    def locate(self, offset: int) -> tuple[int, int]:
        """Return (line, column) of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1

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

    def find_step(self, path: Iterable[str | int]) -> str:
        """Return the `id` of the innermost object on `path` that has one as a text, "" if none has."""
        found, part = "", self.data
        for key in path:
            if isinstance(part, dict) and isinstance(key, str):
                part = part.get(key)
            elif isinstance(part, list) and isinstance(key, int) and 0 <= key < len(part):
                part = part[key]
            else:
                break
            if isinstance(part, dict) and isinstance(name := part.get("id"), str) and name:
                found = name
        return found
