"""Spans as Telegram text and entities; offsets and lengths in UTF-16 units. Ring 3, pure."""

import re

from aiogram.types import MessageEntity

from bot.rendering.spans import Spans
from bot.telegram.splitting import count_units

_ENTITY_TYPES = {"quote": "expandable_blockquote", "strike": "strikethrough"}
_DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that turn around what stands behind them: of a name they would turn the sum beside it too. On cards they are named before."""


def render_entities(text: Spans) -> tuple[str, list[MessageEntity]]:
    """The plain text and its entities: what stands in the text can never be read as formatting."""
    words: list[str] = []
    entities: list[MessageEntity] = []
    offset = 0
    for span in text:
        shown = _DIRECTION_MARKS.sub("", span.text)
        length = count_units(shown)
        if not shown:
            continue
        if span.style:
            entities.append(MessageEntity(type=_ENTITY_TYPES.get(span.style, span.style), offset=offset, length=length))
        if span.url:
            entities.append(MessageEntity(type="text_link", offset=offset, length=length, url=span.url))
        words.append(shown)
        offset += length
    return "".join(words), entities
