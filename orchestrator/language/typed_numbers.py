"""Reads a number that a person typed as the whole answer to a question: 25, 1 500,5, −3. Pure.

It is stricter than what reads sums out of sentences: what could be two numbers, or is written in other digits, is none.
"""

import re
from typing import Final

_GAPS: Final = re.compile(r"(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d))")
"""A space inside of a number stands before three digits; in "5 10" it stands between two numbers."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,15}(?:[.,]\d{1,15})?")


def read_typed_number(text: str) -> int | float | None:
    """Return the number, an int where nothing stands behind the point; None if the text is no number."""
    plain = _GAPS.sub("", text).replace("−", "-")
    if not plain.isascii() or not _NUMBER.fullmatch(plain):
        return None
    return shorten_number(float(plain.replace(",", ".")))


def shorten_number(number: float) -> int | float:
    """Return a number as it is written: 5, not 5.0."""
    return int(number) if float(number).is_integer() else number
