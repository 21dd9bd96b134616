"""Points of abbreviations («ст. 5») and initials end no sentence."""

import re
from functools import cache
from typing import Final

from orchestrator.language.lexicon import load_lexicon

_END: Final = re.compile(r"([.!?…]+)[»”\"')\]]*\s+")
_WORD_BEFORE: Final = re.compile(r"[\w.\-№]+$")
_BREAKS: Final = (";", ",", " ")


@cache
def _load_abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    words = load_lexicon("documents")
    return frozenset(words.read_words("abbreviations", "open")), frozenset(words.read_words("abbreviations", "closing"))


def split_sentences(text: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match[1] == "." and not _is_end(text, start, match.start(1), match.end()):
            continue
        sentences.append(text[start : match.end()].strip())
        start = match.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_end(text: str, start: int, point: int, after: int) -> bool:
    """`point` and `after` (the next word) are places."""
    following = text[after : after + 1]
    if following.islower():
        return False
    match = _WORD_BEFORE.search(text, max(start, point - 30), point)
    word = match[0].lower().strip("-") if match else ""
    if word.isdigit() and point - len(word) <= start:
        return False  # the number of an item of a list: «1. Общие положения»
    if len(word) == 1 and match is not None and match[0].isupper():
        return False  # an initial
    opening, closing = _load_abbreviations()
    if word in closing:
        before = text[max(start, point - len(word) - 2) : point - len(word)].strip()
        return following.isupper() and (word not in opening or before.isdigit())
    return word not in opening


def split_long(sentence: str, longest: int) -> list[str]:
    """At a semicolon, comma or blank where there is one."""
    pieces: list[str] = []
    rest = sentence
    while len(rest) > longest:
        window = rest[: longest + 1]
        cut = next((place + len(sign) for sign in _BREAKS if (place := window.rfind(sign, longest // 2, longest)) > 0), longest)
        pieces.append(rest[:cut].strip())
        rest = rest[cut:]
    pieces.append(rest.strip())
    return [piece for piece in pieces if piece]
