"""Words with which a person leaves a run or goes back; only a message that says nothing else counts."""

import re
from collections.abc import Iterable
from typing import Final, Literal

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.request_words import asks_the_bot, is_quoted
from orchestrator.language.text import fold

RunWords = Literal["leave", "back", "request"]
"""End the run, go a question back, or a new request."""
_LONGEST: Final = 60
_WORD: Final = re.compile(r"\w+")
_WORDS: Final = load_lexicon("answers")
_LEAVE, _BACK, _BESIDE = (f"(?:{_WORDS.join_patterns('run', name)})" for name in ("leave", "back", "beside"))
_LEAVES: Final = re.compile(rf"(?:{_BESIDE} )*{_LEAVE}(?: (?:{_BESIDE}|{_LEAVE}))*")
_GOES_BACK: Final = re.compile(rf"(?:{_BESIDE} )*{_BACK}(?: {_BESIDE})*")


def read_run_words(text: str) -> RunWords | None:
    """None if the text is an answer, as all in quotation marks is."""
    words = normalize_words(text)
    if not is_quoted(text) and len(words) <= _LONGEST:
        if _LEAVES.fullmatch(words):
            return "leave"
        if _GOES_BACK.fullmatch(words):
            return "back"
    return "request" if asks_the_bot(text) else None


def read_other_words(text: str, own: Iterable[str]) -> RunWords | None:
    """None also for words to which the question's author gives a meaning (`own`)."""
    meant = read_run_words(text)
    return meant if meant is not None and normalize_words(text) not in map(normalize_words, own) else None


def normalize_words(text: str) -> str:
    """«✖ Отменить» is «отменить»."""
    return " ".join(_WORD.findall(fold(text[: 4 * _LONGEST])))
