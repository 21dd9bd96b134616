"""Cuts documents along headings, sentences and rows, none longer than a bound."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import LARGEST_TITLE, Block, Document, Passage, UnreadableDocument, clean_text, clean_title

_END: Final = re.compile(r"([.!?…]+)[»”\"')\]]*\s+")
_WORD_BEFORE: Final = re.compile(r"[\w.\-№]+$")
_BREAKS: Final = (";", ",", " ")


@cache
def _load_abbreviations() -> tuple[frozenset[str], frozenset[str]]:
    words = load_lexicon("documents")
    return frozenset(words.read_words("abbreviations", "open")), frozenset(words.read_words("abbreviations", "closing"))


def split_sentences(text: str) -> list[str]:
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match[1] == "." and not _is_end(text, start, match.start(1), match.end()):
            continue
        sentences.append(text[start : match.end()].strip())
        start = match.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_end(text: str, start: int, point: int, after: int) -> bool:
    """`point` and `after` (the next word) are places."""
    following = text[after : after + 1]
    if following.islower():
        return False
    match = _WORD_BEFORE.search(text, max(start, point - 30), point)
    word = match[0].lower().strip("-") if match else ""
    if word.isdigit() and point - len(word) <= start:
        return False  # the number of an item of a list: «1. Общие положения»
    if len(word) == 1 and match is not None and match[0].isupper():
        return False  # an initial
    opening, closing = _load_abbreviations()
    if word in closing:
        before = text[max(start, point - len(word) - 2) : point - len(word)].strip()
        return following.isupper() and (word not in opening or before.isdigit())
    return word not in opening


def split_long(sentence: str, longest: int) -> list[str]:
    """At a semicolon, comma or blank where there is one."""
    pieces: list[str] = []
    rest = sentence
    while len(rest) > longest:
        window = rest[: longest + 1]
        cut = next((place + len(sign) for sign in _BREAKS if (place := window.rfind(sign, longest // 2, longest)) > 0), longest)
        pieces.append(rest[:cut].strip())
        rest = rest[cut:]
    pieces.append(rest.strip())
    return [piece for piece in pieces if piece]


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
