"""Paths that name a value: `deal.title`, `results[0].text`, `answers["два слова"]`."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from orchestrator.domain.finding import Path

NAME: Final = r"[^\W\d][\w-]*"
"""Hyphens stand in the ids of steps."""
_PART: Final = rf"""\.{NAME}|\.\d{{1,9}}|\[-?\d{{1,9}}\]|\["[^"\]\n]*"\]|\['[^'\]\n]*'\]"""
PATH: Final = rf"{NAME}(?:{_PART})*"
_WHOLE: Final = re.compile(PATH)
_PIECES: Final = re.compile(rf"({NAME})|{_PART}")
LONGEST: Final = 500


class Found(NamedTuple):
    """A null that is there differs from a missing value."""

    is_there: bool
    value: Any = None


MISSING: Final = Found(False)


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path | None:
    """None if it is no path."""
    if len(text) > LONGEST or _WHOLE.fullmatch(text) is None:
        return None
    return tuple(_to_part(found[0]) for found in _PIECES.finditer(text))


def _to_part(text: str) -> str | int:
    if text[0] == "[":
        inner = text[1:-1]
        return inner[1:-1] if inner[0] in "\"'" else _to_index(inner)
    return _to_index(text.removeprefix("."))


def _to_index(text: str) -> str | int:
    """The text itself if it is spelled otherwise, as the key `007`."""
    return int(text) if text.removeprefix("-").isdecimal() and str(int(text)) == text else text


def follow_path(names: Mapping[str, Any], path: Path) -> Found:
    """A number is an index, or a key that is spelled like it."""
    node: Any = names
    for part in path:
        if isinstance(node, Mapping):
            key = part if part in node else str(part)
            if key not in node:
                return MISSING
            node = node[key]
        elif isinstance(node, list) and isinstance(part, int) and -len(node) <= part < len(node):
            node = node[part]
        else:
            return MISSING
    return Found(True, node)
