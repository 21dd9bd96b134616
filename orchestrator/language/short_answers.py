"""Whether a short message only answers the bot's question about an order: «во вторую», «да», «завтра в 10»."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold

LONGEST: Final = 100
_SHORTEST_NAME: Final = 3
_ENDING: Final = 2
_POSITIONS: Final = load_lexicon("positions")
_ORDINALS: Final = "|".join(pattern for language in ("ru", "en") for pattern in _POSITIONS.read_table("ordinals", language).values())
_WORDS: Final = load_lexicon("short_answers")
_CLOSING: Final = re.compile(_WORDS.join_patterns("closing"))
_POINTING: Final = re.compile(rf"{_WORDS.join_patterns('pointing')}|{_ORDINALS}|[#№]?[0-9][0-9.:,/-]*(?:st|nd|rd|th|-?\w{{1,2}})?")
_WORD: Final = re.compile(r"[#№]?\w(?:[\w.:,/-]*\w)?")
_HARMLESS_SIGNS: Final = frozenset({"№", *_WORDS.read_words("agreeing")})


def is_pointing(text: str, question: str, titles: Iterable[str] = ()) -> bool:
    """It may use words of the `question` and of the `titles` shown, but for verbs and refusals."""
    folded = fold(text)
    if len(folded) > LONGEST or "?" in folded or any(unicodedata.category(sign) == "So" and sign not in _HARMLESS_SIGNS for sign in folded):
        return False
    known_words = {word for text in (question, *titles) for word in _WORD.findall(fold(text)) if len(word) >= _SHORTEST_NAME}
    names = {word for word in known_words if not _CLOSING.fullmatch(word)}
    words = _WORD.findall(folded)
    return bool(words) and all(_POINTING.fullmatch(word) or _is_name(word, names) for word in words)


def _is_name(word: str, names: set[str]) -> bool:
    stem = word[: max(_SHORTEST_NAME, len(word) - _ENDING)]
    return len(word) >= _SHORTEST_NAME and any(name.startswith(stem) and abs(len(name) - len(word)) <= _ENDING for name in names)
