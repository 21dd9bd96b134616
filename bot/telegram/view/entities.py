"""Converts spans to Telegram's entities and splits long texts. Pure. Positions are in UTF-16 units."""

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
    """Telegram refuses a text of spaces and zero-width characters."""
    return all(mark.isspace() or mark in _BLANK_LETTERS or unicodedata.category(mark) in _UNSEEN for mark in text)


def trim_text(text: str, limit: int) -> str:
    """Text that was cut ends with "…"."""
    if count_units(text) <= limit:
        return text
    return text.encode("utf-16-le")[: (limit - 1) * 2].decode("utf-16-le", "ignore") + "…"


def split_entities(text: str, entities: list[MessageEntity], *, limit: int = LIMIT) -> list[tuple[str, list[MessageEntity]]]:
    """An entity at the end of a part moves to the next, or is divided if it does not fit there. No surrogate pair is divided."""
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
    """Unless the part would become tiny."""
    across = [item for item in entities if item.offset < end < item.offset + item.length and item.length <= limit]
    before = min((item.offset for item in across), default=end)
    return before if before - start >= _MIN_PIECE and not _is_inside_surrogate(raw, before) else end


def _find_border(raw: bytes, start: int, limit: int) -> int:
    """After a paragraph, line or word if possible."""
    window = raw[start * 2 : (start + limit) * 2]
    for mark in ("\n\n", "\n", " "):
        place = _find_last(window, mark.encode("utf-16-le"))
        if place >= _MIN_PIECE:
            return start + place + len(mark)
    end = start + limit
    return _keep_signs_whole(raw, start, end - 1 if _is_inside_surrogate(raw, end) else end)


def _keep_signs_whole(raw: bytes, start: int, end: int) -> int:
    """Keeps flags, family emojis and accented letters whole."""
    window = raw[start * 2 : end * 2].decode("utf-16-le")
    after = raw[end * 2 : (end + 2) * 2].decode("utf-16-le", "ignore")[:1]
    length = len(window)
    while after and length > len(window) - _LONGEST_SIGN and _is_joined(window[:length], after):
        length, after = length - 1, window[length - 1]
    return start + count_units(window[:length]) if length > 0 and not _is_joined(window[:length], after) else end


def _is_joined(before: str, mark: str) -> bool:
    """Whether both are displayed as one character."""
    if not before:
        return False
    if mark == _JOINER or before[-1] == _JOINER or unicodedata.combining(mark) or unicodedata.category(mark) in {"Mn", "Me"}:
        return True
    flags = len(before) - len(before.rstrip("".join(map(chr, _FLAGS))))
    return ord(mark) in _TONES or (ord(mark) in _FLAGS and flags % 2 == 1)


def _is_inside_surrogate(raw: bytes, place: int) -> bool:
    return 0xD800 <= int.from_bytes(raw[(place - 1) * 2 : place * 2], "little") <= 0xDBFF  # noqa: PLR2004 - the range of first halves


def _find_last(window: bytes, mark: bytes) -> int:
    place = window.rfind(mark)
    while place > 0 and place % 2:  # a match across two code units is none
        place = window.rfind(mark, 0, place + len(mark) - 1)
    return place // 2


def _select_entities(entities: list[MessageEntity], start: int, end: int) -> list[MessageEntity]:
    selected = []
    for entity in entities:
        first, last = max(entity.offset, start), min(entity.offset + entity.length, end)
        if first < last:
            selected.append(entity.model_copy(update={"offset": first - start, "length": last - first}))
    return selected


_ENTITY_TYPES = {"quote": "expandable_blockquote", "block": "blockquote", "strike": "strikethrough"}
_BLOCKS = frozenset({"expandable_blockquote", "blockquote"})
_LAST_OF_ONE_UNIT = "\uffff"
"""Most emoji are above it."""
_DIRECTION_MARKS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Marks that reverse the text after them, also the sum beside a name."""


def _add_entity(entities: list[MessageEntity], kind: str, offset: int, length: int) -> None:
    """A quote that follows a quote makes it longer."""
    if kind in _BLOCKS:
        for place, known in enumerate(entities):
            if known.type == kind and known.offset + known.length == offset:
                entities[place] = known.model_copy(update={"length": known.length + length})
                return
    entities.append(MessageEntity(type=kind, offset=offset, length=length))


def render_entities(text: Spans) -> tuple[str, list[MessageEntity]]:
    """Links, mentions and commands in texts of others cannot be tapped."""
    if any(_DIRECTION_MARKS.search(span.text) for span in text):
        text = build_spans(*(replace(span, text=_DIRECTION_MARKS.sub("", span.text)) for span in text))
    spans = disarm_spans(text)
    joined = "".join(span.text for span in spans)
    measure = count_units if max(joined, default="") > _LAST_OF_ONE_UNIT else len
    entities: list[MessageEntity] = []
    offset = 0
    for span in spans:
        length = measure(span.text)
        for style in span.styles if span.style or span.more else ():
            _add_entity(entities, _ENTITY_TYPES.get(style, style), offset, length)
        if span.url:
            entities.append(MessageEntity(type="text_link", offset=offset, length=length, url=span.url))
        offset += length
    return joined, entities
