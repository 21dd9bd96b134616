import re
import unicodedata
from typing import Final, Literal, NamedTuple

_MARKED: Final = re.compile(r"\s{0,3}(?:>|＞|&gt;)")


class SplitText(NamedTuple):
    own: str
    foreign: str


def split_foreign_text(text: str) -> SplitText:
    """Lines that begin with ">" are text of others."""
    own, foreign = list[str](), list[str]()
    for line in text.split("\n"):
        (foreign if _MARKED.match(line) else own).append(line)
    if not foreign:
        return SplitText(own=text, foreign="")
    return SplitText(own="\n".join(own).strip(), foreign="\n".join(foreign).strip())


Locale = Literal["ru", "en"]

RUSSIAN_LETTERS: Final = "А-яЁё"
"""For the brackets of a regular expression."""
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
    """For comparison: lower case, ё as е, plain spaces, «_» for each hidden character.

    The length stays the same. «_» counts as a letter, so that a number with a hidden character is not recognised, rather than as another
    one.
    """
    return text.translate(_FOLDED)


class _FoldedChars(dict[int, str]):
    """Remembers only the alphabets in use: rare signs must not make the program grow."""

    def __missing__(self, code: int) -> str:
        folded_char = _fold_char(chr(code))
        if code < _REMEMBERED_BELOW:
            self[code] = folded_char
        return folded_char


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
    """«№7», or "No. 7"."""
    return _NUMBERS[locale].format(number)


def quote(text: str, locale: Locale) -> str:
    """Such marks inside become inner ones: «Позвонить в „Ромашку“»."""
    return _QUOTES[locale].format(text.translate(_INNER_QUOTES[locale]))


def replace_yo(text: str) -> str:
    return text.replace(YO, PLAIN_YE)


def normalize_text(text: str) -> str:
    """As `fold`, without hidden characters, stress marks and repeated spaces; the length may change."""
    # NFKC would turn № into the letters "no" and join them to the number.
    visible = "".join(char for char in unicodedata.normalize("NFKC", text.replace("№", "#")) if not _is_hidden(char))
    return " ".join(fold("".join(char for char in visible if unicodedata.category(char) != "Mn")).split())


def to_visible_line(text: str, *, limit: int | None = None) -> str:
    """One line without hidden characters and repeated spaces, cut with «…»."""
    characters: list[str] = []
    marks = 0
    visible = "".join(char for char in text if not _is_hidden(char))  # first: what stood between two marks would keep them out of order
    for char in unicodedata.normalize("NFC", visible):
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        if char.isspace():
            characters.append(" ")
        elif marks <= _MARKS_PER_LETTER:
            characters.append(char)
    return trim_text(" ".join("".join(characters).split()), limit=limit)


def trim_text(text: str, *, limit: int | None) -> str:
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


_DOMESTIC: Final = re.compile(r"8 (?=[34789][0-9]{2} )")


def format_dialed_phone(value: str) -> str:
    """As `format_phone`, and «8 901 …» as «+7 901 …», which can be dialed from anywhere."""
    return _DOMESTIC.sub("+7 ", format_phone(value), count=1) if _PHONE.fullmatch(value) else value


def format_phone(value: str) -> str:
    """«79011234567» becomes «+7 901 123-45-67»; any other text stays."""
    if not _PHONE.fullmatch(value):
        return value
    digits = ("+" if value.lstrip().startswith("+") else "") + re.sub(r"[^0-9]", "", value)
    match = _RUSSIAN.fullmatch(_NO_PREFIX.sub(r"+7\1", digits) if _NO_PREFIX.fullmatch(digits) else digits)
    if match is None:
        return value
    head, code, first, second, third = match.groups()
    return f"{head} {code} {first}-{second}-{third}"
