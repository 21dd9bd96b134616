"""Whether two words may be forms of one; both folded."""

from itertools import takewhile
from typing import Final

_SHORTEST_STEM: Final = 4
_ENDING: Final = 3
"""Letters in which two forms of one word may differ."""
_SHORT_ENDING: Final = 2
"""The same of a short word, whose forms have one length: «дату» is «дата», and «Вера» not «верно»."""


def is_same_word(word: str, other: str) -> bool:
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))
    longest = max(len(word), len(other))
    if common >= _SHORTEST_STEM:
        return longest - common <= _ENDING
    return common == _SHORTEST_STEM - 1 and len(word) == len(other) and longest - common <= _SHORT_ENDING
