"""Text helpers: lower case, language, quotes and placeholders."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Lang = Literal["ru", "en"]

HOLE = "\x00"
QUOTED = re.compile(r"«([^«»\n]+)»|\"([^\"\n]+)\"|“([^“”\n]+)”|„([^„“”\n]+)[“”]|(?<!\w)'([^'\n]+)'(?!\w)")
ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text: the offsets at which it starts and ends in the text, and its words, possibly in another form than written."""

    start: int
    end: int
    text: str


def fold(text: str) -> str:
    """Return the text in lower case, with ё as е and unusual spaces as spaces; the length never changes, so offsets stay valid."""
    return "".join(_fold_char(char) for char in text)


def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    lowered = char.lower()
    return "е" if lowered == "ё" else lowered if len(lowered) == 1 else char


def language_of(text: str) -> Lang:
    """Return the language of a text, by the number of its words in Latin and Cyrillic letters. A tie is Russian.

    Quoted text and web addresses do not count, and capitalized words count half.
    """
    score = {"ru": 0, "en": 0}
    for index, match in enumerate(re.finditer(r"[a-z]+|[а-яё]+", ADDRESS.sub(" ", QUOTED.sub(" ", text)), re.IGNORECASE)):
        script: Lang = "en" if match[0].isascii() else "ru"
        score[script] += 1 if index and match[0][0].isupper() else 2
    return "en" if score["en"] > score["ru"] else "ru"


def quotes(text: str) -> tuple[Span, ...]:
    """Return everything in quotes, in order; the span includes the quotes, its text does not."""
    found = []
    for match in QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None)
        found.append(Span(match.start(), match.end(), inner.strip()))
    return tuple(found)


def mask(text: str, spans: Iterable[Span | None]) -> str:
    """Return the text with each character in the given spans replaced by a placeholder. The length stays; None in `spans` is ignored."""
    for span in spans:
        if span is not None:
            text = text[: span.start] + HOLE * (span.end - span.start) + text[span.end :]
    return text


def capitalised(text: str) -> str:
    """Return the text with a capital first letter, the rest unchanged."""
    return text[:1].upper() + text[1:]


def squeeze(text: str) -> str:
    """Return the text without placeholders, repeated spaces, and punctuation at both ends."""
    return re.sub(r"\s+", " ", text.replace(HOLE, " ")).strip(" \t\n.,;:!?-—–→>")
