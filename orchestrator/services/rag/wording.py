"""What the service says to people, in their language: why a document is not read, that nothing was found. The words stand in data."""

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
    """Return the language in which somebody who wrote `text` is answered."""
    return "ru" if _CYRILLIC.search(text) or not any(sign.isalpha() for sign in text) else "en"


def say(key: str, locale: Locale) -> str:
    """Return one of the sentences of the answers."""
    return load_lexicon("documents").read_text("answers", key, locale)


def describe_problem(file: FileRecord, locale: Locale) -> str:
    """Return the sentence that says which document is not read and why, "" for a document that is read."""
    if file.problem is None:
        return ""
    words = load_lexicon("documents")
    details = {
        name: words.read_text("kinds", value, locale) if name in _KINDS else clean_title(value)
        for name, value in file.problem.details.items()
    }
    return words.read_text("problems", file.problem.code, locale).format(name=file.name, **details)


def describe_access(problem: AccessProblem, locale: Locale) -> str:
    """Return the sentence that says what is wrong with the access file."""
    details = {name: clean_title(value) for name, value in problem.details.items()}
    return load_lexicon("documents").read_text("access_problems", problem.code, locale).format(**details)
