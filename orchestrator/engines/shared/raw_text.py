"""The text of a workflow: words with blocks `[YAE-BLOCK:id]data[/YAE-BLOCK]` (S003-20 … S003-25, S003-A10).

Blocks do not nest; stray marks are plain text.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

CLOSING: Final = "[/YAE-BLOCK]"
_ID: Final = re.compile(r"[A-Za-z0-9_.-]+")
_OPENING: Final = re.compile(rf"\[YAE-BLOCK:({_ID.pattern})\]")


class BlockUnwritable(ValueError):
    """It would be read as something else."""


@dataclass(frozen=True, slots=True)
class Words:
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    id: str
    data: str


Part = Words | Block


def parse_raw_text(text: str) -> list[Part]:
    """Neither two texts in a row nor an empty one; `write_raw_text` inverts it."""
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
    return "".join(one.text if isinstance(one, Words) else write_block(one.id, one.data) for one in parts)


def write_block(block_id: str, data: str) -> str:
    """Raises BlockUnwritable for a bad id and data with the closing mark."""
    if _ID.fullmatch(block_id) is None:
        raise BlockUnwritable(f"{block_id[:60]!r} is no id of a block: Latin letters, digits, _, . and - are allowed")
    if CLOSING in data:
        raise BlockUnwritable(f"the data of the block {block_id} holds {CLOSING}, which would end it")
    return f"[YAE-BLOCK:{block_id}]{data}{CLOSING}"
