"""Whether a text repeats another one, known only by hashes of its runs of words."""

import html
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import normalize_text
from orchestrator.language.word_forms import is_same_word

_ALIKE: Final = str.maketrans("авекмнорстухіјѕԁһӏԛԝɡɑl" + "αβεηικμνορτυχ", "abekmhopctyxijsdhiqwgai" + "abehikmnoptyx")
"""Like Latin letters; «l» looks like a large «i»."""
_MARKUP_NAMES: Final = (
    "a|b|i|u|s|p|br|hr|em|strong|del|ins|sub|sup|small|big|span|font|code|pre|div|ul|ol|li|list|tr|td|th|table|tbody|h[1-6]|img|url|user"
    r"|color|size|quote|blockquote|left|right|center|justify|disk|email|video|spoiler|tg-spoiler|\*"
)
_TAG: Final = re.compile(rf"<([/!a-z][^<>]{{0,500}})>|\[(/?(?:{_MARKUP_NAMES})(?:[= ][^\[\]]{{0,500}})?)\]")
_MARKUP: Final = re.compile(_TAG.pattern, re.IGNORECASE)
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


def remove_markup(text: str) -> str:
    """Text as people read it: without HTML and BB codes, entities as signs."""
    return _MARKUP.sub(lambda tag: " " if _DIVIDING_TAG.match((tag[1] or tag[2]).lower()) else "", html.unescape(text))


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


RUN: Final = 3
"""Words in a row that two texts do not share by chance."""
SHORTEST: Final = 8
"""Shorter values are names, everyday words and numbers of records."""
_SHORTEST_RUN: Final = 13
_SHORTEST_WITH_DIGITS: Final = 6
MOST_RUNS: Final = 20_000
_DENYING: Final = frozenset(split_words(" ".join(load_lexicon("orders").read_words("denying"))))
_DENIED_AFTER: Final = 2
"""How far before a word another may deny it: «не всё оплатил»."""
_DIGIT: Final = re.compile(r"[0-9]")


def hash_runs(texts: Iterable[str]) -> frozenset[int]:
    """Of very long texts only the beginning."""
    hashes: set[int] = set()
    for text in texts:
        for run in _list_runs(split_words(text)):
            hashes.add(_hash(run))
            if len(hashes) >= MOST_RUNS:
                return frozenset(hashes)
    return frozenset(hashes)


def repeats(value: str, own_text: str, runs: frozenset[int]) -> bool:
    """As a whole, by three words in a row, or by a word with digits; not in words of `own_text`."""
    words, own = split_words(value), f" {' '.join(split_words(own_text))} "
    whole = " ".join(words)
    if len(whole) < SHORTEST or f" {whole} " in own:
        return False
    sought = [*([whole] if len(words) <= RUN else []), *_list_runs(words, whole=False)]
    return any(_hash(run) in runs for run in sought if f" {run} " not in own)


def says(text: str, value: str) -> bool:
    """In a row and not denied; also if `value` has no words."""
    words, own = split_words(value), split_words(text)
    if not words:
        return not value.strip()
    places = (place for place, word in enumerate(own) if word == words[0] and own[place : place + len(words)] == words)
    return any(_DENYING.isdisjoint(own[max(place - _DENIED_AFTER, 0) : place]) for place in places)


def says_in_forms(text: str, value: str) -> bool:
    """All its words, in whatever order and ending, and nothing in the text is denied."""
    words, own = split_words(value), split_words(text)
    return bool(words) and _DENYING.isdisjoint(own) and all(any(word == one or _is_form(word, one) for one in own) for word in words)


def _is_form(word: str, other: str) -> bool:
    return word.isalpha() and other.isalpha() and is_same_word(word, other)


def _list_runs(words: list[str], *, whole: bool = True) -> Iterator[str]:
    """With `whole` also one or two long words."""
    for place, word in enumerate(words):
        if len(word) >= _SHORTEST_WITH_DIGITS and _DIGIT.search(word):
            yield word
        if whole:
            yield from (run for count in (1, 2) if len(run := " ".join(words[place : place + count])) >= SHORTEST)
        if place + RUN <= len(words) and len(run := " ".join(words[place : place + RUN])) >= (SHORTEST if whole else _SHORTEST_RUN):
            yield run


def _hash(run: str) -> int:
    return zlib.crc32(run.encode())
