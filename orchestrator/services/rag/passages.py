"""Cuts what was read into passages: sentences and rows below the headings above them, each with its place."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from orchestrator.domain.shelf import Contents
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import (
    LARGEST_TITLE,
    Block,
    Document,
    Passage,
    Place,
    UnreadableDocument,
    clean_text,
    clean_title,
)

_END: Final = re.compile(r"([.!?…]+)[»”\"')\]]*\s+")
_WORD_BEFORE: Final = re.compile(r"[\w.\-№]+$")
_NUMBERED: Final = re.compile(r"\d+(?:\.\d+)*")
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
    if _NUMBERED.fullmatch(word) and point - len(word) <= start:
        return False  # the number of an item of a list or of a clause: «1. Общие положения», «2.2. Неустойка»
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


_CLAUSE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,3})+)\.?\s")
_LARGEST_SAMPLE: Final = 200
_MOST_COLUMNS: Final = 12


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    place: Place | None
    is_row: bool


@dataclass(slots=True)
class _Section:
    path: tuple[str, ...]
    pieces: list[_Piece] = field(default_factory=list)


@dataclass(slots=True)
class _Heading:
    level: int
    title: str
    piece: _Piece
    is_used: bool = False
    """Something stands below it."""


def cut_passages(document: Document, name: str) -> list[Passage]:
    """`name` is the title if there is no other. Raises UnreadableDocument without text or with too much."""
    title = clean_title(document.title) or clean_title(name)
    passages: list[Passage] = []
    characters = 0
    for section in _iterate_sections(document.blocks):
        parts = [title, *(part for part in section.path if part != title)]
        label = clean_title(_SEPARATOR.join(parts), LARGEST_TITLE)
        for passage in _pack_pieces(label, section.pieces):
            passages.append(passage)
            characters += len(passage.text)
            if len(passages) > MOST_PASSAGES or characters > MOST_CHARACTERS:
                raise UnreadableDocument("too_long")
    if not passages:
        raise UnreadableDocument("no_text")
    return list(_number_titles(passages))


def _iterate_sections(blocks: Iterable[Block]) -> Iterator[_Section]:
    """A heading with nothing below it is text, for the next one would take its place."""
    headings: list[_Heading] = []
    section = _Section(())
    for block in blocks:
        text = clean_text(block.text)
        if not text:
            continue
        if block.kind == "heading":
            yield section
            ended = [heading for heading in headings if heading.level >= block.level]
            headings = headings[: len(headings) - len(ended)]
            yield _tell_unused(headings, ended)
            headings.append(_Heading(block.level, clean_title(text), _Piece(text, block.place, is_row=False)))
            section = _Section(tuple(heading.title for heading in headings))
            continue
        for heading in headings:
            heading.is_used = True
        if block.kind == "row":
            section.pieces.append(_Piece(text, block.place, is_row=True))
        else:
            section.pieces.extend(_Piece(sentence, block.place or _find_clause(text), is_row=False) for sentence in split_sentences(text))
    yield section
    if any(heading.is_used for heading in headings):
        yield _tell_unused([], headings)


def _tell_unused(headings: Sequence["_Heading"], ended: Sequence["_Heading"]) -> _Section:
    return _Section(tuple(heading.title for heading in headings), [heading.piece for heading in ended if not heading.is_used])


def _find_clause(text: str) -> Place | None:
    """«2.2. Неустойка …»."""
    found = _CLAUSE.match(text)
    return Place("clause", found[1]) if found is not None else None


def _pack_pieces(title: str, pieces: Iterable[_Piece]) -> Iterator[Passage]:
    """As long as the bound allows."""
    packed: Passage | None = None
    is_after_row = False
    for piece in pieces:
        mark = "\n" if piece.is_row or is_after_row else " "  # a row can be shown alone
        for part in split_long(piece.text, LONGEST) if len(piece.text) > LONGEST else (piece.text,):
            alone = Passage(title, part, piece.place, piece.is_row)
            joined = _join(packed, mark, alone) if packed is not None else alone
            if packed is not None and len(joined.text) > LONGEST:
                yield packed
                joined = alone
            packed, is_after_row = joined, piece.is_row
    if packed is not None:
        yield packed


def _join(before: Passage, mark: str, after: Passage) -> Passage:
    place = before.place.extend(after.place) if before.place is not None else after.place
    return Passage(before.title, f"{before.text}{mark}{after.text}", place, before.is_table and after.is_table)


def _number_titles(passages: list[Passage]) -> Iterator[Passage]:
    """Those that share a title get a number in it."""
    counts = Counter(passage.title for passage in passages)
    seen: Counter[str] = Counter()
    for passage in passages:
        seen[passage.title] += 1
        yield replace(passage, title=f"{passage.title} ({seen[passage.title]})") if counts[passage.title] > 1 else passage


def clean_contents(contents: Contents) -> Contents:
    """Of bounded length: it stands in an answer."""
    columns = tuple(clean_title(column, 60) for column in contents.columns[:_MOST_COLUMNS])
    notes = tuple(
        replace(note, details={name: clean_title(detail, _LARGEST_SAMPLE) for name, detail in note.details.items()})
        for note in contents.notes[:20]
    )
    return replace(contents, columns=columns, sample=clean_title(contents.sample, _LARGEST_SAMPLE), notes=notes)
