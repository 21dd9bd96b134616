"""The text that a workflow gives: plain words with blocks `[YAE-BLOCK:id]data[/YAE-BLOCK]` between them (S003-20 … S003-25, S003-A10).

The id of a block names what draws it; what its data looks like is agreed with that. Blocks do not nest: the first closing mark ends one.
A mark that opens nothing or closes nothing is plain text, so that every text can be read.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

CLOSING: Final = "[/YAE-BLOCK]"
_ID: Final = re.compile(r"[A-Za-z0-9_.-]+")
_OPENING: Final = re.compile(rf"\[YAE-BLOCK:({_ID.pattern})\]")


class BlockUnwritable(ValueError):
    """Raised for a block that would be read as something else: its id is none, or its data holds the closing mark."""


@dataclass(frozen=True, slots=True)
class Words:
    """Plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Something that is drawn: the id of what draws it, and its data, a text."""

    id: str
    data: str


Part = Words | Block


def parse_raw_text(text: str) -> list[Part]:
    """Return the parts of a text in order; neither two texts in a row nor an empty one. `write_raw_text` makes the same text of them."""
    parts: list[Part] = []
    start = 0
    searched = 0
    while (opening := _OPENING.search(text, searched)) is not None:
        end = text.find(CLOSING, opening.end())
        if end < 0:
            break
        if opening.start() > start:
            parts.append(Words(text[start : opening.start()]))
        parts.append(Block(opening[1], text[opening.end() : end]))
        start = searched = end + len(CLOSING)
    if start < len(text):
        parts.append(Words(text[start:]))
    return parts


def write_raw_text(parts: Iterable[Part]) -> str:
    """Return the text of these parts. Raises BlockUnwritable."""
    return "".join(one.text if isinstance(one, Words) else write_block(one.id, one.data) for one in parts)


def write_block(block_id: str, data: str) -> str:
    """Return the text of one block.

    Raises BlockUnwritable if the id has other characters than Latin letters, digits, `_`, `.` and `-`, or the data holds the closing mark.
    """
    if _ID.fullmatch(block_id) is None:
        raise BlockUnwritable(f"{block_id[:60]!r} is no id of a block: Latin letters, digits, _, . and - are allowed")
    if CLOSING in data:
        raise BlockUnwritable(f"the data of the block {block_id} holds {CLOSING}, which would end it")
    return f"[YAE-BLOCK:{block_id}]{data}{CLOSING}"
