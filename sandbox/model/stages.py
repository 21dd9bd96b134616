"""Finds the deal stage that a message names: after «на стадию …», in quotes, or by a known word for a stage."""

import re
from collections.abc import Mapping
from functools import cache

from sandbox.model.lexicon import load
from sandbox.model.text import Span, capitalised, fold, quotes

_WORD = r"(?:стади\w+|этап\w{0,2}|статус\w{0,2}|stage|status)"
_AFTER = re.compile(
    rf"(?:(?:на|в|во|с|to|into|at|in|on|is|is now)\s)?(?:the\s)?{_WORD}\s?(?:сделк\w+\s)?(?:на|в|to|is|:|=|—|→)?\s?(?=[«\"“„\w])"
)
_BEFORE_EN = re.compile(r"(?:to|into|at|in|on)\s(?:the\s)?(?P<name>[\w ]{2,30}?)\sstage(?!\w)")
_PLACE = re.compile(r"(?<!\w)(?:в|во|на|к|как|to|into|in|as|at|→|->|:)\s(?:the\s)?$")
_NOT_A_NAME = re.compile(r"(?:на|в|к|to|into|the|сделк\w+|deal|у|of|for|для|по|следующ\w+|next)(?!\w)")


@cache
def _known() -> Mapping[str, re.Pattern[str]]:
    return {name: re.compile(rf"(?<!\w)(?:{pattern})(?!\w)") for name, pattern in load("words")["stages"].items()}


def stage_named(text: str) -> Span | None:
    """Return the stage that a text names; the span includes the words before it, such as «на стадию». Return None if there is none."""
    return _after_word(text) or _before_word(text) or _quoted(text) or _by_known_word(text)


def _after_word(text: str) -> Span | None:
    folded = fold(text)
    for match in _AFTER.finditer(folded):
        inside = next((q for q in quotes(text) if q.start == match.end()), None)
        if inside:
            return Span(match.start(), inside.end, canonical(inside.text))
        rest = folded[match.end() :]
        for name, pattern in _known().items():
            # «стадию Ромашки на Договор»: the record may stand between the word and its value.
            found = pattern.match(rest)
            if found:
                return Span(match.start(), match.end() + found.end(), name)
        if not _NOT_A_NAME.match(rest) and (word := re.match(r"[\w-]+", rest)) and not _continues(rest[word.end() :]):
            end = match.end() + word.end()
            return Span(match.start(), end, capitalised(text[match.end() : end]))
    return None


def _continues(rest: str) -> bool:
    """Return whether the name of the stage comes later in `rest`: in «стадию Ромашки на Договор» the word after «стадию» names a deal."""
    return bool(re.match(r".*(?<!\w)(?:на|в|во|to|into|is|→|->|=|:)\s\S", rest))


def _before_word(text: str) -> Span | None:
    match = _BEFORE_EN.search(fold(text))
    if match is None:
        return None
    return Span(match.start(), match.end(), canonical(text[match.start("name") : match.end("name")].strip(" \"'")))


def _quoted(text: str) -> Span | None:
    folded = fold(text)
    for quote in quotes(text):
        before = folded[: quote.start]
        place = _PLACE.search(before)
        if place and not re.search(r"(?:сделк\w*|deal)\s(?:в|на|to)\s$", before):
            return Span(place.start(), quote.end, canonical(quote.text))
    return None


def _by_known_word(text: str) -> Span | None:
    folded = fold(text)
    for name, pattern in _known().items():
        for match in pattern.finditer(folded):
            place = _PLACE.search(folded[: match.start()])
            if place:
                return Span(place.start(), match.end(), name)
    return None


def canonical(words: str) -> str:
    """Return a stage name in the form in which the portal probably has it. An unknown name only gets a capital letter."""
    folded = re.sub(r"^(?:в|in)\s", "", fold(words))
    return next((name for name, pattern in _known().items() if pattern.fullmatch(folded)), capitalised(words))


def won_or_lost(text: str) -> Span | None:
    """Return the final stage that a verb or an adverb implies: won for «выиграли Ромашку», lost for «закрой как проигранную»; else None."""
    for name in ("Сделка успешна", "Сделка провалена"):
        match = _known()[name].search(fold(text))
        if match:
            return Span(match.start(), match.end(), name)
    return None
