"""Recognises a reply that says that something was changed: «Готово, поставил сумму», "I've updated the deal". Pure."""

import re
from typing import Final

from orchestrator.language.foreign_text import gives_order
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import fold

_WORDS: Final = load_lexicon("done_claims")
_START: Final = rf"(?:^|[.!?…\n]\s*)(?:(?:{_WORDS.join_patterns('before')})[,.!:—–-]?\s*)*"
_CLAIM: Final = re.compile(rf"{_START}(?:{_WORDS.join_patterns('claims')})(?!\w)", re.MULTILINE)
_RESULT: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('results')})(?!\w)")
_BARE: Final = re.compile(rf"{_START}(?:{_WORDS.join_patterns('claims')})[\s.!]*")
_DIGIT: Final = re.compile(r"[0-9]")
_QUESTION: Final = re.compile(rf"(?:{_WORDS.join_patterns('questions')})(?!\w)|.*\?\s*$", re.DOTALL)
_LONGEST: Final = 4000


def claims_change(text: str, request: str) -> bool:
    """Return whether the reply `text` says that what `request` asked for was changed.

    The answer to a question is no claim: it may tell what was changed long ago. A mere «Готово» claims something only after a request with
    an order or a number in it.
    """
    asked, said = fold(request).strip(), fold(text[:_LONGEST])
    if _QUESTION.match(asked) is not None:
        return False
    is_order = gives_order(request) or _DIGIT.search(request) is not None
    if not is_order and _BARE.fullmatch(said.strip()):
        return False
    return _CLAIM.search(said) is not None or (is_order and _RESULT.search(said) is not None)
