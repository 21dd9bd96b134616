"""How text is folded before it is compared and cleaned before it is shown. Ring 2, pure; knows no record and no portal."""

import re
import unicodedata
from typing import Final, Literal

Locale = Literal["ru", "en"]

# Category "letter" or "symbol", yet drawn as nothing: they hide text from the person who reads a label.
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_SELECTORS: Final = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_MARKS_PER_LETTER: Final = 2


def fold(text: str) -> str:
    """Lower-case text of the same length with ё as е and every space plain; hidden characters become «_», a word character.

    The length is kept so that positions found in the folded text hold in the original; «_» makes a number or name with a
    hidden character inside unreadable instead of readable as something else.
    """
    return "".join(_fold_char(char) for char in text)


def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    if char in _BLANK_LETTERS or unicodedata.category(char) in _UNPRINTABLE:
        return "_"
    low = char.lower()
    if len(low) != 1:
        return char
    return "е" if low == "ё" else low


def normalize_text(text: str) -> str:
    """Folded text without hidden characters and stress marks, spaces collapsed; positions are lost."""
    # NFKC would spell № as the letters "no" and glue them to the number.
    shown = "".join(char for char in unicodedata.normalize("NFKC", text.replace("№", "#")) if not _is_hidden(char))
    return " ".join(fold("".join(char for char in shown if unicodedata.category(char) != "Mn")).split())


def to_visible_line(text: str, *, limit: int | None = None) -> str:
    """One visible line: hidden, control and direction characters removed, runs of spaces collapsed, cut at `limit` with «…»."""
    kept: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text):
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        if char.isspace():
            kept.append(" ")
        elif not _is_hidden(char) and marks <= _MARKS_PER_LETTER:
            kept.append(char)
    return trim_text(" ".join("".join(kept).split()), limit=limit)


def trim_text(text: str, *, limit: int | None) -> str:
    """The text itself, or its beginning and «…» in at most `limit` characters."""
    if limit is None or len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + "…" if limit > 0 else ""


def _is_hidden(char: str) -> bool:
    if char.isspace():
        return False
    if char in _BLANK_LETTERS or _SELECTORS.match(char):
        return True
    return unicodedata.category(char) in _UNPRINTABLE
