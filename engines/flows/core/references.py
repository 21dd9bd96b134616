"""Reads paths such as steps.review.output.content (S002-42, S002-43, S002-A9)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.finding import Path
from state.stored import JsonObject

EXAMPLE: Final = "steps.review.output.content"
_PATH: Final = re.compile(r"\$?steps\.(?P<step>[A-Za-z0-9][A-Za-z0-9_-]{0,63})\.output(?P<rest>[.\[].+)?", re.DOTALL)
_INDEX: Final = re.compile(r"""\[(?:([0-9]{1,9})|'([^'.\]]+)'|"([^".\]]+)")\]""")
"""An element of a list, or a field, in brackets as in scenarios."""
MARK: Final = "$steps."
_LONGEST: Final = 500
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Reference:
    """A step, and the fields on the way; none for its whole output."""

    step: str
    fields: tuple[str, ...] = ()

    def find(self, output: object) -> object:
        """None if there is none; elements of lists have their numbers as names."""
        part: object = output
        for name in self.fields:
            if isinstance(part, Mapping):
                part = part.get(name)
            elif isinstance(part, list) and name.isdecimal() and len(name) <= _MOST_DIGITS and int(name) < len(part):
                part = part[int(name)]
            else:
                return None
        return part


def read_reference(path: str) -> Reference | None:
    """None if it is no path."""
    match = _PATH.fullmatch(path) if len(path) <= _LONGEST else None
    if match is None:
        return None
    rest = _INDEX.sub(lambda part: f".{part[1] or part[2] or part[3]}", match["rest"] or "")
    fields = tuple(rest.removeprefix(".").split(".")) if rest else ()
    return Reference(match["step"], fields) if all(fields) else None


def list_references(payload: JsonObject) -> Iterator[tuple[Path, str]]:
    return ((path, text) for path, text in list_texts(payload) if text.startswith(MARK))


def list_texts(payload: JsonObject) -> Iterator[tuple[Path, str]]:
    waiting: list[tuple[Path, object]] = [((), payload)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, Mapping):
            waiting.extend(((*path, str(name)), one) for name, one in part.items())
        elif isinstance(part, list):
            waiting.extend(((*path, index), one) for index, one in enumerate(part))
