"""Which other words of documents may mean what a word of a question says: other forms of it, and office words for spoken ones.

People ask how they talk, documents are written for files: «опоздал» and «опоздание» have stems of their own, «ноут» stands in no document.
"""

from functools import cache
from itertools import takewhile
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.stems import stem_word

_LEAST_PREFIX: Final = 5
_SHARED: Final = 0.6
"""The part of the longer stem with which two related stems begin."""
_MOST_OFFICE_WORDS: Final = 8


def find_office_words(stem: str) -> tuple[str, ...]:
    """Return the stems by which documents may call what this stem of a question says."""
    return _load_office_words().get(stem, ())


def find_prefix(stem: str) -> str:
    """Return the letters with which every stem begins that is related to this one; "" if it is a number or too short to be sure."""
    return stem[: max(_LEAST_PREFIX, round(_SHARED * len(stem)))] if len(stem) >= _LEAST_PREFIX and not stem[0].isdigit() else ""


def is_related(stem: str, other: str) -> bool:
    """Return whether both stems begin alike for so long that they are probably made of the same word."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stem, other, strict=False)))
    return shared >= _LEAST_PREFIX and shared >= _SHARED * max(len(stem), len(other))


@cache
def _load_office_words() -> dict[str, tuple[str, ...]]:
    """Return the words of data/language/document_words.yaml as stems: those of a group lead to each other, spoken ones to office words."""
    lexicon = load_lexicon("document_words")
    found: dict[str, list[str]] = {}
    for group in lexicon.read_groups("groups"):
        for word in group:
            found.setdefault(stem_word(word), []).extend(map(stem_word, group))
    for spoken, words in lexicon.read_lists("spoken").items():
        found.setdefault(stem_word(spoken), []).extend(map(stem_word, words))
    return {stem: tuple(one for one in dict.fromkeys(words) if one != stem)[:_MOST_OFFICE_WORDS] for stem, words in found.items()}
