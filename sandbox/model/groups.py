"""Finds the words by which a person wants a list counted, such as «по менеджерам» or "by stage"."""

import re
from dataclasses import dataclass
from functools import cache

from sandbox.model.lexicon import load
from sandbox.model.text import fold


@dataclass(frozen=True, slots=True)
class Grouping:
    """A wish to have a list counted: the field, the words for it, and the message without these words."""

    by: str
    words: str
    rest: str

    @property
    def stands_alone(self) -> bool:
        """Whether the message says nothing besides: «а по стадиям?» is about the list that was spoken of before."""
        return bool(re.match(load("groups")["alone"], fold(self.rest)))


def find_grouping(text: str) -> Grouping | None:
    """Return the grouping that a message asks for, or None if it asks for none."""
    found = _phrase().search(fold(text))
    if found is None:
        return None
    rest = f"{text[: found.start()].rstrip()}{text[found.end() :]}"
    # of «по стадиям и менеджерам» the first: a list is counted by one field
    fields = ((re.search(rf"(?<!\w)(?:{words})(?!\w)", found[0]), by) for by, words in load("groups")["by"].items())
    end, by = min((field.end(), by) for field, by in fields if field is not None)
    return Grouping(by, text[found.start() : found.start() + end].strip(), rest)


@cache
def _phrase() -> re.Pattern[str]:
    book = load("groups")
    words = "|".join((book["by"]["CLOSEDATE:month"], *(words for by, words in book["by"].items() if by != "CLOSEDATE:month")))
    return re.compile(book["phrase"].format(words=words))
