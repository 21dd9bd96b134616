"""Finds the key that an author has not finished: the parser complains about a later line."""

import re
from typing import Final

import yaml

_ITEM: Final = re.compile(r"[ ]*(?:-[ ]+)*")
_COLON: Final = re.compile(r":(?:\s|$)")
_OPENED: Final = re.compile(r":[ ]*(?:#.*)?$")
_NO_KEY: Final = ("- ", "?", "{", "[")


def find_unfinished_key(error: yaml.MarkedYAMLError, at: int, text: str) -> tuple[int, int] | None:
    """(its begin, the end of what seems to belong to it); None if another thing is wrong. `at` is what the parser complains about."""
    start: int | None
    if "could not find expected ':'" in (error.problem or ""):
        start = error.context_mark.index if error.context_mark is not None else None
    else:
        start = _find_word(text, at)
    if start is None:
        return None
    begin = _find_line(text, start)
    line = text[begin:].split("\n", 1)[0]
    if not line[start - begin :].strip() or _COLON.search(line) or line.startswith(_NO_KEY, start - begin):
        return None
    return start, _find_end(text, start, begin + len(line))


def _find_word(text: str, at: int) -> int | None:
    """On this line, or above it in its column."""
    begin = _find_line(text, at)
    line = text[begin:].split("\n", 1)[0]
    column = len(line) - len(line.lstrip(" "))
    is_item = line.startswith("- ", column)
    if not _COLON.search(line) and not is_item:
        return begin + column if column == at - begin else None
    while begin > 0:
        end, begin = begin - 1, _find_line(text, begin - 1)
        line = text[begin:end]
        item = _ITEM.match(line)
        word = item.end() if item is not None else 0
        if line.strip() and (word <= column or is_item) and not line.startswith("#", word):
            return begin + word if word == column or is_item else None
    return None


def _find_end(text: str, start: int, end: int) -> int:
    """Of what stands below: deeper lines, and items of its list."""
    begin = _find_line(text, start)
    column = start - begin
    above = _find_above(text[:begin], column)
    if _OPENED.search(above):
        return end  # what stands below belongs to the key above, which would have no value
    is_item = above.startswith("- ", column)
    for line in text[end + 1 :].split("\n"):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and indent <= column and (is_item or indent < column or not line.startswith("- ", indent)):
            break
        end += 1 + len(line)
    return min(end, len(text))


def _find_above(above: str, column: int) -> str:
    """Empty if one before begins further to the left."""
    for line in reversed(above.split("\n")):
        indent = len(line) - len(line.lstrip(" "))
        if line.strip() and indent <= column:
            return line if indent == column else ""
    return ""


def _find_line(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1
