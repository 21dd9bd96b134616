"""Prepares text for comparison and for display, and formats phone numbers."""

import re
import unicodedata
from typing import Final, Literal

Locale = Literal["ru", "en"]

RUSSIAN_LETTERS: Final = "А-яЁё"
"""Russian letters, to be put inside the brackets of a regular expression; patterns that ignore case need only the small ones."""
RUSSIAN_SMALL_LETTERS: Final = "а-я"
PLAIN_YE: Final = "е"
YO: Final = "ё"

_NUMBERS: Final[dict[Locale, str]] = {"ru": "№{}", "en": "No. {}"}
_QUOTES: Final[dict[Locale, str]] = {"ru": "«{}»", "en": "“{}”"}
_INNER_QUOTES: Final = {"ru": str.maketrans("«»", "„“"), "en": str.maketrans("“”", "‘’")}

# Unicode calls these characters letters or symbols, but they are invisible, so text in a label may differ from what a person sees.
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_SELECTORS: Final = re.compile("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_UNPRINTABLE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_MARKS_PER_LETTER: Final = 2


def fold(text: str) -> str:
    """Return the text prepared for comparison: in lower case, with ё as е, plain spaces, and «_» for each hidden character.

    The length stays the same, so that offsets in the result are valid in the original. The «_» counts as a letter, so a number or name
    with a hidden character is not recognised, rather than recognised as something else.
    """
    return text.translate(_FOLDED)


class _FoldedChars(dict[int, str]):
    """Characters and what `fold` makes of them, filled as they occur.

    Remembered are those of the alphabets in use; a text of rare signs must not make the program grow.
    """

    def __missing__(self, code: int) -> str:
        found = _fold_char(chr(code))
        if code < _REMEMBERED_BELOW:
            self[code] = found
        return found


_REMEMBERED_BELOW: Final = 0x2200
_FOLDED: Final = _FoldedChars()


def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    if char in _BLANK_LETTERS or unicodedata.category(char) in _UNPRINTABLE:
        return "_"
    low = char.lower()
    if len(low) != 1:
        return char
    return PLAIN_YE if low == YO else low


def format_number(number: object, locale: Locale) -> str:
    """Return the number of a record or person as it is written in a sentence: «№7», or "No. 7" in English."""
    return _NUMBERS[locale].format(number)


def quote(text: str, locale: Locale) -> str:
    """Return the text in the quotation marks of the language `locale`; such marks inside it become inner ones: «Позвонить в „Ромашку“»."""
    return _QUOTES[locale].format(text.translate(_INNER_QUOTES[locale]))


def replace_yo(text: str) -> str:
    """Return the text with every small ё replaced by е, as most people write it."""
    return text.replace(YO, PLAIN_YE)


def normalize_text(text: str) -> str:
    """Return the text as `fold` spells it, and without hidden characters, stress marks and repeated spaces; its length may change."""
    # NFKC would turn № into the letters "no" and join them to the number.
    shown = "".join(char for char in unicodedata.normalize("NFKC", text.replace("№", "#")) if not _is_hidden(char))
    return " ".join(fold("".join(char for char in shown if unicodedata.category(char) != "Mn")).split())


def to_visible_line(text: str, *, limit: int | None = None) -> str:
    """Return the text as one line without hidden and control characters and repeated spaces, cut to `limit` characters with «…»."""
    kept: list[str] = []
    marks = 0
    visible = "".join(char for char in text if not _is_hidden(char))  # first: what stood between two marks would keep them out of order
    for char in unicodedata.normalize("NFC", visible):
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        if char.isspace():
            kept.append(" ")
        elif marks <= _MARKS_PER_LETTER:
            kept.append(char)
    return trim_text(" ".join("".join(kept).split()), limit=limit)


def trim_text(text: str, *, limit: int | None) -> str:
    """Return the text, cut to at most `limit` characters; a text that was cut ends with «…»."""
    if limit is None or len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + "…" if limit > 0 else ""


def _is_hidden(char: str) -> bool:
    if char.isspace():
        return False
    if char in _BLANK_LETTERS or _SELECTORS.match(char):
        return True
    return unicodedata.category(char) in _UNPRINTABLE


_PHONE: Final = re.compile(r"\+?[0-9 ()\u00a0.-]+")
_RUSSIAN: Final = re.compile(r"(\+7|8)([0-9]{3})([0-9]{3})([0-9]{2})([0-9]{2})")
_NO_PREFIX: Final = re.compile(r"7([3489][0-9]{9})")


def format_phone(value: str) -> str:
    """Format a Russian phone such as «79011234567» as «+7 901 123-45-67»; any other text is returned unchanged."""
    if not _PHONE.fullmatch(value):
        return value
    digits = ("+" if value.lstrip().startswith("+") else "") + re.sub(r"[^0-9]", "", value)
    found = _RUSSIAN.fullmatch(_NO_PREFIX.sub(r"+7\1", digits) if _NO_PREFIX.fullmatch(digits) else digits)
    if found is None:
        return value
    head, code, first, second, third = found.groups()
    return f"{head} {code} {first}-{second}-{third}"
