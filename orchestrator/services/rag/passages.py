"""Cuts documents along headings, sentences and rows, none longer than a bound."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from orchestrator.services.rag.document import LARGEST_TITLE, Block, Document, Passage, UnreadableDocument, clean_text, clean_title
from orchestrator.services.rag.sentences import split_long, split_sentences

LONGEST: Final = 800
"""Characters."""
MOST_PASSAGES: Final = 20_000
MOST_CHARACTERS: Final = 8_000_000
_SEPARATOR: Final = " › "


@dataclass(slots=True)
class _Section:
    path: tuple[str, ...]
    pieces: list[str] = field(default_factory=list)


def cut_passages(document: Document, name: str) -> list[Passage]:
    """`name` is the title if there is no other. Raises UnreadableDocument without text or with too much."""
    title = clean_title(document.title) or clean_title(name)
    titled_texts: list[tuple[str, str]] = []
    characters = 0
    for section in _iterate_sections(document.blocks):
        parts = [title, *(part for part in section.path if part != title)]
        label = clean_title(_SEPARATOR.join(parts), LARGEST_TITLE)
        for text in _pack_pieces(section.pieces):
            titled_texts.append((label, text))
            characters += len(text)
            if len(titled_texts) > MOST_PASSAGES or characters > MOST_CHARACTERS:
                raise UnreadableDocument("too_long")
    if not titled_texts:
        raise UnreadableDocument("no_text")
    return list(_number_titles(titled_texts))


def _iterate_sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    headings: list[tuple[int, str]] = []
    section = _Section(())
    for block in blocks:
        text = clean_text(block.text)
        if not text:
            continue
        if block.kind == "heading":
            yield section
            headings = [heading for heading in headings if heading[0] < block.level] + [(block.level, clean_title(text))]
            section = _Section(tuple(heading for _, heading in headings))
        else:
            section.pieces.extend([text] if block.kind == "row" else split_sentences(text))
    yield section


def _pack_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """As long as the bound allows."""
    text = ""
    for piece in pieces:
        for part in split_long(piece, LONGEST) if len(piece) > LONGEST else (piece,):
            if text and len(text) + 1 + len(part) > LONGEST:
                yield text
                text = part
            else:
                text = f"{text} {part}" if text else part
    if text:
        yield text


def _number_titles(titled_texts: list[tuple[str, str]]) -> Iterator[Passage]:
    """Return the passages; those that share a title get a number in it."""
    counts = Counter(title for title, _ in titled_texts)
    seen: Counter[str] = Counter()
    for title, text in titled_texts:
        seen[title] += 1
        yield Passage(f"{title} ({seen[title]})" if counts[title] > 1 else title, text)
