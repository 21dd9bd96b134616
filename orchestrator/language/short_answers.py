"""Tells whether a short message only answers the bot's question about an order: «во вторую», «410», «да», «завтра в 10». Pure.

Such an answer carries the order on. Whatever else the person says, a word of doubt or another wish, does not: then a card asks.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold

LONGEST: Final = 100
_SHORTEST_NAME: Final = 3
_ENDING: Final = 2
"""How many of the last letters of a name change with its case."""
_POSITIONS: Final = load_lexicon("positions")
_ORDINALS: Final = "|".join(pattern for language in ("ru", "en") for pattern in _POSITIONS.read_table("ordinals", language).values())
_WORDS: Final = load_lexicon("short_answers")
_CLOSING: Final = re.compile(_WORDS.join_patterns("closing"))
_POINTING: Final = re.compile(rf"{_WORDS.join_patterns('pointing')}|{_ORDINALS}|[#№]?[0-9][0-9.:,/-]*(?:st|nd|rd|th|-?\w{{1,2}})?")
_WORD: Final = re.compile(r"[#№]?\w(?:[\w.:,/-]*\w)?")
_HARMLESS_SIGNS: Final = frozenset({"№", *_WORDS.read_words("agreeing")})


def is_pointing(text: str, question: str, titles: Iterable[str] = ()) -> bool:
    """Return whether `text` says nothing but which, when or yes.

    It may say so in words of the bot's `question` and of the `titles` of records that it showed, but for verbs and refusals.
    """
    said = fold(text)
    if len(said) > LONGEST or "?" in said or any(unicodedata.category(sign) == "So" and sign not in _HARMLESS_SIGNS for sign in said):
        return False
    asked = {word for text in (question, *titles) for word in _WORD.findall(fold(text)) if len(word) >= _SHORTEST_NAME}
    names = {word for word in asked if not _CLOSING.fullmatch(word)}
    words = _WORD.findall(said)
    return bool(words) and all(_POINTING.fullmatch(word) or _is_name(word, names) for word in words)


def _is_name(word: str, names: set[str]) -> bool:
    stem = word[: max(_SHORTEST_NAME, len(word) - _ENDING)]
    return len(word) >= _SHORTEST_NAME and any(name.startswith(stem) and abs(len(name) - len(word)) <= _ENDING for name in names)
