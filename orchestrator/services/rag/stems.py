"""Terms: Russian and English stems, numbers, codes in one spelling."""

import re
from functools import cache
from typing import Final

import snowballstemmer

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import PLAIN_YE, YO

_GROUPED: Final = re.compile(r"(?<![\d\w])(\d{1,3})((?:[ \u00a0\u202f]\d{3})+)(?![\d\w])")
_CODE: Final = re.compile(r"\b[^\W\d_]{1,6}[-/ \u2010-\u2014]?\d[\w]*(?:[-/.\u2010-\u2014][\w]+)*|\b\d+[-/]?[^\W\d_]{1,4}\d*(?:-\w+)*\b")
_ARTICLE: Final = re.compile(r"\b[^\W\d_]{1,6}(?:[-/\u2010-\u2014]\d|\d{2})\w*(?:[-/.\u2010-\u2014]\w+)*")
_WORD: Final = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
_DIGIT: Final = re.compile(r"\d")
_NOT_PLAIN: Final = re.compile(r"[\W_]+")
_LONGEST: Final = 40
MOST_ASKED: Final = 60
"""For each the index is asked how frequent it is."""
_MOST_REMEMBERED: Final = 200_000

_stemmed: dict[str, str] = {}


@cache
def _load_stemmers() -> tuple[snowballstemmer.RussianStemmer, snowballstemmer.EnglishStemmer]:
    return snowballstemmer.stemmer("russian"), snowballstemmer.stemmer("english")


@cache
def _load_lookalikes() -> dict[int, str]:
    """People write either without knowing."""
    return {ord(letter): latin for letter, latin in load_lexicon("documents").read_table("lookalikes").items()}


@cache
def load_stop_words() -> frozenset[str]:
    """They say nothing of a question's subject."""
    return frozenset(load_lexicon("documents").read_words("stop_words"))


def find_terms(text: str) -> list[str]:
    """In order."""
    plain = _normalize(text)
    known = _stemmed.get
    terms = [known(word) or stem_word(word) for word in _WORD.findall(plain)]
    if _DIGIT.search(plain):
        terms.extend(_find_codes(plain))
    return terms


def find_name_words(name: str) -> str:
    """Also of its folders: people look for a file by them."""
    return name.rpartition(".")[0].replace("/", " ") if "." in name.rpartition("/")[2] else name.replace("/", " ")


def find_question_terms(question: str) -> list[str]:
    """Without words that say nothing, unless there are no others."""
    plain = _normalize(question)
    words = _WORD.findall(plain)
    stop = load_stop_words()
    telling = [word for word in words if word not in stop] or words
    return list(dict.fromkeys([*(stem_word(word) for word in telling), *_find_codes(plain)]))[:MOST_ASKED]


def list_words(text: str) -> list[str]:
    """As written, and codes, for an index that makes stems itself."""
    plain = _normalize(text)
    return [*(stem_word(word) if word[0].isdigit() else word for word in _WORD.findall(plain)), *_find_codes(plain)]


def list_question_words(question: str) -> list[str]:
    """As written, without words that say nothing, unless there are no others."""
    words, stop = list_words(question), load_stop_words()
    return list(dict.fromkeys([word for word in words if word not in stop] or words))[:MOST_ASKED]


def _normalize(text: str) -> str:
    lowered = text.lower().replace(YO, PLAIN_YE)
    return _GROUPED.sub(lambda match: _NOT_PLAIN.sub("", match[0]), lowered) if _DIGIT.search(lowered) else lowered


def _find_codes(plain: str) -> list[str]:
    """Letters and digits together, such as an article's."""
    codes = (_NOT_PLAIN.sub("", found) for found in _CODE.findall(plain))
    return [code.translate(_load_lookalikes())[:_LONGEST] for code in codes if not code.isdigit() and not code.isalpha()]


def find_written_codes(text: str) -> dict[str, str]:
    """Codes of articles as terms, with how they are written; «от 5» and «10 шт» are none."""
    codes = {found: _NOT_PLAIN.sub("", found.lower()).translate(_load_lookalikes())[:_LONGEST] for found in _ARTICLE.findall(text)}
    return {term: written for written, term in codes.items()}


def stem_word(word: str) -> str:
    """A number stays, with a point for its decimals."""
    known = _stemmed.get(word)
    if known is not None:
        return known
    if word[0].isdigit():
        stem = word.replace(",", ".").rstrip(".")[:_LONGEST].replace(".", "d")
    else:
        russian, english = _load_stemmers()
        stem = (english if word.isascii() else russian).stemWord(word[:_LONGEST]) or word
    if len(_stemmed) < _MOST_REMEMBERED:
        _stemmed[word] = stem
    return stem
