"""Counts syllables and words by rule (S001-X7)."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from orchestrator.language.lexicon import load_lexicon

_VOWELS: Final = frozenset(load_lexicon("syllables").read_text("vowels"))
"""Russian: each is a syllable."""
_ENGLISH: Final = re.compile(r"[aeiouy]+")
_SILENT_END: Final = re.compile(r"[^aeiouyl]es?$|[^aeiouytd]ed$")
"""Not spoken in "stone", "stones" and "called", but in "little" and "wanted"."""
_SPOKEN_END: Final = re.compile(r"(?:[sxz]|ch|sh|[cg])es$")
"""Spoken all the same: "roses", "branches", "places"."""
_TOKEN: Final = re.compile(r"\S+")
_LETTERS: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Counts(NamedTuple):
    syllables_per_line: list[int]
    total_words: int


def count_poem(text: str) -> Counts:
    lines = [line for line in text.splitlines() if line.strip()]
    return Counts([count_line(line) for line in lines], sum(len(find_words(line)) for line in lines))


def count_line(line: str) -> int:
    return sum(count_syllables(part) for word in find_words(line) for part in _LETTERS.findall(word))


def find_words(line: str) -> Sequence[str]:
    """What stands between spaces and has a letter."""
    return [token for token in _TOKEN.findall(line) if any(map(str.isalpha, token))]


def count_syllables(word: str) -> int:
    """Russian vowels, and groups of English vowels without a silent "e"."""
    folded = unicodedata.normalize("NFC", "".join(sign for sign in unicodedata.normalize("NFC", word.casefold()) if sign != "\u0301"))
    russian = sum(sign in _VOWELS for sign in folded)
    plain = "".join(sign for sign in unicodedata.normalize("NFD", folded) if not unicodedata.combining(sign))
    groups = len(_ENGLISH.findall(plain))
    if groups > 1 and _SILENT_END.search(folded) and not _SPOKEN_END.search(folded):
        groups -= 1
    return russian + groups
