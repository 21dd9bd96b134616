"""The Fluent messages of one language, parsed when first needed: all take a quarter of a second."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from fluent.runtime import FluentBundle, FluentResource

_BEGINNING: Final = re.compile(r"^(-?[A-Za-z][A-Za-z0-9_-]*) *=", re.MULTILINE)
_REFERENCE: Final = re.compile(r"\{\s*(-?[A-Za-z][A-Za-z0-9_-]*)")


def list_messages(text: str) -> set[str]:
    """Without terms, which a language may have for itself."""
    return {name for name in _BEGINNING.findall(text) if not name.startswith("-")}


class Sentences:
    def __init__(self, locale: str, files: Iterable[str]) -> None:
        """Of two messages with one id the first counts."""
        self._bundle = FluentBundle([locale], use_isolating=False)
        self._unparsed: dict[str, str] = {}
        for text in files:
            self.add_file(text)

    def add_file(self, text: str) -> frozenset[str]:
        """Before any message is asked for; return ids that were there already, and stay."""
        begun = list(_BEGINNING.finditer(text))
        ends = [match.start() for match in begun[1:]] + [len(text)]
        known = frozenset(match[1] for match in begun if match[1] in self._unparsed)
        for match, end in zip(begun, ends, strict=True):
            self._unparsed.setdefault(match[1], text[match.start() : end])
        return known

    def has_message(self, code: str) -> bool:
        self._parse(code)
        return bool(self._bundle.has_message(code))

    def format_message(self, code: str, values: Mapping[str, object]) -> tuple[str, bool]:
        """Return (text, whether `values` were enough). Raises LookupError for an unknown id."""
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
        """With all that it refers to, once."""
        needed_texts: dict[str, str] = {}
        waiting = [code]
        while waiting:
            name = waiting.pop()
            text = self._unparsed.get(name)
            if text is not None and name not in needed_texts:
                needed_texts[name] = text
                waiting += _REFERENCE.findall(text)
        for text in needed_texts.values():
            self._bundle.add_resource(FluentResource(text))
        for name in needed_texts:  # last, so that other threads find each one here or in the bundle
            self._unparsed.pop(name, None)
