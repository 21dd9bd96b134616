"""Text with styles and links, which each door converts into its own form. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

Style = Literal["", "bold", "italic", "code", "strike", "pre", "quote", "block"]
"""A "quote", used for long values, may be folded, a "block" never."""

_CODE: Final = frozenset({"code", "pre"})


@dataclass(frozen=True)
class Span:
    """With `url` it is a link."""

    text: str
    style: Style = ""
    url: str = ""
    more: tuple[Style, ...] = ()
    is_foreign: bool = False
    """A model or a customer wrote it: only `url` may be tapped."""

    @property
    def styles(self) -> tuple[Style, ...]:
        return (self.style, *self.more) if self.style else self.more

    @property
    def is_code(self) -> bool:
        """Nothing can be tapped, except to copy it."""
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
    """A link is followed by its address, unless that ends with the link's text."""
    return "".join(f"{span.text} ({span.url})" if span.url and not span.url.endswith(span.text) else span.text for span in text)
