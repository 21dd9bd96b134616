"""Finds sentences of a reply that say nothing new, such as «Готово, поставил задачу» above the program's own line about that task. Pure.

In doubt a sentence says something new: if it asks, has a link, or contains a number or word that is neither known nor in
data/language/restatements.yaml. Known are the words of texts that the person reads or wrote anyway: the request, and the lines and cards of
the reply.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold

_WORDS: Final = load_lexicon("restatements")
_FILLERS: Final = frozenset(_WORDS.read_words("fillers"))
_BEGINNINGS: Final = tuple(_WORDS.read_words("beginnings"))
_TELLING: Final = frozenset(_WORDS.read_words("telling"))
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_SENTENCE_END: Final = re.compile(r"(?<=[.!…])\s+|\n+")
_ALWAYS_NEW: Final = re.compile(r"[?@]|://|\[\[|```")
_SHORTEST_STEM: Final = 4
_ENDING: Final = 3
"""The length in letters of the endings in which two forms of one word may differ."""


def drop_restatements(text: str, known: Iterable[str]) -> str:
    """Return `text` without the sentences at its beginning and end that say nothing beyond `known`; "" if nothing else is left.

    `known` holds the texts that the person reads or wrote anyway, such as the lines and cards of the reply.
    """
    words = frozenset(word for part in known for word in _split_words(part))
    pieces = _split_sentences(text)
    is_new = [_says_more(piece, words) for piece in pieces]
    if not any(is_new):
        return ""
    first, last = is_new.index(True), len(is_new) - is_new[::-1].index(True)
    return "".join(pieces[first:last]).strip()


def _split_sentences(text: str) -> Sequence[str]:
    """Return the sentences and lines of the text, each with the space behind it."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if text[start:end].strip()]


def _split_words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(fold(text))]


def _says_more(sentence: str, known: frozenset[str]) -> bool:
    return bool(_ALWAYS_NEW.search(sentence)) or any(not _is_familiar(word, known) for word in _split_words(sentence))


def _is_familiar(word: str, known: frozenset[str]) -> bool:
    if word in _TELLING:
        return False
    if word in _FILLERS or word in known:
        return True
    if any(sign.isdigit() for sign in word):
        return False
    return word.startswith(_BEGINNINGS) or any(_is_same_word(word, other) for other in known)


def _is_same_word(one: str, other: str) -> bool:
    """Return whether two words may be forms of one: they begin alike, and what differs is as short as an ending."""
    stem = max(_SHORTEST_STEM, len(one) - _ENDING, len(other) - _ENDING)
    return min(len(one), len(other)) >= _SHORTEST_STEM and one[:stem] == other[:stem]
