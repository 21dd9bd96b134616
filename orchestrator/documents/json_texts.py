"""Quoted texts, comments and space of JSON."""

import re
from typing import Final

from orchestrator.documents.reports import AnyPath, Reports

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
