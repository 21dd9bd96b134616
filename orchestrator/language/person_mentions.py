"""Whether a text names somebody as the one who was spoken with. In doubt it does: the caller asks."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import normalize_text
from orchestrator.language.title_matching import extract_words, is_same_word

_WORDS: Final = load_lexicon("call_partners")
_WITH: Final = frozenset(_WORDS.read_words("with"))
_PLACES: Final = frozenset(_WORDS.read_words("places"))
_ANYBODY: Final = tuple(_WORDS.read_words("anybody"))
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_QUOTED: Final = re.compile(r"«[^«»]*»|“[^“”]*”|\"[^\"\n]*\"")
_SENTENCE_END: Final = (".", "!", "?", "\n", "…")
_SHORTEST: Final = 3


def find_named_person(texts: Iterable[str], known: Sequence[str]) -> str:
    """The first name in `texts` that is no word of `known`; "" if there is none.

    A capital within a sentence, or what stands behind «с»; titles in quotation marks are no names.
    """
    known_words = tuple(word for text in known for word in extract_words(text))
    names = (name for text in texts for name in _list_names(_QUOTED.sub(" ", text)))
    return next((name for name in names if not _is_known(normalize_text(name), known_words)), "")


def _list_names(text: str) -> Iterator[str]:
    before = ""
    for match in _WORD.finditer(text):
        word, lead = match[0], text[: match.start()].rstrip(" \t")
        is_start = not lead or lead.endswith(_SENTENCE_END)
        is_name = word[0].isupper() and word[1:].islower() and not is_start and before not in _PLACES
        if len(word) >= _SHORTEST and (is_name or (before in _WITH and not word.isupper())):  # «с ООО Вектор»
            yield word
        before = word.lower()


def _is_known(word: str, known: Sequence[str]) -> bool:
    return any(is_same_word(part, other) for part in word.split("-") for other in (*known, *_ANYBODY))
