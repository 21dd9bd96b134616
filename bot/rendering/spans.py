"""Text with styles and links, which each door (Telegram, HTTP, command line) converts into its own form. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Style = Literal["", "bold", "italic", "code", "strike", "pre", "quote", "block"]
"""A "quote", used for long values, is folded if the channel can do that, a "block" never is."""

_CODE: Final = frozenset({"code", "pre"})


@dataclass(frozen=True)
class Span:
    """A piece of text with styles. If `url` is set, it is a link."""

    text: str
    style: Style = ""
    url: str = ""
    more: tuple[Style, ...] = ()
    is_foreign: bool = False
    """Whether a model or a customer wrote it: nothing in it may be tapped except `url`."""

    @property
    def styles(self) -> tuple[Style, ...]:
        return (self.style, *self.more) if self.style else self.more

    @property
    def is_code(self) -> bool:
        """Shown in a fixed-width font; nothing in it can be tapped, except to copy it."""
        return self.style in _CODE or not _CODE.isdisjoint(self.more)


Spans = tuple[Span, ...]


def build_spans(*parts: "str | Span | Spans") -> Spans:
    """Join the parts, without empty spans."""
    flat: list[Span] = []
    for part in parts:
        if isinstance(part, str):
            flat.append(Span(part))
        elif isinstance(part, Span):
            flat.append(part)
        else:
            flat.extend(part)
    return tuple(span for span in flat if span.text)


def format_bold(part: str | Spans) -> Spans:
    pieces = build_spans(part)
    return tuple(Span(piece.text, "bold", piece.url) for piece in pieces)


def join_blocks(blocks: Iterable[Spans], between: str) -> Spans:
    """Empty blocks are left out."""
    flat: list[Span] = []
    for block in blocks:
        if block:
            if flat:
                flat.append(Span(between))
            flat.extend(block)
    return tuple(flat)


def to_plain_text(text: Spans) -> str:
    """A link is followed by its address in parentheses, unless that ends with the link's text."""
    return "".join(f"{span.text} ({span.url})" if span.url and not span.url.endswith(span.text) else span.text for span in text)
