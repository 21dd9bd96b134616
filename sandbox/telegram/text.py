"""Functions for Telegram's texts: length in UTF-16 units, trimming, and entities, given by the bot or found in the text."""

import re
from typing import Any

from sandbox.telegram.markup_html import parse_html
from sandbox.telegram.wire import JsonObject, bad_request

MESSAGE_LIMIT = 4096
CAPTION_LIMIT = 1024
_NOTHING = (
    "\u00ad\u180e\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062\u2063\u2064\u2800\ufeff\uffa0"
)
_ENTITY_TYPES = frozenset({
    "mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bold", "italic", "underline",
    "strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code", "pre", "text_link", "text_mention",
    "custom_emoji", "date_time",
})  # fmt: skip
_TOP_DOMAINS = "com|net|org|ru|su|рф|io|me|dev|app|info|biz|xn--[a-z0-9-]+"
_FOUND = re.compile(
    r"(?P<url>(?:https?|ftp|tg|ton)://[^\s<>\"\u2060]+[^\s<>\".,;:!?)\]»\u2060]"
    rf"|(?<![\w@.-])(?:(?:[\w-]+\.)+(?:{_TOP_DOMAINS})|(?:[0-9]{{1,3}}\.){{3}}[0-9]{{1,3}})(?![\w.@-]))"
    r"|(?<![\w/])(?P<bot_command>/[A-Za-z0-9_]{1,32}(?:@[A-Za-z0-9_]{3,32})?)(?![\w/])"
    r"|(?<![\w.+-])(?P<email>[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,})"
    r"|(?<![\w+])(?P<phone_number>\+\d[\d ()-]{8,16}\d)(?!\w)"
    r"|(?<!\w)(?P<mention>@[A-Za-z0-9_]{4,32})\b"
    r"|(?<!\w)(?P<hashtag>#[^\W\d]\w*)"
    r"|(?<![\w$])(?P<cashtag>\$(?-i:1INCH|[A-Z]{1,8}))(?![\w$])",
    re.IGNORECASE,
)


def utf16_length(text: str) -> int:
    """Return the length of a text in UTF-16 units, in which the Bot API measures; most emoji count as two."""
    return len(text) + sum(character > "\uffff" for character in text)


def formatted_text(text: str, parse_mode: str, entities: Any) -> tuple[str, list[JsonObject]]:
    """Return the text and its entities, after applying `parse_mode` or the given entities, and trimming spaces.

    Raises `ApiError` 400 if the markup of the text or the given entities cannot be read (Bot API, "Formatting").
    """
    if parse_mode:
        if parse_mode.lower() != "html":
            raise bad_request("unsupported parse_mode: the sandbox reads HTML and entities only")
        text, found = parse_html(text)
    else:
        found = _checked(entities, text)
    text, found = _trimmed(text, found)
    return text, _sorted(found + _detected(text, found))


def is_empty(text: str) -> bool:
    """Return whether Telegram refuses the text as empty: it consists only of spaces and zero-width characters."""
    return not text.translate(dict.fromkeys(map(ord, _NOTHING))).strip()


def plain_entities(text: str) -> list[JsonObject]:
    """Return the entities that Telegram itself finds in a text: links, commands, mentions and hashtags."""
    return _detected(text, [])


def require_length(text: str, limit: int, sentence: str) -> None:
    """Raise `ApiError` 400 with the text `sentence` if `text` is longer than `limit` UTF-16 units."""
    if utf16_length(text) > limit:
        raise bad_request(sentence)


def split_like_a_client(text: str) -> list[str]:
    """Return a long text in parts of at most 4096 UTF-16 units, as Telegram's clients split a paste: at a space if one is near."""
    parts: list[str] = []
    while utf16_length(text) > MESSAGE_LIMIT:
        end = _prefix_of(text, MESSAGE_LIMIT)
        border = max(text.rfind("\n", 0, end), text.rfind(" ", 0, end))
        end = border if border > end // 2 else end
        parts.append(text[:end])
        text = text[end:].lstrip()
    return [*parts, text]


def _prefix_of(text: str, units: int) -> int:
    used = 0
    for index, character in enumerate(text):
        used += 2 if character > "\uffff" else 1
        if used > units:
            return index
    return len(text)


def _checked(entities: Any, text: str) -> list[JsonObject]:
    if entities is None:
        return []
    if not isinstance(entities, list):
        raise bad_request("can't parse entities: an array of MessageEntity is expected")
    limit = utf16_length(text)
    borders = _borders(text)
    checked = []
    for entity in entities:
        if not isinstance(entity, dict) or entity.get("type") not in _ENTITY_TYPES:
            raise bad_request("can't parse MessageEntity: Unsupported type specified")
        start, length = entity.get("offset"), entity.get("length")
        if not isinstance(start, int) or not isinstance(length, int) or start < 0:
            raise bad_request("can't parse MessageEntity: offset and length must be integers")
        end = start + length
        if length <= 0:
            continue
        if start >= limit:
            raise bad_request(f"entity begins after the end of the text at UTF-16 offset {start}")
        if end > limit:
            raise bad_request(f"entity beginning at UTF-16 offset {start} ends after the end of the text at UTF-16 offset {end}")
        if start not in borders or end not in borders:
            raise bad_request("entity begins or ends in a middle of a UTF-16 symbol")
        checked.append(entity)
    return checked


def _borders(text: str) -> set[int]:
    borders, position = {0}, 0
    for character in text:
        position += 2 if character > "\uffff" else 1
        borders.add(position)
    return borders


def _trimmed(text: str, entities: list[JsonObject]) -> tuple[str, list[JsonObject]]:
    shift = len(text) - len(text.lstrip())
    stripped = text.strip()
    limit = utf16_length(stripped)
    kept = []
    for entity in entities:
        start = max(entity["offset"] - shift, 0)
        end = min(entity["offset"] + entity["length"] - shift, limit)
        if end > start:
            kept.append({**entity, "offset": start, "length": end - start})
    return stripped, kept


def _detected(text: str, known: list[JsonObject]) -> list[JsonObject]:
    taken = [(item["offset"], item["offset"] + item["length"]) for item in known if item["type"] in {"code", "pre", "text_link"}]
    found: list[JsonObject] = []
    for match in _FOUND.finditer(text):
        start = utf16_length(text[: match.start()])
        length = utf16_length(match.group())
        if any(start < end and begin < start + length for begin, end in taken):
            continue
        entity = {"type": str(match.lastgroup), "offset": start, "length": length}
        if entity not in known:
            found.append(entity)
    return found


def _sorted(entities: list[JsonObject]) -> list[JsonObject]:
    return sorted(entities, key=lambda item: (item["offset"], -item["length"]))
