"""Sentences of the service; the words stand in data."""

import re
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.text import Locale
from orchestrator.services.rag.access import AccessProblem
from orchestrator.services.rag.document import clean_title
from orchestrator.services.rag.index.port import FileRecord

_CYRILLIC: Final = re.compile("[\u0400-\u04ff]")
_KINDS: Final = frozenset({"expected", "found"})


def find_locale(text: str) -> Locale:
    """For an answer to `text`."""
    return "ru" if _CYRILLIC.search(text) or not any(sign.isalpha() for sign in text) else "en"


def say(key: str, locale: Locale) -> str:
    return load_lexicon("documents").read_text("answers", key, locale)


def describe_problem(file: FileRecord, locale: Locale) -> str:
    """Empty for a document that is read."""
    if file.problem is None:
        return ""
    words = load_lexicon("documents")
    details = {
        name: words.read_text("kinds", value, locale) if name in _KINDS else clean_title(value)
        for name, value in file.problem.details.items()
    }
    return words.read_text("problems", file.problem.code, locale).format(name=file.name, **details)


def describe_access(problem: AccessProblem, locale: Locale) -> str:
    details = {name: clean_title(value) for name, value in problem.details.items()}
    return load_lexicon("documents").read_text("access_problems", problem.code, locale).format(**details)
