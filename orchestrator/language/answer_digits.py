"""Drops sentences with numbers that code did not give."""

import re
from collections.abc import Iterable
from typing import Final

_SENTENCE: Final = re.compile(r"(?<=[.!?…])\s+|\n+")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")


def keep_known_numbers(text: str, sources: Iterable[str], *, most: int | None = None) -> str:
    """The sentences of `text` whose numbers all stand in `sources`, at most `most` of them."""
    known = {number for source in sources for number in _NUMBER.findall(source)}
    kept = [sentence for sentence in _SENTENCE.split(text.strip()) if sentence and known.issuperset(_NUMBER.findall(sentence))]
    return " ".join(kept[:most])
