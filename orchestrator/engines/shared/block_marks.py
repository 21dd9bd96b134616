"""Keeps marks of blocks in values from outside from opening or closing a block: there they are text, and are shown as they came. Pure.

What stands in a record, a document, a person's words or a model's answer gets an invisible sign into each mark, so that nobody reads it as
one: neither here nor in a program that gets the text over HTTP. A part of a mark at an end of a value gets it, too, since the rest might
stand in the next value. What an author writes himself has no such sign. Whoever shows the text, or hands it to the CRM, takes the signs
out again.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from orchestrator.domain.taint import Origins, Value

Data = Any
"""JSON data, with `Value` at any place."""
AUTHOR: Final[Origins] = frozenset({"definition"})
SIGN: Final = "\u2060\u2064"
"""Two invisible characters that nobody writes beside each other."""
_WORD: Final = "YAE-BLOCK"
_WHOLE: Final = re.compile("(YAE-)(BLOCK)", re.IGNORECASE)
_BEGINS: Final = re.compile(r"(?:AE|E|)-BLOCK|(?:(?:B?L)?O)?CK[:\]]|(?:A?E-B?L?O?C?|-BL?O?C?)\Z", re.IGNORECASE)
"""The rest of a mark whose first letters stand elsewhere, or a text that is nothing but the middle of one."""
_ENDS: Final = re.compile(rf"(?:\[/?(?:{'|'.join(_WORD[:size] for size in range(len(_WORD), 0, -1))})|\[/|YAE-B?L?O?C?)\Z", re.IGNORECASE)
"""The first letters of a mark whose rest stands elsewhere."""
_MIDDLES: Final = frozenset(_WORD[first:last] for first in range(len(_WORD)) for last in range(first + 2, len(_WORD) + 1))
"""The texts that are nothing but two or more letters in a row of a mark."""
_MARK: Final = re.compile(r"\[(YAE-BLOCK:)[A-Za-z0-9_.-]+(\])|(\[/YAE-BLOCK\])")

_ANY_MARK: Final = re.compile(rf"\[YAE-(?:{SIGN})?BLOCK:[A-Za-z0-9_.-]+\]|\[/YAE-(?:{SIGN})?BLOCK\]")


def escape_marks(text: str) -> str:
    """Return the text with a sign in each mark, and at an end that may be a part of one; a text without any is returned as it is."""
    escaped = _WHOLE.sub(rf"\1{SIGN}\2", text)
    if _BEGINS.match(escaped):
        escaped = SIGN + escaped
    return escaped + SIGN if _ENDS.search(escaped) or escaped.upper() in _MIDDLES else escaped


def escape_data(data: Data) -> Data:
    """Return JSON data with the marks in all of its texts and names escaped."""
    if isinstance(data, str):
        return escape_marks(data)
    if isinstance(data, dict):
        return {escape_marks(name): escape_data(one) for name, one in data.items()}
    return [escape_data(one) for one in data] if isinstance(data, list | tuple) else data


def restore_marks(text: str) -> str:
    """Return the text without signs, as it came from outside."""
    return text.replace(SIGN, "")


def escape_value(value: Value) -> Value:
    """Return the value with its marks escaped, unless the author alone wrote it."""
    return value if value.origins <= AUTHOR else value.map(escape_data)


def restore_data(data: Data) -> Data:
    """Return JSON data, with `Value` at any place, without signs in its texts and names."""
    if isinstance(data, str):
        return restore_marks(data)
    if isinstance(data, Value):
        return data.map(restore_data)
    if isinstance(data, Mapping):
        return {restore_marks(name): restore_data(one) for name, one in data.items()}
    return [restore_data(one) for one in data] if isinstance(data, list | tuple) else data


def list_marks(text: str) -> list[str]:
    """Return the marks in a text, in order."""
    return [mark[0] for mark in _MARK.finditer(text)]


def copy_signs(text: str, escaped: str) -> str:
    """Return the text with signs in those of its marks that have one in `escaped`; `escaped` itself, if that has other marks."""
    others = _ANY_MARK.findall(escaped)
    if list(map(restore_marks, others)) != list_marks(text):
        return escaped
    left = iter(others)
    return _MARK.sub(lambda _: next(left), text)


def break_marks(text: str, marks: Sequence[str]) -> str:
    """Return the text in which these marks open and close nothing."""
    for mark in dict.fromkeys(marks):
        text = text.replace(mark, escape_marks(mark))
    return text


def join_pieces(pieces: Sequence[str], origins: Sequence[Origins]) -> str:
    """Return the pieces as one text, in which a mark that only several of them make is none, unless all of these are the author's own.

    A mark inside of one piece stays: of a piece from outside it was escaped when that came in. The id of a block may be a piece of its own.
    """
    text = "".join(pieces)
    if "BLOCK" not in text:
        return text
    owners: list[int] = []
    for index, piece in enumerate(pieces):
        owners += [index] * len(piece)
    made: list[str] = []
    last = 0
    for mark in _MARK.finditer(text):
        fixed = mark.end() if mark[3] else mark.end(1)  # the id between the colon and the last bracket may come from anywhere
        holders = {*owners[mark.start() : fixed], owners[mark.end() - 1]}
        if len(holders) > 1 and not all(origins[index] <= AUTHOR for index in holders):
            made += [text[last : mark.start()], escape_marks(mark[0])]
            last = mark.end()
    return "".join([*made, text[last:]])
