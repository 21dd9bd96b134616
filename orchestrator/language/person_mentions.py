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


def is_of_namesakes(name: str, last_name: str, text: str) -> bool:
    """Each time that `name` stands in the text, another last name follows it: «Кирилл Седов» is not Кирилл Дроздов."""
    ends = [word.end() for word in _WORD.finditer(text) if is_same_word(normalize_text(word[0]), normalize_text(name))]
    return bool(ends) and all(_begins_with_other_name(text[end:], last_name) for end in ends)


def _begins_with_other_name(rest: str, last_name: str) -> bool:
    word = _WORD.match(rest, 1) if rest.startswith(" ") else None
    is_name = word is not None and word[0][0].isupper() and word[0][1:].islower()
    return word is not None and is_name and not is_same_word(normalize_text(word[0]), normalize_text(last_name))


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
