"""Converts spans (pieces of text with styles) to text with Telegram's entities, and splits long texts into several messages. Pure.

An entity formats a part of a text, whose offset and length Telegram counts in UTF-16 units. Texts are split between paragraphs and between
entities if possible.
"""

import re
import unicodedata
from dataclasses import replace

from aiogram.types import MessageEntity

from bot.rendering.defang_links import disarm_spans
from bot.rendering.spans import Spans, build_spans
from orchestrator.domain.card_view import count_units

LIMIT = 4096
_MIN_PIECE = 1024
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINER, _LONGEST_SIGN = "\u200d", 32
_TONES, _FLAGS = range(0x1F3FB, 0x1F400), range(0x1F1E6, 0x1F200)


def is_blank(text: str) -> bool:
    """Return whether the text has no visible character, only spaces and zero-width characters. Telegram refuses it as empty."""
    return all(mark.isspace() or mark in _BLANK_LETTERS or unicodedata.category(mark) in _UNSEEN for mark in text)


def trim_text(text: str, limit: int) -> str:
    """Return `text` cut to at most `limit` UTF-16 units; a text that was cut ends with "…"."""
    if count_units(text) <= limit:
        return text
    return text.encode("utf-16-le")[: (limit - 1) * 2].decode("utf-16-le", "ignore") + "…"


def split_entities(text: str, entities: list[MessageEntity], *, limit: int = LIMIT) -> list[tuple[str, list[MessageEntity]]]:
    """Return the text in parts of at most `limit` UTF-16 units, each with its entities. A surrogate pair is never divided.

    An entity that crosses the end of a part is moved to the next part as a whole, if it fits there. A longer one is divided and continues
    in the next part.
    """
    if count_units(text) <= limit:
        return [(text, entities)]
    raw = text.encode("utf-16-le")
    pieces: list[tuple[str, list[MessageEntity]]] = []
    start, total = 0, len(raw) // 2
    while start < total or not pieces:
        end = total if total - start <= limit else _move_before_entities(raw, entities, start, _find_border(raw, start, limit), limit)
        pieces.append((raw[start * 2 : end * 2].decode("utf-16-le"), _select_entities(entities, start, end)))
        start = end
    return pieces


def _move_before_entities(raw: bytes, entities: list[MessageEntity], start: int, end: int, limit: int) -> int:
    """Return where to cut the text: at `end` or, if that would divide entities, before the first of them.

    Only entities of at most `limit` units, which fit into one part, are considered. The cut stays at `end` if the part, which begins at
    `start`, would become tiny. `raw` is the text in UTF-16, and all positions are in UTF-16 units.
    """
    across = [item for item in entities if item.offset < end < item.offset + item.length and item.length <= limit]
    before = min((item.offset for item in across), default=end)
    return before if before - start >= _MIN_PIECE and not _is_inside_surrogate(raw, before) else end


def _find_border(raw: bytes, start: int, limit: int) -> int:
    """Return where to end the part that begins at `start`; `raw` is the text in UTF-16, and positions are in UTF-16 units.

    The part ends after the last paragraph, line or word within `limit`, or at the limit if there is none. A visible character is never
    divided.
    """
    window = raw[start * 2 : (start + limit) * 2]
    for mark in ("\n\n", "\n", " "):
        place = _find_last(window, mark.encode("utf-16-le"))
        if place >= _MIN_PIECE:
            return start + place + len(mark)
    end = start + limit
    return _keep_signs_whole(raw, start, end - 1 if _is_inside_surrogate(raw, end) else end)


def _keep_signs_whole(raw: bytes, start: int, end: int) -> int:
    """Return the end of the part from `start`: `end`, or an earlier place if `end` would divide one visible character.

    Such characters are flags, family emojis or accented letters. `raw` is the text in UTF-16, and positions are in UTF-16 units.
    """
    window = raw[start * 2 : end * 2].decode("utf-16-le")
    after = raw[end * 2 : (end + 2) * 2].decode("utf-16-le", "ignore")[:1]
    kept = len(window)
    while after and kept > len(window) - _LONGEST_SIGN and _is_joined(window[:kept], after):
        kept, after = kept - 1, window[kept - 1]
    return start + count_units(window[:kept]) if kept > 0 and not _is_joined(window[:kept], after) else end


def _is_joined(before: str, mark: str) -> bool:
    """Return whether the character `mark` and the end of `before`, the text in front of it, are displayed as one character."""
    if not before:
        return False
    if mark == _JOINER or before[-1] == _JOINER or unicodedata.combining(mark) or unicodedata.category(mark) in {"Mn", "Me"}:
        return True
    flags = len(before) - len(before.rstrip("".join(map(chr, _FLAGS))))
    return ord(mark) in _TONES or (ord(mark) in _FLAGS and flags % 2 == 1)


def _is_inside_surrogate(raw: bytes, place: int) -> bool:
    """Return whether a cut after `place` UTF-16 units of the text `raw` would divide a surrogate pair (a character of two units)."""
    return 0xD800 <= int.from_bytes(raw[(place - 1) * 2 : place * 2], "little") <= 0xDBFF  # noqa: PLR2004 - the range of first halves


def _find_last(window: bytes, mark: bytes) -> int:
    place = window.rfind(mark)
    while place > 0 and place % 2:  # a match across two code units is none
        place = window.rfind(mark, 0, place + len(mark) - 1)
    return place // 2


def _select_entities(entities: list[MessageEntity], start: int, end: int) -> list[MessageEntity]:
    kept = []
    for entity in entities:
        first, last = max(entity.offset, start), min(entity.offset + entity.length, end)
        if first < last:
            kept.append(entity.model_copy(update={"offset": first - start, "length": last - first}))
    return kept


_ENTITY_TYPES = {"quote": "expandable_blockquote", "block": "blockquote", "strike": "strikethrough"}
_BLOCKS = frozenset({"expandable_blockquote", "blockquote"})
_LAST_OF_ONE_UNIT = "\uffff"
"""The last character that is one UTF-16 unit; those above it, such as most emoji, are two."""
_DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Characters that reverse the direction of the text after them; one in a name would also reverse the sum beside it. They are removed."""


def _add_entity(entities: list[MessageEntity], kind: str, offset: int, length: int) -> None:
    """Add an entity to `entities`, or make a quote longer if one ends at `offset` and the new entity is a quote too."""
    if kind in _BLOCKS:
        for place, known in enumerate(entities):
            if known.type == kind and known.offset + known.length == offset:
                entities[place] = known.model_copy(update={"length": known.length + length})
                return
    entities.append(MessageEntity(type=kind, offset=offset, length=length))


def render_entities(text: Spans) -> tuple[str, list[MessageEntity]]:
    """Return the spans as plain text with Telegram's entities.

    Only the links of the spans and the commands in the bot's own sentences can be tapped. Links, mentions and commands in texts of others
    are disabled.
    """
    if any(_DIRECTION_MARKS.search(span.text) for span in text):
        text = build_spans(*(replace(span, text=_DIRECTION_MARKS.sub("", span.text)) for span in text))
    spans = disarm_spans(text)
    shown = "".join(span.text for span in spans)
    measure = count_units if max(shown, default="") > _LAST_OF_ONE_UNIT else len
    entities: list[MessageEntity] = []
    offset = 0
    for span in spans:
        length = measure(span.text)
        for style in span.styles if span.style or span.more else ():
            _add_entity(entities, _ENTITY_TYPES.get(style, style), offset, length)
        if span.url:
            entities.append(MessageEntity(type="text_link", offset=offset, length=length, url=span.url))
        offset += length
    return shown, entities
