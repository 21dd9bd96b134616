"""Rejects answers that put plans off in words («потом выполню») though steps run at once."""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.engines.crm_agent.grammar import build_format_error
from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("plan_words")
_DENIES: Final = re.compile(rf"(?i)\b(?:{_WORDS.join_patterns('denying')})\b|n['’]t\b")
_LATER: Final = re.compile(rf"(?i)\b(?:{_WORDS.join_patterns('later')})\b")
_POSTPONES: Final = re.compile(rf"(?i)\b(?:{_WORDS.join_patterns('postponing')})")
_READING: Final = frozenset(_WORDS.read_words("reading_methods"))
_QUOTED: Final = re.compile(r"«[^«»]*»|“[^“”]*”|\"[^\"\n]*\"|^>.*$", re.MULTILINE)


def is_denied(prose: str) -> bool:
    return _DENIES.search(prose) is not None


def is_comment_denying(comment: str) -> bool:
    return is_denied(comment) or _LATER.search(comment) is not None


def is_only_reading(methods: Sequence[str]) -> bool:
    """By their names; reading steps may stand beside a promise."""
    return all(method.rpartition(".")[2].lower() in _READING for method in methods)


def refuse_postponed_array(text: str, start: int, stop: int) -> None:
    """Raise ModelClientError if words before the array put it off."""
    match = _LATER.search(text, start, stop)
    if match is not None:
        cure = "Write the array alone if it is to be run now, or [] if it is not."
        raise build_format_error(text, match.start(), f"it is not clear whether {match[0]!r} means that the steps are to be run", cure)


def refuse_postponed_plan(text: str, start: int, stop: int) -> None:
    """Raise ModelClientError if unquoted text for the person puts the steps off."""
    own_words = _QUOTED.sub(lambda match: " " * len(match[0]), text[start:stop])
    match = _POSTPONES.search(own_words)
    if match is not None:
        cure = "Steps under ACTION: run at once: write [] if they are to wait, or leave out that they wait."
        raise build_format_error(text, start + match.start(), f"ASSISTANT: puts the steps off ({match[0][:40]!r})", cure)
