"""Finds plans that the model puts off in its own words («потом выполню»), though steps under ACTION run at once. The answer is rejected.

The model is then asked to write either the steps or the promise. Both readings are possible, and a write cannot be taken back.
"""

import re
from collections.abc import Sequence
from typing import Final

from orchestrator.engines.crm_agent.grammar import build_format_error
from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("plan_words")
_DENIES: Final = re.compile(rf"(?i)\b(?:{_WORDS.join_patterns('denying')})\b|n['’]t\b")
"""Prose beside an array that may mean the opposite of "run this", or that somebody else said it."""
_LATER: Final = re.compile(rf"(?i)\b(?:{_WORDS.join_patterns('later')})\b")
_POSTPONES: Final = re.compile(rf"(?i)\b(?:{_WORDS.join_patterns('postponing')})")
_READING: Final = frozenset(_WORDS.read_words("reading_methods"))
_QUOTED: Final = re.compile(r"«[^«»]*»|“[^“”]*”|\"[^\"\n]*\"|^>.*$", re.MULTILINE)


def is_denied(prose: str) -> bool:
    """Return whether words beside the array of steps, as prose or a comment, may mean that the steps are not to be run now."""
    return _DENIES.search(prose) is not None


def is_comment_denying(comment: str) -> bool:
    """Return whether a comment beside the steps may mean that they are not to be run, or not now."""
    return is_denied(comment) or _LATER.search(comment) is not None


def is_only_reading(methods: Sequence[str]) -> bool:
    """Return whether the methods only read, judged by their names; such steps may rightly stand beside a promise of what follows."""
    return all(method.rpartition(".")[2].lower() in _READING for method in methods)


def refuse_postponed_array(text: str, start: int, stop: int) -> None:
    """Raise ModelClientError if the words before the array of steps, `text[start:stop]`, put the steps off."""
    found = _LATER.search(text, start, stop)
    if found is not None:
        cure = "Write the array alone if it is to be run now, or [] if it is not."
        raise build_format_error(text, found.start(), f"it is not clear whether {found[0]!r} means that the steps are to be run", cure)


def refuse_postponed_plan(text: str, start: int, stop: int) -> None:
    """Raise ModelClientError if the text for the person, `text[start:stop]`, puts off the steps of the same answer.

    What the text quotes is not the model's own promise.
    """
    said = _QUOTED.sub(lambda found: " " * len(found[0]), text[start:stop])
    found = _POSTPONES.search(said)
    if found is not None:
        cure = "Steps under ACTION: run at once: write [] if they are to wait, or leave out that they wait."
        raise build_format_error(text, start + found.start(), f"ASSISTANT: puts the steps off ({found[0][:40]!r})", cure)
