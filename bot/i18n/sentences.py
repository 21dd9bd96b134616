"""The Fluent messages of one language, each parsed when it is first needed.

Parsing all files of one language takes a quarter of a second, and a process says few of their 3,000 sentences.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from fluent.runtime import FluentBundle, FluentResource

_BEGINNING: Final = re.compile(r"^(-?[A-Za-z][A-Za-z0-9_-]*) *=", re.MULTILINE)
"""The beginning of a message or term: Fluent indents all their other lines."""
_REFERENCE: Final = re.compile(r"\{\s*(-?[A-Za-z][A-Za-z0-9_-]*)")


def list_messages(text: str) -> set[str]:
    """Return the ids of the messages of a Fluent file, without its terms, which a language may have for itself."""
    return {name for name in _BEGINNING.findall(text) if not name.startswith("-")}


class Sentences:
    """Formats the messages of one language."""

    def __init__(self, locale: str, files: Iterable[str]) -> None:
        """Take the contents of Fluent files; of two messages with the same id the first is used."""
        self._bundle = FluentBundle([locale], use_isolating=False)
        self._unparsed: dict[str, str] = {}
        for text in files:
            self.add_file(text)

    def add_file(self, text: str) -> frozenset[str]:
        """Take in a further file before any message was asked for. Return the ids of its messages that are there already, which stay."""
        begun = list(_BEGINNING.finditer(text))
        ends = [one.start() for one in begun[1:]] + [len(text)]
        known = frozenset(one[1] for one in begun if one[1] in self._unparsed)
        for one, end in zip(begun, ends, strict=True):
            self._unparsed.setdefault(one[1], text[one.start() : end])
        return known

    def has_message(self, code: str) -> bool:
        """Return whether there is a message with this id."""
        self._parse(code)
        return bool(self._bundle.has_message(code))

    def format_message(self, code: str, values: Mapping[str, object]) -> tuple[str, bool]:
        """Return the text of a message, and whether `values` had all that it needs; raises LookupError for an unknown id."""
        self._parse(code)
        pattern = self._bundle.get_message(code).value
        if pattern is None:
            return code, False
        try:
            text, errors = self._bundle.format_pattern(pattern, dict(values))
        except RecursionError:  # it names another sentence that names it
            return code, False
        return str(text), not errors

    def _parse(self, code: str) -> None:
        """Hand a message, and all that it refers to, to Fluent; do nothing if that was done."""
        found: dict[str, str] = {}
        waiting = [code]
        while waiting:
            name = waiting.pop()
            text = self._unparsed.get(name)
            if text is not None and name not in found:
                found[name] = text
                waiting += _REFERENCE.findall(text)
        for text in found.values():
            self._bundle.add_resource(FluentResource(text))
        for name in found:  # last, so that other threads find each one here or in the bundle
            self._unparsed.pop(name, None)
