"""Words in one spelling for comparison: markup, look-alike letters and digit groups make no difference."""

import html
import re
import unicodedata
from itertools import pairwise
from typing import Final

from orchestrator.language.text import normalize_text

_ALIKE: Final = str.maketrans("авекмнорстухіјѕԁһӏԛԝɡɑl" + "αβεηικμνορτυχ", "abekmhopctyxijsdhiqwgai" + "abehikmnoptyx")
"""Like Latin letters; «l» looks like a large «i»."""
_MARKUP_NAMES: Final = (
    "a|b|i|u|s|p|br|hr|em|strong|del|ins|sub|sup|small|big|span|font|code|pre|div|ul|ol|li|list|tr|td|th|table|tbody|h[1-6]|img|url|user"
    r"|color|size|quote|blockquote|left|right|center|justify|disk|email|video|spoiler|tg-spoiler|\*"
)
_TAG: Final = re.compile(rf"<([/!a-z][^<>]{{0,500}})>|\[(/?(?:{_MARKUP_NAMES})(?:[= ][^\[\]]{{0,500}})?)\]")
_BARE_TAG: Final = re.compile(rf"/?(?:{_MARKUP_NAMES})\s?/?")
_DIVIDING_TAG: Final = re.compile(r"/?(?:p|br|hr|div|ul|ol|li|list|tr|td|th|table|h[1-6]|quote|blockquote|\*)\b|\*")
_MARK_INSIDE: Final = re.compile(r"(?<=\w)[*_~`|]+(?=\w)")
_SPACED_LETTERS: Final = re.compile(r"(?<![^\W_])[^\W\d_](?:[ .·-][^\W\d_]){3,}(?![^\W_])")
_PERCENT: Final = re.compile(r"(?<=[0-9])\s?(?:%|процент\w{0,4}|percent)".translate(_ALIKE | {ord("l"): "l"}))
_DIGIT_AS_LETTER: Final = re.compile(r"(?<=[^\W\d_])[013](?=[^\W\d_])")
_LETTER_AS_DIGIT: Final = re.compile(r"(?<=[0-9])[oiз](?=[0-9%])")
_LETTERS: Final = {"0": "o", "1": "i", "3": "з"}
_DIGITS: Final = {letter: digit for digit, letter in _LETTERS.items()}
_THOUSANDS: Final = re.compile(r"(?<![0-9.,])[0-9]{1,3}(?:([ '’.,])[0-9]{3})(?:\1[0-9]{3})*(?![0-9])")
_LONG_NUMBER: Final = re.compile(r"[0-9](?:[ ().–/-]{0,3}[0-9]){8,}")
_DATE: Final = re.compile(r"(?<![0-9])(?:[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}|[0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_MOBILE: Final = re.compile(r"(?<![0-9])[78]?(9[0-9]{9})(?![0-9])")
_NO_DIGITS: Final = re.compile(r"[^0-9]+")
_LONG_GROUP: Final = 6
_WHOLE_NUMBER: Final = 9
_WORD: Final = re.compile(r"[^\W_]+%?")
_REMEMBERED_BELOW: Final = 0x2200


class _PlainChars(dict[int, str]):
    """Those of rare alphabets are not remembered."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        digit = unicodedata.decimal(char, None)
        enclosing = unicodedata.category(char) == "Me"
        plain = " " if char.isspace() else "" if enclosing else normalize_text(char) if digit is None else str(digit)
        if code < _REMEMBERED_BELOW:
            self[code] = plain
        return plain


_PLAIN: Final = _PlainChars()


def split_words(text: str) -> list[str]:
    """In order; behind them what stands in tags, and long groups of joined numbers."""
    tags: list[str] = []
    groups: list[str] = []
    if "&" in text:
        text = html.unescape(html.unescape(text))
    text = unicodedata.normalize("NFKD", text.replace("№", "#")).translate(_PLAIN)
    if "<" in text or "[" in text:
        text = _TAG.sub(lambda tag: _take_tag(tag[1] or tag[2], tags), text)
    text = _SPACED_LETTERS.sub(lambda letters: re.sub(r"[\W_]", "", letters[0]), _MARK_INSIDE.sub("", text)).translate(_ALIKE)
    text = _DIGIT_AS_LETTER.sub(lambda sign: _LETTERS[sign[0]], _LETTER_AS_DIGIT.sub(lambda sign: _DIGITS[sign[0]], text))
    text = _PERCENT.sub("%", _LONG_NUMBER.sub(lambda number: _join_groups(number[0], groups), " ".join(text.split())))
    text = _MOBILE.sub(r"7\1", _THOUSANDS.sub(lambda number: _NO_DIGITS.sub("", number[0]), text))
    return [*_WORD.findall(text), *(split_words(" ".join(tags)) if tags else ()), *groups]


def _take_tag(tag: str, tags: list[str]) -> str:
    if not _BARE_TAG.fullmatch(tag):
        tags.append(tag)
    return " " if _DIVIDING_TAG.match(tag) else ""


def _join_groups(number: str, long_groups: list[str]) -> str:
    """Unless it holds a date; groups that may be numbers go to `long_groups`."""
    if _DATE.search(number):
        return number
    groups = _NO_DIGITS.split(number)
    long_groups.extend(group for group in groups if len(groups) > 1 and _LONG_GROUP <= len(group) < _WHOLE_NUMBER)
    gaps = ["", *(" " if max(map(len, pair)) >= _WHOLE_NUMBER else "" for pair in pairwise(groups))]
    return "".join(f"{gap}{group}" for gap, group in zip(gaps, groups, strict=True))
