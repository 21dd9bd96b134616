"""Makes untrusted text safe to show on a card: it cannot hide parts, reverse the direction of text or imitate a line of the card. Pure."""

import re
import unicodedata

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import RUSSIAN_LETTERS, Locale

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5\ufe0e")
_MAX_MARKS = 2
_PLAIN = re.compile(rf"[ -~{RUSSIAN_LETTERS}«»—№₽]*")
"""Characters that are safe in any order; most texts contain no others."""
_REST = load_lexicon("card_fields").read_titles("cut")


def escape_text(text: str, *, locale: Locale = "ru", limit: int | None = None) -> str:
    """Return `text` as one line, with codes for invisible characters; one longer than `limit` is cut, with a mark of what is missing."""
    if (limit is None or len(text) <= limit) and _PLAIN.fullmatch(text):
        return text.strip()
    normal = unicodedata.normalize("NFC", text)
    shown = _escape_signs(normal[:limit])
    if limit is None or len(normal) <= limit:
        return shown
    return mark_cut(shown, len(normal) - limit, locale)


def mark_cut(beginning: str, missing: int, locale: Locale) -> str:
    """Return the beginning of a cut text, followed by a mark that says how many characters are missing."""
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
