"""Remembers what strangers may have written among the values that a run has got, and finds it again in what the run does.

Values carry their origins (`orchestrator.domain.taint`), but an engine may take their data out, join it with other texts and forget where
it came from. So everything that a run sends, asks a model and hands on is also compared with the foreign texts that it has got: what has
three words in a row of them, or one of their numbers, or is one of their words or days, counts as theirs, unless the author of the
definition or the person wrote it. This is the second net: a word that was changed by one letter goes through it, a `Value` does not.
"""

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from orchestrator.domain.taint import FOREIGN, UNDECLARED, Origins, Value, split_values

MAX_WORDS: Final = 200_000
"""How many foreign words are remembered; after more than these, everything that nobody is known to have written counts as foreign."""
MIN_LENGTH: Final = 3
"""Words and numbers that are shorter are in every text, so they say nothing."""
_RUN: Final = 3
_WORDS: Final = re.compile(r"\w+")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII)
_HOUR: Final = re.compile(r"(?<=\d)t(?=\d\d:)")
"""The sign before the hour of a moment, at which its day ends."""


class ForeignTexts:
    """The foreign texts that one run has got in this pass, and the texts of its author and person."""

    def __init__(self, document: Any, args: Iterable[Value] = ()) -> None:
        """Begin with the definition, whose texts are its author's, and the values with which the run was started."""
        self._own: set[str] = set()
        self._document = document
        self._words: set[str] = set()
        self._runs: set[tuple[str, ...]] = set()
        self._count = 0
        for value in args:
            self.add(value)

    def add(self, value: Value) -> None:
        """Take in a value that the run has got."""
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
        """Return the value; if it holds foreign text that its origins do not tell of, they do now."""
        return Value(value.data, self.find_origins(value.data, value.origins))

    def find_origins(self, data: Any, origins: Origins) -> Origins:
        """Return the origins, with that of foreign text if the data holds some."""
        return origins if origins & FOREIGN or not self.holds(data) else origins | UNDECLARED

    def holds(self, data: Any) -> bool:
        """Return whether any text or number in the data holds foreign text. `data` may have a `Value` at any place."""
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
    """Yield the texts and numbers in JSON data, as texts, without the names of its objects; of bytes the text that they encode, if any."""
    match data:
        case Mapping():
            for one in data.values():
                yield from _list_texts(one)
        case list() | tuple():
            for one in data:
                yield from _list_texts(one)
        case bytes():
            with contextlib.suppress(UnicodeDecodeError):
                yield data.decode()
        case str() | int() | float() if not isinstance(data, bool):
            yield str(data)
