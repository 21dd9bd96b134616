"""Small words about words: folding case, telling Russian from English, quotes, masks. Knows no rule and no method."""

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
    """A piece of a text and where it stands."""

    start: int
    end: int
    text: str


def fold(text: str) -> str:
    """Lower case, ё as е, odd spaces as spaces; the length never changes, so positions stay true."""
    return "".join(_fold_char(char) for char in text)


def _fold_char(char: str) -> str:
    if char.isspace():
        return " "
    lowered = char.lower()
    return "е" if lowered == "ё" else lowered if len(lowered) == 1 else char


def language_of(text: str) -> Lang:
    """The language of most plain words: names in quotes and addresses do not count, capitalised ones count less; Russian when even."""
    score = {"ru": 0, "en": 0}
    for index, match in enumerate(re.finditer(r"[a-z]+|[а-яё]+", ADDRESS.sub(" ", QUOTED.sub(" ", text)), re.IGNORECASE)):
        script: Lang = "en" if match[0].isascii() else "ru"
        score[script] += 1 if index and match[0][0].isupper() else 2
    return "en" if score["en"] > score["ru"] else "ru"


def quotes(text: str) -> tuple[Span, ...]:
    """Everything that stands in quotes, in order; the span covers the quotes, the text does not."""
    found = []
    for match in QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None)
        found.append(Span(match.start(), match.end(), inner.strip()))
    return tuple(found)


def mask(text: str, spans: Iterable[Span | None]) -> str:
    """The text with the given spans punched out; its length stays."""
    for span in spans:
        if span is not None:
            text = text[: span.start] + HOLE * (span.end - span.start) + text[span.end :]
    return text


def capitalised(text: str) -> str:
    """The text with a capital first letter, the rest untouched."""
    return text[:1].upper() + text[1:]


def squeeze(text: str) -> str:
    """The text without holes, doubled spaces and loose punctuation at its ends."""
    return re.sub(r"\s+", " ", text.replace(HOLE, " ")).strip(" \t\n.,;:!?-—–→>")
