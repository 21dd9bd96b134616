"""Reads the paths by which a flow names parts of what its steps gave, such as steps.review.output.content (S002-42, S002-43, S002-A9)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from orchestrator.domain.finding import Path
from state.stored import JsonObject

EXAMPLE: Final = "steps.review.output.content"
_PATH: Final = re.compile(r"\$?steps\.(?P<step>[A-Za-z0-9][A-Za-z0-9_-]{0,63})\.output(?P<rest>[.\[].+)?", re.DOTALL)
_INDEX: Final = re.compile(r"""\[(?:([0-9]{1,9})|'([^'.\]]+)'|"([^".\]]+)")\]""")
"""An element of a list, or a field, in brackets, as scenarios write them too."""
MARK: Final = "$steps."
"""How a text of `resultPayload` begins that is replaced."""
_LONGEST: Final = 500
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Reference:
    """A part of the output of a step: the step, and the names of the fields on the way, none for the whole output."""

    step: str
    fields: tuple[str, ...] = ()

    def find(self, output: object) -> object:
        """Return that part of an output, None if it has none; the elements of a list are named by their numbers."""
        part: object = output
        for name in self.fields:
            if isinstance(part, Mapping):
                part = part.get(name)
            elif isinstance(part, list) and name.isdecimal() and len(name) <= _MOST_DIGITS and int(name) < len(part):
                part = part[int(name)]
            else:
                return None
        return part


def read_reference(written: str) -> Reference | None:
    """Return what a path names, None if it is no path."""
    found = _PATH.fullmatch(written) if len(written) <= _LONGEST else None
    if found is None:
        return None
    rest = _INDEX.sub(lambda part: f".{part[1] or part[2] or part[3]}", found["rest"] or "")
    fields = tuple(rest.removeprefix(".").split(".")) if rest else ()
    return Reference(found["step"], fields) if all(fields) else None


def list_references(payload: JsonObject) -> Iterator[tuple[Path, str]]:
    """Return the texts of a result payload that are to be replaced, each with its place in it."""
    return ((path, text) for path, text in list_texts(payload) if text.startswith(MARK))


def list_texts(payload: JsonObject) -> Iterator[tuple[Path, str]]:
    """Return the texts of a result payload, each with its place in it."""
    waiting: list[tuple[Path, object]] = [((), payload)]
    while waiting:
        path, part = waiting.pop()
        if isinstance(part, str):
            yield path, part
        elif isinstance(part, Mapping):
            waiting.extend(((*path, str(name)), one) for name, one in part.items())
        elif isinstance(part, list):
            waiting.extend(((*path, index), one) for index, one in enumerate(part))
