"""Long texts in pieces Telegram accepts: measured in UTF-16 units, cut at paragraphs, entities kept whole or cut with the text. Pure."""

from aiogram.types import MessageEntity

LIMIT = 4096
_MIN_PIECE = 1024


def split(text: str, entities: list[MessageEntity]) -> list[tuple[str, list[MessageEntity]]]:
    """Pieces of at most 4096 UTF-16 units with the entities that lie in each; a surrogate pair is never torn."""
    raw = text.encode("utf-16-le")
    pieces: list[tuple[str, list[MessageEntity]]] = []
    start, total = 0, len(raw) // 2
    while start < total or not pieces:
        end = total if total - start <= LIMIT else _border(raw, start)
        pieces.append((raw[start * 2 : end * 2].decode("utf-16-le"), _within(entities, start, end)))
        start = end
    return pieces


def _border(raw: bytes, start: int) -> int:
    """The last paragraph, line or space before the limit; else the limit, not inside a surrogate pair."""
    window = raw[start * 2 : (start + LIMIT) * 2]
    for mark in ("\n\n", "\n", " "):
        place = _last(window, mark.encode("utf-16-le"))
        if place >= _MIN_PIECE:
            return start + place + len(mark)
    end = start + LIMIT
    high = int.from_bytes(raw[(end - 1) * 2 : end * 2], "little")
    return end - 1 if 0xD800 <= high <= 0xDBFF else end  # noqa: PLR2004 - the range of first halves


def _last(window: bytes, mark: bytes) -> int:
    place = window.rfind(mark)
    while place > 0 and place % 2:  # found across two units, no real match
        place = window.rfind(mark, 0, place + len(mark) - 1)
    return place // 2


def _within(entities: list[MessageEntity], start: int, end: int) -> list[MessageEntity]:
    kept = []
    for entity in entities:
        first, last = max(entity.offset, start), min(entity.offset + entity.length, end)
        if first < last:
            kept.append(entity.model_copy(update={"offset": first - start, "length": last - first}))
    return kept
