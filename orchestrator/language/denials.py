"""Whether an answer says that something is not there, or cannot be done."""

import re
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale, fold

_WORDS: Final = load_lexicon("denials")
_NONE: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('none')})")
_UNABLE: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('unable')})")


def say_instead(locale: Locale) -> str:
    """After a refusal that stands over another number."""
    return _WORDS.read_text("instead", locale)


def says_none(text: str) -> bool:
    """«Сделки №9 нет», "I found no such deal"."""
    return _NONE.search(fold(text)) is not None


def says_unable(text: str) -> bool:
    """«Писем прочитать не могу», "comments cannot be read"."""
    return _UNABLE.search(fold(text)) is not None
