"""Converts the HTML that Telegram supports to text and entities. Unknown and unclosed tags are refused with the Bot API's error texts."""

from html import unescape
from html.parser import HTMLParser

from sandbox.telegram.wire import JsonObject, bad_request

_TAGS = {
    "b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
    "s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler", "code": "code",
    "pre": "pre", "blockquote": "blockquote", "a": "text_link", "span": "spoiler",
}  # fmt: skip
_REFERENCES = {"lt", "gt", "amp", "quot"}


def parse_html(source: str) -> tuple[str, list[JsonObject]]:
    """Return the text and its entities. Raises `ApiError` 400 "can't parse entities" for HTML that Telegram refuses."""
    reader = _Reader()
    reader.feed(source)
    reader.close()
    if reader.open_tags:
        tag = reader.open_tags[-1][0]
        raise bad_request(f"can't parse entities: Can't find end tag corresponding to start tag \"{tag}\"")
    return "".join(reader.text), reader.entities


class _Reader(HTMLParser):
    """Reads HTML once from start to end, and collects its text and its entities with offsets in UTF-16 units."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.text: list[str] = []
        self.position = 0
        self.open_tags: list[tuple[str, int, JsonObject]] = []
        self.entities: list[JsonObject] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag not in _TAGS or (tag == "span" and given.get("class") != "tg-spoiler"):
            raise bad_request(f'can\'t parse entities: Unsupported start tag "{tag}"')
        entity: JsonObject = {"type": _TAGS[tag]}
        if tag == "a":
            entity["url"] = given.get("href") or ""
        if tag == "blockquote" and "expandable" in given:
            entity["type"] = "expandable_blockquote"
        if tag == "code" and self.open_tags and self.open_tags[-1][0] == "pre":
            language = (given.get("class") or "").removeprefix("language-")
            self.open_tags[-1][2]["language"] = language
            entity = {}
        self.open_tags.append((tag, self.position, entity))

    def handle_endtag(self, tag: str) -> None:
        if not self.open_tags:
            raise bad_request(f'can\'t parse entities: Unexpected end tag "{tag}"')
        opened, start, entity = self.open_tags.pop()
        if opened != tag:
            raise bad_request(f'can\'t parse entities: Unmatched end tag, expected "</{opened}>", found "</{tag}>"')
        if entity and self.position > start and entity.get("url") != "":
            self.entities.append({**entity, "offset": start, "length": self.position - start})

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        self.position += len(data.encode("utf-16-le")) // 2

    def handle_entityref(self, name: str) -> None:
        self.handle_data(unescape(f"&{name};") if name in _REFERENCES else f"&{name}")

    def handle_charref(self, name: str) -> None:
        self.handle_data(unescape(f"&#{name};"))
