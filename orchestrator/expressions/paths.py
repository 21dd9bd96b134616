"""Reads and follows the paths with which definitions name a value: `deal.title`, `results[0].text`, `answers["два слова"]`. Pure."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from orchestrator.domain.finding import Path

NAME: Final = r"[^\W\d][\w-]*"
"""A name, also with letters of other alphabets and hyphens; hyphens stand in the ids of steps."""
_PART: Final = rf"""\.{NAME}|\.\d{{1,9}}|\[-?\d{{1,9}}\]|\["[^"\]\n]*"\]|\['[^'\]\n]*'\]"""
PATH: Final = rf"{NAME}(?:{_PART})*"
"""The regular expression of a path."""
_WHOLE: Final = re.compile(PATH)
_PIECES: Final = re.compile(rf"({NAME})|{_PART}")
LONGEST: Final = 500
"""Maximum length of a path in characters."""


class Found(NamedTuple):
    """What stands at a path. A value that is there and null differs from one that is not there."""

    is_there: bool
    value: Any = None


MISSING: Final = Found(False)


@lru_cache(maxsize=4096)
def parse_path(text: str) -> Path | None:
    """Return the path that `text` writes, None if it writes none."""
    if len(text) > LONGEST or _WHOLE.fullmatch(text) is None:
        return None
    return tuple(_to_part(found[0]) for found in _PIECES.finditer(text))


def _to_part(text: str) -> str | int:
    if text[0] == "[":
        inner = text[1:-1]
        return inner[1:-1] if inner[0] in "\"'" else _to_index(inner)
    return _to_index(text.removeprefix("."))


def _to_index(text: str) -> str | int:
    """Return the number that a text writes; the text itself if it is no number or spelled in another way, as the key `007` is."""
    return int(text) if text.removeprefix("-").isdecimal() and str(int(text)) == text else text


def follow_path(names: Mapping[str, Any], path: Path) -> Found:
    """Return what stands at `path` below `names`. A number is an index of a list, or a key of an object that is spelled like it."""
    found: Any = names
    for part in path:
        if isinstance(found, Mapping):
            key = part if part in found else str(part)
            if key not in found:
                return MISSING
            found = found[key]
        elif isinstance(found, list) and isinstance(part, int) and -len(found) <= part < len(found):
            found = found[part]
        else:
            return MISSING
    return Found(True, found)
