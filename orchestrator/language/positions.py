"""Which rows of a list a message names: «третью», «первые две», «её». It only confirms a row that the model proposes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.number_words import VALUES
from orchestrator.language.text import normalize_text

_WORDS: Final = load_lexicon("positions")
_Kind = Literal["position", "count", "first", "last", "before_last", "all", "pair", "single", "range", "other"]
_FIRST, _TEN, _PAIR = 1, 10, 2
_ENDINGS: Final = _WORDS.join_patterns("digit_endings")
_NUMBER: Final = re.compile(rf"#? ?([0-9]{{1,3}})(?:{_ENDINGS})?")
_TOKEN: Final = re.compile(
    # a number of a row: no part of a larger number, of a time or of a sum, and no number of days
    rf"(?<![\w.,:+])#? ?[0-9]{{1,3}}(?:{_ENDINGS})?(?![\w:]|[.,][0-9]| [0-9]{{3}}(?![0-9])| ?(?:{_WORDS.join_patterns('units')})(?!\w))"
    r"|[0-9]+(?:st|nd|rd|th)(?!\w)|[^\W\d_]+|[-–—]"
)
_ORDINALS: Final = tuple(
    (int(number), re.compile(pattern)) for language in ("ru", "en") for number, pattern in _WORDS.read_table("ordinals", language).items()
)
_KINDS: Final[tuple[tuple[_Kind, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(_WORDS.join_patterns(kind))) for kind in ("before_last", "last", "all", "pair", "single", "range")
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    value: int = 0


def names_row(text: str, position: int, *, rows: int, is_known: bool) -> bool:
    """`position` counts from 1. `is_known`: the person spoke of that record before, so «её» may mean it."""
    tokens = list(_read_tokens(normalize_text(text)))
    kinds = {token.kind for token in tokens}
    if "all" in kinds or ("pair" in kinds and rows == _PAIR):
        return True
    if "single" in kinds and (rows == 1 or is_known):
        return True
    return position in _list_positions(tokens, rows)


def _list_positions(tokens: Sequence[_Token], rows: int) -> set[int]:
    positions: set[int] = set()
    for place, token in enumerate(tokens):
        before = tokens[place - 1] if place else _NOTHING
        after = tokens[place + 1] if place + 1 < len(tokens) else _NOTHING
        count = next((one.value for one in (after, before) if one.kind == "count"), 0)
        match token.kind:
            case "position" if token.value == _FIRST and count:
                positions |= set(range(1, count + 1))
            case "position":
                positions.add(token.value)
                end = tokens[place + 2] if place + 2 < len(tokens) else _NOTHING
                if after.kind == "range" and end.kind == "position" and token.value < end.value <= rows:
                    positions |= set(range(token.value, end.value + 1))
            case "last":
                positions |= set(range(rows - (count or 1) + 1, rows + 1))
            case "before_last":
                positions.add(rows - 1)
    return positions


_NOTHING: Final = _Token("other")


def _read_tokens(text: str) -> Iterator[_Token]:
    words = _TOKEN.findall(text)
    for word, before in zip(words, ("", *words), strict=False):
        ordinal = next((number for number, pattern in _ORDINALS if pattern.fullmatch(word)), 0)
        if ordinal:
            tens = VALUES.get(before, 0) if ordinal < _TEN else 0  # «двадцать пятая»
            yield _Token("position", ordinal + (tens if tens > _TEN and tens % _TEN == 0 else 0))
        elif number := _NUMBER.fullmatch(word):
            yield _Token("position", int(number[1]))
        elif word in VALUES:
            yield _Token("count", VALUES[word])
        else:
            yield _Token(next((kind for kind, pattern in _KINDS if pattern.fullmatch(word)), "other"))
