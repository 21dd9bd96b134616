"""Reads JSON, also with comments and trailing commas, and goes on after each mistake. No recursion: deep nesting ends in a finding."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from orchestrator.documents.document import LineIndex, Spot
from orchestrator.documents.reports import JSON_NUMBER, MAX_DEPTH, MAX_VALUES, AnyPath, ReadingStopped, Reports, read_number
from orchestrator.domain.finding import Path

QUOTES: Final = {'"': '"', "'": "'", "“": "”", "”": "”", "„": "“", "«": "»"}
"""Authors begin texts with them; only the first pair is right."""
_PLAIN: Final = {quote: re.compile(rf"[^{quote}\\\x00-\x1f]*") for quote in QUOTES.values()}
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
BEFORE: Final = frozenset(" \t\n/#")
"""Space and comments begin with them."""
_SPACE: Final = re.compile(r"[ \t\n]+")
_LOW, _HIGH, _END = 0xDC00, 0xD800, 0xE000


def skip_space(text: str, at: int, reports: Reports) -> int:
    while at < len(text):
        if match := _SPACE.match(text, at):
            at = match.end()
        elif text.startswith("//", at):
            at = _find_end(text, "\n", at)
        elif text[at] == "#":
            reports.report("finding-comment-form", at, suggestion="//")
            at = _find_end(text, "\n", at)
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                reports.report("finding-comment-unclosed", at, suggestion="*/")
                return len(text)
            at = end + 2
        else:
            return at
    return at


def _find_end(text: str, sign: str, at: int) -> int:
    end = text.find(sign, at)
    return len(text) if end < 0 else end


def read_text(text: str, start: int, path: AnyPath, reports: Reports) -> tuple[str, int]:
    """(text, offset after its closing quote). It ends with its line at the latest."""
    opened = text[start]
    if opened != '"':
        reports.report("finding-quotes-form", start, path, suggestion='"')
    closing = QUOTES[opened]
    plain = _PLAIN[closing]
    at = start + 1
    if (match := plain.match(text, at)) and text.startswith(closing, match.end()):
        return match[0], match.end() + 1
    parts: list[str] = []
    while at < len(text):
        match = plain.match(text, at)
        end = match.end() if match else at
        parts.append(text[at:end])
        at = end
        if at >= len(text) or text[at] == "\n":
            break
        if text[at] == closing:
            return "".join(parts), at + 1
        if text[at] == "\\":
            part, at = _read_escape(text, at, path, reports)
            parts.append(part)
        else:
            reports.report("finding-control-character", at, path, sign=text[at], suggestion="\\t" if text[at] == "\t" else "")
            at += 1
    reports.report("finding-text-unclosed", start, path, suggestion='"')
    content = "".join(parts)
    trimmed = content.rstrip("]}, ")  # what most likely stands after the missing quote is read as what it is
    return trimmed, at - len(content) + len(trimmed)


def _read_escape(text: str, at: int, path: AnyPath, reports: Reports) -> tuple[str, int]:
    """(meaning, offset after it)."""
    sign = text[at + 1 : at + 2]
    if sign in _ESCAPES and sign:
        return _ESCAPES[sign], at + 2
    if sign != "u" or not _HEX.match(text, at + 2):
        reports.report("finding-bad-escape", at, path, sign=text[at : at + 2].rstrip("\n"), suggestion="\\\\")
        return "", at + 1
    number, end = int(text[at + 2 : at + 6], 16), at + 6
    if number == 0:
        reports.report("finding-zero-character", at, path)
        return "", end
    if not _HIGH <= number < _END:
        return chr(number), end
    second = int(text[end + 2 : end + 6], 16) if text.startswith("\\u", end) and _HEX.match(text, end + 2) else 0
    if number < _LOW <= second < _END:
        return chr(0x10000 + ((number - _HIGH) << 10) + (second - _LOW)), end + 6
    reports.report("finding-lone-surrogate", at, path, sign=text[at:end])
    return "", end


_Expects = Literal["key", "colon", "value", "comma"]
_WORDS: Final = {"true": True, "false": False, "null": None}
_MEANT: Final = {
    "none": "null",
    "nil": "null",
    "undefined": "null",
    "yes": "true",
    "no": "false",
    "true": "true",
    "false": "false",
    "null": "null",
}
_LONGEST_QUOTED: Final = 100
"""Longer words are not suggested in quotes."""
_NOT_FINITE: Final = frozenset({"nan", "infinity", "inf"})
_NUMBER_LIKE: Final = re.compile(r"[-+.]?[0-9](?:[\w.]|(?<=[eE])[-+])*")
_WORD: Final = re.compile(r"[-+]?[^\W\d][\w.$-]*")
_OTHER: Final = re.compile(r"""[^\s\w{}\[\],:"'/#“”„«»]+|.""")
_NEXT: Final = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|“[^”\n]*”|„[^“\n]*“|«[^»\n]*»|[^\W\d][\w.$-]*)\s*[:=]"""
_NEXT_KEY: Final = re.compile(_NEXT)
_ENDS_KEY: Final = re.compile(rf"\s*[:=](?!\s*,|[ \t]*\n\s*(?:{_NEXT}|}}))")
_CLOSING: Final = {"{": "}", "[": "]"}


@dataclass(slots=True)
class _Open:
    sign: str
    start: int
    items: Any
    spot: Spot
    expects: _Expects
    key: str = ""
    key_at: int = 0
    end: int = 0
    """A missing comma is reported there."""


class JsonReader:
    def __init__(self, text: str, lines: LineIndex) -> None:
        """Lines end with LF."""
        self.reports = Reports(lines)
        self._text, self._at = text, 0
        self._open: list[_Open] = []
        self._root: tuple[Any, Spot] | None = None
        self._values = 0
        self._readers: Mapping[_Expects, Callable[[str], None]] = {
            "key": self._read_key,
            "colon": self._read_colon,
            "value": self._read_value,
            "comma": self._read_comma,
        }

    def read(self) -> tuple[Any, Spot] | None:
        """None if there is no value; with mistakes, what could be made of the text."""
        try:
            while self._read_token():
                pass
        except ReadingStopped:
            return self._root
        if self._root is None and not self.reports.findings.has_errors:
            self.reports.report("finding-document-empty", 0)
        return self._root

    def _read_token(self) -> bool:
        if self._at >= len(self._text) or self._text[self._at] in BEFORE:
            self._at = skip_space(self._text, self._at, self.reports)
        if self._at >= len(self._text):
            for container in self._open:
                self.reports.report(
                    "finding-bracket-unclosed",
                    container.start,
                    self._find_path(container),
                    sign=container.sign,
                    suggestion=_CLOSING[container.sign],
                )
            return False
        sign = self._text[self._at]
        if sign in "}]":
            self._close(sign)
        elif not self._open and self._root is not None:
            self.reports.report("finding-text-after-end", self._at)
            return False
        elif not self._open:
            self._read_value(sign)
        else:
            self._readers[self._open[-1].expects](sign)
        return True

    def _read_comma(self, sign: str) -> None:
        top = self._open[-1]
        top.expects = "key" if top.sign == "{" else "value"
        if sign == ",":
            self._at += 1
        elif sign in ":=;":
            self._skip_unexpected()
            top.expects = "comma"
        else:
            self.reports.report("finding-comma-missing", self._at, self._find_path(top), suggestion=",")

    def _read_key(self, sign: str) -> None:
        top = self._open[-1]
        start = self._at
        if sign == ",":
            self.reports.report("finding-comma-extra", start, self._find_path(top))
            self._at += 1
            return
        if sign in QUOTES:
            key, self._at = read_text(self._text, start, lambda: self._find_path(top), self.reports)
        elif match := (_WORD.match(self._text, start) or _NUMBER_LIKE.match(self._text, start)):
            key, self._at = match[0], match.end()
            quoted = f'"{key}"' if len(key) < _LONGEST_QUOTED else ""
            if _ENDS_KEY.match(self._text, self._at):  # if not, it lacks its colon or value, which is reported
                self.reports.report("finding-key-unquoted", start, (*self._find_path(top), key), key=key, suggestion=quoted)
        elif sign in ":{[":
            self.reports.report("finding-key-missing", start, self._find_path(top))
            key = ""
        else:
            self._skip_unexpected()
            return
        top.key, top.key_at, top.expects = key, start, "colon"
        if key in top.spot.parts:
            first, _ = self.reports.lines.locate(top.spot.parts[key].key)
            self.reports.report("finding-duplicate-key", start, (*self._find_path(top), key), key=key, first=first)

    def _read_colon(self, sign: str) -> None:
        top = self._open[-1]
        top.expects = "value"
        if sign == ":":
            self._at += 1
        elif sign == "=":
            self.reports.report("finding-colon-form", self._at, self._find_path(top, is_inside=True), key=top.key, suggestion=":")
            self._at += 2 if self._text.startswith("=>", self._at) else 1
        elif sign == ",":
            self._miss_value(top)
        elif "\n" in self._text[top.key_at : self._at] and _NEXT_KEY.match(self._text, self._at):
            self._leave_unfinished(top)
        else:
            self.reports.report("finding-colon-missing", self._at, self._find_path(top, is_inside=True), key=top.key, suggestion=":")

    def _leave_unfinished(self, top: _Open) -> None:
        """What comes next is another key."""
        if self._text[top.key_at] not in QUOTES or self._text[: self._at].rstrip().endswith(tuple(QUOTES.values())):
            self.reports.report("finding-colon-missing", top.key_at, self._find_path(top, is_inside=True), key=top.key, suggestion=":")
        self._keep(None, top.key_at)
        top.expects = "key"

    def _miss_value(self, top: _Open) -> None:
        self.reports.report("finding-value-missing", top.key_at, self._find_path(top, is_inside=True), key=top.key)
        self._keep(None, top.key_at)

    def _read_value(self, sign: str) -> None:
        start = self._at
        top = self._open[-1] if self._open else None

        def path() -> Path:
            return self._find_path(top, is_inside=True)

        if top is not None and top.sign == "{" and "\n" in self._text[top.key_at : start] and _NEXT_KEY.match(self._text, start):
            self._miss_value(top)
            top.expects = "key"
        elif sign in "{[":
            self._begin(sign)
        elif sign in QUOTES:
            text, self._at = read_text(self._text, start, path, self.reports)
            self._keep(text, start)
        elif sign == "," and top is not None:
            if top.sign == "{":
                self._miss_value(top)
            else:
                self.reports.report("finding-comma-extra", start, self._find_path(top))
                self._at += 1
        elif match := _NUMBER_LIKE.match(self._text, start):
            self._read_number(match[0], path)
        elif match := _WORD.match(self._text, start):
            self._read_word(match[0], path)
        else:
            self._skip_unexpected()

    def _read_number(self, text: str, path: AnyPath) -> None:
        start = self._at
        self._at += len(text)
        if JSON_NUMBER.fullmatch(text):
            self._keep(read_number(text, start, path, self.reports), start)
        else:
            self.reports.report("finding-number-form", start, path, number=text)
            self._keep(0, start)

    def _read_word(self, word: str, path: AnyPath) -> None:
        start = self._at
        self._at += len(word)
        if word not in _WORDS:
            lower = word.lower().lstrip("+-")
            if lower in _NOT_FINITE:
                self.reports.report("finding-number-not-finite", start, path, number=word)
            else:
                quoted = f'"{word}"' if len(word) < _LONGEST_QUOTED else ""
                self.reports.report("finding-word-unknown", start, path, word=word, suggestion=_MEANT.get(lower, quoted))
        self._keep(_WORDS.get(word), start)

    def _begin(self, sign: str) -> None:
        start = self._at
        items: Any = {} if sign == "{" else []
        spot = self._keep(items, start)
        if len(self._open) >= MAX_DEPTH:
            raise self.reports.stop("finding-document-deep", start, most=MAX_DEPTH)
        self._open.append(_Open(sign, start, items, spot, "key" if sign == "{" else "value"))
        self._at = start + 1

    def _close(self, sign: str) -> None:
        at = self._at
        self._at += 1
        matching = [number for number, container in enumerate(self._open) if _CLOSING[container.sign] == sign]
        if not matching:
            self.reports.report("finding-bracket-extra", at, sign=sign)
            return
        for container in self._open[matching[-1] + 1 :]:
            first, _ = self.reports.lines.locate(container.start)
            self.reports.report(
                "finding-bracket-other",
                at,
                self._find_path(container),
                sign=sign,
                open=container.sign,
                first=first,
                suggestion=_CLOSING[container.sign],
            )
        for container in reversed(self._open[matching[-1] :]):
            if container.sign == "{" and container.expects in {"colon", "value"}:
                self._miss_value(container)
            self._open.pop()

    def _keep(self, value: Any, start: int) -> Spot:
        """Of two values with one key, the first is kept."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise self.reports.stop("finding-document-wide", start, most=MAX_VALUES)
        if not self._open:
            spot = Spot(start, start)
            self._root = value, spot
            return spot
        top = self._open[-1]
        top.expects = "comma"
        if top.sign == "[":
            spot = top.spot.parts[len(top.items)] = Spot(start, start)
            top.items.append(value)
            return spot
        spot = Spot(top.key_at, start)
        if top.key not in top.spot.parts:
            top.items[top.key] = value
            top.spot.parts[top.key] = spot
        return spot

    def _skip_unexpected(self) -> None:
        match = _OTHER.match(self._text, self._at)
        text = match[0] if match else self._text[self._at]
        self.reports.report("finding-character-unexpected", self._at, self._find_path(self._open[-1]) if self._open else (), sign=text)
        self._at += len(text)

    def _find_path(self, until: _Open | None, *, is_inside: bool = False) -> Path:
        """Or of the value in it that is read now."""
        path: list[str | int] = []
        for container in self._open:
            if container is until and not is_inside:
                break
            path.append(container.key if container.sign == "{" else len(container.items) - (0 if container is until else 1))
            if container is until:
                break
        return tuple(path)
