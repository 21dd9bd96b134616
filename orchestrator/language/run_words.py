"""Recognizes answers to a question of a run that are none: words with which a person leaves the run, or goes back. Pure.

Only a message that says nothing else counts: «отмени, пожалуйста» does, «отмена заказа» is an answer.
"""

import re
from collections.abc import Iterable
from typing import Final, Literal

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.request_words import asks_the_bot, is_quoted
from orchestrator.language.text import fold

RunWords = Literal["leave", "back", "request"]
"""What a text may be instead of an answer: the wish to end the run, to go a question back, or a new request."""
_LONGEST: Final = 60
_WORD: Final = re.compile(r"\w+")
_WORDS: Final = load_lexicon("answers")
_LEAVE, _BACK, _BESIDE = (f"(?:{_WORDS.join_patterns('run', name)})" for name in ("leave", "back", "beside"))
_LEAVES: Final = re.compile(rf"(?:{_BESIDE} )*{_LEAVE}(?: (?:{_BESIDE}|{_LEAVE}))*")
_GOES_BACK: Final = re.compile(rf"(?:{_BESIDE} )*{_BACK}(?: {_BESIDE})*")


def read_run_words(text: str) -> RunWords | None:
    """Return what a text typed in answer to a question may be instead, None if it is an answer; in quotation marks it is one."""
    said = normalize_words(text)
    if not is_quoted(text) and len(said) <= _LONGEST:
        if _LEAVES.fullmatch(said):
            return "leave"
        if _GOES_BACK.fullmatch(said):
            return "back"
    return "request" if asks_the_bot(text) else None


def read_other_words(text: str, own: Iterable[str]) -> RunWords | None:
    """Return what a text is instead of an answer; None also for words of which the author of the question says what they mean (`own`)."""
    meant = read_run_words(text)
    return meant if meant is not None and normalize_words(text) not in map(normalize_words, own) else None


def normalize_words(text: str) -> str:
    """Return the words of a text with single spaces between them, in small letters and without signs: «✖ Отменить» is «отменить»."""
    return " ".join(_WORD.findall(fold(text[: 4 * _LONGEST])))
