"""Reads a number that a person typed as the whole answer to a question: 25, 1 500,5, −3. Pure.

It is stricter than what reads sums out of sentences: what could be two numbers, or is written in other digits, is none. In "150.000" and
"1,500" the mark may part the thousands or begin the decimals: whoever asked has to ask again.
"""

import re
from dataclasses import dataclass
from typing import Final

_GAPS: Final = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))")
"""A space inside of a number stands before three digits; in "5 10" it stands between two numbers."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,15}(?:[.,]\d{1,15})?")
_AMBIGUOUS: Final = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
"""One to three digits, a mark and three digits; behind a zero, or more digits than a group of thousands has, only decimals stand."""


@dataclass(frozen=True, slots=True)
class AmbiguousNumber:
    """A text that may be either of two numbers, each written so that it can only be read in one way."""

    thousands: str
    decimals: str


def read_typed_number(text: str) -> int | float | AmbiguousNumber | None:
    """Return the number, an int where nothing stands behind the point; None if the text is no number."""
    plain = _GAPS.sub("", text).replace("−", "-")
    if not plain.isascii() or not _NUMBER.fullmatch(plain):
        return None
    number = shorten_number(float(plain.replace(",", ".")))
    if _AMBIGUOUS.fullmatch(plain):
        return AmbiguousNumber(thousands=plain.replace(".", "").replace(",", "").lstrip("+"), decimals=str(number))
    return number


def shorten_number(number: float) -> int | float:
    """Return a number as it is written: 5, not 5.0."""
    return int(number) if float(number).is_integer() else number
