"""Finds foreign texts again in what a run does, as an engine may lose the origins of values.

Three words in a row, a number, a day or a whole short text in common count, unless the author or person wrote it. A second net behind
`orchestrator.domain.taint`: a changed letter passes through it.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from orchestrator.domain.taint import FOREIGN, UNDECLARED, Origins, Value, split_values

MAX_WORDS: Final = 200_000
"""Foreign words remembered; beyond them everything of unknown author counts as foreign."""
MIN_LENGTH: Final = 3
"""Shorter words and numbers are in every text."""
_RUN: Final = 3
_WORDS: Final = re.compile(r"\w+")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_HOUR: Final = re.compile(r"(?<=\d)t(?=\d\d:)")
"""Ends the day of a moment."""


class ForeignTexts:
    """Of one pass, with the texts of its author and person."""

    def __init__(self, document: Any, args: Iterable[Value] = ()) -> None:
        """The definition's texts are its author's."""
        self._own: set[str] = set()
        self._document = document
        self._words: set[str] = set()
        self._runs: set[tuple[str, ...]] = set()
        self._count = 0
        for value in args:
            self.add(value)

    def add(self, value: Value) -> None:
        if value.is_foreign:
            for text in _list_texts(value.data):
                words = _split(text)
                self._count += len(words)
                if self._count <= MAX_WORDS:
                    self._words.update(words)
                    self._runs.update(_list_runs(words))
        elif "person" in value.origins and value.origins <= {"person", "definition"}:
            self._add_own(value.data)

    def mark(self, value: Value) -> Value:
        """The value, marked as foreign if it holds foreign text."""
        return Value(value.data, self.find_origins(value.data, value.origins))

    def find_origins(self, data: Any, origins: Origins) -> Origins:
        """`origins`, with that of foreign text if the data holds some."""
        return origins if origins & FOREIGN or not self.holds(data) else origins | UNDECLARED

    def holds(self, data: Any) -> bool:
        """`data` may have a `Value` at any place."""
        if not self._count:
            return False
        if self._document is not None:  # a run that gets nothing foreign need not read its definition for this
            self._add_own(self._document)
            self._document = None
        plain, _ = split_values(data)
        return any(self._is_foreign(text) for text in _list_texts(plain))

    def _is_foreign(self, text: str) -> bool:
        words = _split(text)
        if _join(words) in self._own or not any(len(word) >= MIN_LENGTH for word in words):
            return False
        if self._count > MAX_WORDS:
            return True
        if _MOMENT.fullmatch(text):  # its year stands in every record that has a date, and says nothing
            return tuple(words[:_RUN]) in self._runs
        if any(word in self._words for word in words if word.isdecimal() and len(word) >= MIN_LENGTH):
            return True
        if len(words) < _RUN:
            return all(word in self._words for word in words if len(word) >= MIN_LENGTH)
        return any(run in self._runs for run in _list_runs(words))

    def _add_own(self, data: Any) -> None:
        self._own.update(_join(_split(text)) for text in _list_texts(data))


def _split(text: str) -> list[str]:
    return _WORDS.findall(_HOUR.sub(" ", text.casefold()))


def _join(words: list[str]) -> str:
    return " ".join(words)


def _list_runs(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(_RUN)), strict=False)


def _list_texts(data: Any) -> Iterator[str]:
    """Without names of fields; of bytes the text that they encode, if any."""
    match data:
        case Mapping():
            for part in data.values():
                yield from _list_texts(part)
        case list() | tuple():
            for part in data:
                yield from _list_texts(part)
        case bytes():
            with contextlib.suppress(UnicodeDecodeError):
                yield data.decode()
        case str() | int() | float() if not isinstance(data, bool):
            yield str(data)
