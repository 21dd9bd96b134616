"""Reads documents, in a worker: `ParseOrder` in, `ParseReply` out."""

import hashlib
import importlib
import math
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from io import BufferedReader
from pathlib import PurePath
from typing import BinaryIO, Final

from pydantic import BaseModel

from orchestrator.domain.shelf import NO_CONTENTS, Contents
from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import (
    EXTENSIONS,
    LARGEST_TITLE,
    Block,
    Document,
    FileKind,
    Passage,
    Place,
    Problem,
    UnreadableDocument,
    clean_text,
    clean_title,
)
from orchestrator.services.rag.readers.plain_text import decode_text

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


_HEAD: Final = 4096
_TEXTS: Final[frozenset[FileKind]] = frozenset({"markdown", "text", "csv", "letter", "html"})
"""Nothing in such a file says which it is."""
_SAVED_AS_WORKBOOK: Final[frozenset[FileKind]] = frozenset({"html", "sheet_xml", "text"})
"""What programs save under the name of a workbook, which Excel opens."""
_MOST_UNPACKED: Final = 300_000_000
_MOST_PARTS: Final = 20_000
_LARGEST_RATIO: Final = 150
_RATIO_FROM: Final = 5_000_000
"""Bytes below which the ratio does not count: tables of zeros compress well."""
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_OLD_WORKBOOK: Final = ("Workbook".encode("utf-16-le"), "Book".encode("utf-16-le"))
_SHEET_XML: Final = "urn:schemas-microsoft-com:office:spreadsheet"
_HTML_BEGINNINGS: Final = ("<!doctype html", "<html", "<head", "<body")


def find_kind(file: BinaryIO, name: str) -> FileKind:
    """Raises UnreadableDocument. Text without a known extension is Markdown."""
    expected = EXTENSIONS.get(PurePath(name).suffix.lower())
    file_kind = _recognize(file)
    file.seek(0)
    if expected is None:
        return "markdown" if file_kind == "text" else file_kind
    if file_kind == "text" and expected in _TEXTS:
        return expected
    if expected == "workbook" and file_kind in _SAVED_AS_WORKBOOK:
        return "csv" if file_kind == "text" else file_kind
    if file_kind != expected:
        raise UnreadableDocument("wrong_name", expected=expected, found=file_kind)
    return file_kind


def _recognize(file: BinaryIO) -> FileKind:
    head = file.read(_HEAD)
    if not head.strip(b"\x00\r\n\t "):
        raise UnreadableDocument("empty")
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _recognize_archive(file)
    if head.startswith(_OLE):
        return _recognize_old_office(file)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    text = decode_text(head, is_part=True)
    if text is None:
        raise UnreadableDocument("unsupported", found="binary")
    if _SHEET_XML in text:
        return "sheet_xml"
    return "html" if text.lstrip("\ufeff \r\n\t").lower().startswith(_HTML_BEGINNINGS) else "text"


def _recognize_old_office(file: BinaryIO) -> FileKind:
    file.seek(0)
    data = file.read(_RATIO_FROM)
    if _ENCRYPTED in data:
        raise UnreadableDocument("password")
    if any(name in data for name in _OLD_WORKBOOK):
        return "workbook"
    raise UnreadableDocument("unsupported", found="old_office")


def _recognize_archive(file: BinaryIO) -> FileKind:
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise UnreadableDocument("broken") from None
    if any(part.flag_bits & 1 for part in parts):
        raise UnreadableDocument("password")
    check_unpacked_size(parts)
    names = {part.filename.replace("\\", "/").lstrip("/").lower() for part in parts}
    if "word/document.xml" in names:
        return "docx"
    if any(name.startswith("xl/workbook") for name in names):
        return "workbook"
    if "ppt/presentation.xml" in names:
        return "slides"
    if "mimetype" in names and "content.xml" in names:
        with zipfile.ZipFile(file) as archive:
            is_sheet = b"spreadsheet" in archive.read("mimetype")
        if is_sheet:
            return "workbook"
    raise UnreadableDocument("unsupported", found="open_document" if "mimetype" in names else "archive")


