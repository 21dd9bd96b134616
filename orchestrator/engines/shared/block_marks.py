"""Gives block marks in values from outside an invisible sign, so that they are text; who shows the text removes it.

Parts of marks at an end get it, too: the rest might stand in the next value.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.domain.taint import Origins, Value

Data = Any
AUTHOR: Final[Origins] = frozenset({"definition"})
SIGN: Final = "\u2060\u2064"
"""Two characters that nobody writes beside each other."""
_WORD: Final = "YAE-BLOCK"
_WHOLE: Final = re.compile("(YAE-)(BLOCK)", re.IGNORECASE)
_BEGINS: Final = re.compile(r"(?:AE|E|)-BLOCK|(?:(?:B?L)?O)?CK[:\]]|(?:A?E-B?L?O?C?|-BL?O?C?)\Z", re.IGNORECASE)
"""The rest or the middle of a mark begun elsewhere."""
_ENDS: Final = re.compile(rf"(?:\[/?(?:{'|'.join(_WORD[:size] for size in range(len(_WORD), 0, -1))})|\[/|YAE-B?L?O?C?)\Z", re.IGNORECASE)
_MIDDLES: Final = frozenset(_WORD[first:last] for first in range(len(_WORD)) for last in range(first + 2, len(_WORD) + 1))
_MARK: Final = re.compile(r"\[(YAE-BLOCK:)[A-Za-z0-9_.-]+(\])|(\[/YAE-BLOCK\])")

_ANY_MARK: Final = re.compile(rf"\[YAE-(?:{SIGN})?BLOCK:[A-Za-z0-9_.-]+\]|\[/YAE-(?:{SIGN})?BLOCK\]")


def escape_marks(text: str) -> str:
    """Put a sign into each mark, and where an end may be part of one."""
    escaped = _WHOLE.sub(rf"\1{SIGN}\2", text)
    if _BEGINS.match(escaped):
        escaped = SIGN + escaped
    return escaped + SIGN if _ENDS.search(escaped) or escaped.upper() in _MIDDLES else escaped


def escape_data(data: Data) -> Data:
    if isinstance(data, str):
        return escape_marks(data)
    if isinstance(data, dict):
        return {escape_marks(name): escape_data(one) for name, one in data.items()}
    return [escape_data(one) for one in data] if isinstance(data, list | tuple) else data


def restore_marks(text: str) -> str:
    return text.replace(SIGN, "")


def escape_value(value: Value) -> Value:
    """Escape marks unless the author alone wrote the value."""
    return value if value.origins <= AUTHOR else value.map(escape_data)


def restore_data(data: Data) -> Data:
    if isinstance(data, str):
        return restore_marks(data)
    if isinstance(data, Value):
        return data.map(restore_data)
    if isinstance(data, Mapping):
        return {restore_marks(name): restore_data(one) for name, one in data.items()}
    return [restore_data(one) for one in data] if isinstance(data, list | tuple) else data


def list_marks(text: str) -> list[str]:
    return [mark[0] for mark in _MARK.finditer(text)]


def copy_signs(text: str, escaped: str) -> str:
    """Give the marks the signs of those in `escaped`; return that itself if its marks differ."""
    others = _ANY_MARK.findall(escaped)
    if list(map(restore_marks, others)) != list_marks(text):
        return escaped
    left = iter(others)
    return _MARK.sub(lambda _: next(left), text)


def break_marks(text: str, marks: Sequence[str]) -> str:
    for mark in dict.fromkeys(marks):
        text = text.replace(mark, escape_marks(mark))
    return text


def join_pieces(pieces: Sequence[str], origins: Sequence[Origins]) -> str:
    """Join; a mark made by pieces not all the author's own is escaped."""
    text = "".join(pieces)
    if "BLOCK" not in text:
        return text
    owners: list[int] = []
    for index, piece in enumerate(pieces):
        owners += [index] * len(piece)
    pieces_out: list[str] = []
    last = 0
    for mark in _MARK.finditer(text):
        fixed = mark.end() if mark[3] else mark.end(1)  # the id between the colon and the last bracket may come from anywhere
        holders = {*owners[mark.start() : fixed], owners[mark.end() - 1]}
        if len(holders) > 1 and not all(origins[index] <= AUTHOR for index in holders):
            pieces_out += [text[last : mark.start()], escape_marks(mark[0])]
            last = mark.end()
    return "".join([*pieces_out, text[last:]])
