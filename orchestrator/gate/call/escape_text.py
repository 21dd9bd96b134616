"""Untrusted text on a card cannot hide parts, reverse direction or imitate a line. Pure."""

import re
import unicodedata

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import RUSSIAN_LETTERS, Locale

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\ufe0e")
_MAX_MARKS = 2
_PLAIN = re.compile(rf"[ -~{RUSSIAN_LETTERS}«»—№₽]*")
_REST = load_lexicon("card_fields").read_titles("cut")


def escape_text(text: str, *, locale: Locale = "ru", limit: int | None = None) -> str:
    """One line; invisible characters become codes, and a cut says how much is missing."""
    if (limit is None or len(text) <= limit) and _PLAIN.fullmatch(text):
        return text.strip()
    normal = unicodedata.normalize("NFC", text)
    escaped = _escape_signs(normal[:limit])
    if limit is None or len(normal) <= limit:
        return escaped
    return mark_cut(escaped, len(normal) - limit, locale)


def mark_cut(beginning: str, missing: int, locale: Locale) -> str:
    return beginning.rstrip() + _REST[locale].format(count=missing)


def _escape_signs(text: str) -> str:
    parts: list[str] = []
    marks = 0
    for char in text.replace("\r\n", "\n"):
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        parts.append(_escape_sign(char, marks))
    return "".join(parts).strip()


def _escape_sign(char: str, marks: int) -> str:
    if char in "\n\r\u2028\u2029":
        return " ⏎ "
    if char == "\t" or unicodedata.category(char) == "Zs":
        return " "
    if unicodedata.category(char) in _HIDDEN or char in _BLANK_LETTERS or marks > _MAX_MARKS:
        return f"⟨U+{ord(char):04X}⟩"
    return char