def check_unpacked_size(parts: list[zipfile.ZipInfo]) -> None:
    """Raises UnreadableDocument if they unpack to too much; a part never gives more than it declares."""
    unpacked = sum(part.file_size for part in parts)
    is_bomb = any(part.file_size > _RATIO_FROM and part.file_size > _LARGEST_RATIO * max(part.compress_size, 1) for part in parts)
    if is_bomb or unpacked > _MOST_UNPACKED or len(parts) > _MOST_PARTS:
        raise UnreadableDocument("archive_bomb")


class ParseOrder(BaseModel, frozen=True):
    """In hexadecimal digits: names need not be text."""

    path: str
    known_digest: str = ""
    """The same content is not read again."""
    largest: int


class ParseReply(BaseModel, frozen=True):
    """Neither passages nor problem if the content is known."""

    digest: str = ""
    passages: tuple[Passage, ...] = ()
    problem: Problem | None = None
    contents: Contents = NO_CONTENTS


def read_document(path: bytes, *, known_digest: str = "", largest: int) -> ParseReply:
    """A problem becomes part of the reply."""
    digest = ""
    try:
        with _open_file(path, largest) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest == known_digest:
                return ParseReply(digest=digest)
            file.seek(0)
            name = PurePath(os.fsdecode(path)).name
            document = _read_kind(find_kind(file, name), file)
            passages = cut_passages(document, PurePath(name).stem)
        return ParseReply(digest=digest, passages=tuple(passages), contents=clean_contents(document.contents))
    except UnreadableDocument as error:
        return ParseReply(digest=digest, problem=error.problem)
    except MemoryError:
        return ParseReply(digest=digest, problem=Problem("too_much_memory"))
    except Exception:  # noqa: BLE001 - the readers of foreign formats raise whatever a damaged file leads them to
        return ParseReply(digest=digest, problem=Problem("broken"))


def _open_file(path: bytes, largest: int) -> BufferedReader:
    """Raises UnreadableDocument; waits for no pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise UnreadableDocument("gone") from None
    except PermissionError:
        raise UnreadableDocument("not_allowed") from None
    except OSError:
        raise UnreadableDocument("link" if os.path.islink(path) else "broken") from None
    file = os.fdopen(descriptor, "rb")
    file_stat = os.fstat(descriptor)
    if stat.S_ISREG(file_stat.st_mode) and 0 < file_stat.st_size <= largest:
        return file
    file.close()
    if not stat.S_ISREG(file_stat.st_mode):
        raise UnreadableDocument("special")
    if not file_stat.st_size:
        raise UnreadableDocument("empty")
    raise UnreadableDocument("too_large", size=str(math.ceil(file_stat.st_size / 1e6)), limit=str(largest // 1_000_000))


_READERS: Final[Mapping[FileKind, tuple[str, str]]] = {
    "pdf": ("pdf", "read_pdf"),
    "docx": ("word", "read_docx"),
    "workbook": ("workbook", "read_workbook"),
    "slides": ("slides", "read_slides"),
}
"""(module, function) of those that get the file; others get its bytes."""
_BYTES_READERS: Final[Mapping[FileKind, tuple[str, str]]] = {
    "csv": ("csv_tables", "read_csv"),
    "html": ("html", "read_html"),
    "rtf": ("rtf", "read_rtf"),
    "letter": ("letters", "read_letter"),
    "sheet_xml": ("sheet_xml", "read_sheet_xml"),
    "markdown": ("markdown", "read_markdown"),
    "text": ("plain_text", "read_text"),
}


def _read_kind(kind: FileKind, file: BinaryIO) -> Document:
    """Imports only that reader's libraries."""
    readers = _READERS if kind in _READERS else _BYTES_READERS
    module, function = readers[kind]
    read = getattr(importlib.import_module(f"orchestrator.services.rag.readers.{module}"), function)
    document: Document = read(file if kind in _READERS else file.read())
    return document


def run_order(body: bytes) -> bytes:
    order = ParseOrder.model_validate_json(body)
    reply = read_document(bytes.fromhex(order.path), known_digest=order.known_digest, largest=order.largest)
    return reply.model_dump_json().encode()
