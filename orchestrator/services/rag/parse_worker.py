"""Reads documents, in a worker: `ParseOrder` in, `ParseReply` out."""

import hashlib
import math
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BufferedReader
from pathlib import PurePath
from typing import BinaryIO, Final

from pydantic import BaseModel

from orchestrator.language.lexicon import load_lexicon
from orchestrator.services.rag.document import (
    LARGEST_TITLE,
    Block,
    Document,
    FileKind,
    Passage,
    Problem,
    UnreadableDocument,
    clean_text,
    clean_title,
)
from orchestrator.services.rag.readers.plain_text import decode_text, read_text

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


_HEAD: Final = 4096
_EXTENSIONS: Final[dict[str, FileKind]] = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".html": "html",
    ".htm": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
}
_TEXTS: Final = frozenset({"markdown", "text"})
_MOST_UNPACKED: Final = 300_000_000
_MOST_PARTS: Final = 20_000
_LARGEST_RATIO: Final = 150
_RATIO_FROM: Final = 5_000_000
"""Bytes below which the ratio does not count: tables of zeros compress well."""
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_HTML_BEGINNINGS: Final = ("<!doctype html", "<html", "<head", "<body")


def find_kind(file: BinaryIO, name: str) -> FileKind:
    """Raises UnreadableDocument. Text without a known extension is Markdown."""
    expected = _EXTENSIONS.get(PurePath(name).suffix.lower())
    file_kind = _recognize(file)
    file.seek(0)
    if expected in _TEXTS and file_kind == "text":
        return expected
    if expected == "html" and file_kind == "text":
        return "html"
    if expected is None:
        return "markdown" if file_kind == "text" else file_kind
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
        file.seek(0)
        raise (
            UnreadableDocument("password")
            if _ENCRYPTED in file.read(_RATIO_FROM)
            else UnreadableDocument("unsupported", found="old_office")
        )
    if head.startswith(b"{\\rtf"):
        raise UnreadableDocument("unsupported", found="rtf")
    text = decode_text(head, is_part=True)
    if text is None:
        raise UnreadableDocument("unsupported", found="binary")
    return "html" if text.lstrip().lower().startswith(_HTML_BEGINNINGS) else "text"


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
    names = {part.filename for part in parts}
    if "word/document.xml" in names:
        return "docx"
    if any(name.startswith("xl/workbook") for name in names):
        return "xlsx"
    file_type = "slides" if "ppt/presentation.xml" in names else "open_document" if "mimetype" in names else "archive"
    raise UnreadableDocument("unsupported", found=file_type)


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
    """(title, text); neither passages nor problem if the content is known."""

    digest: str = ""
    passages: tuple[tuple[str, str], ...] = ()
    problem: Problem | None = None


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
        return ParseReply(digest=digest, passages=tuple((passage.title, passage.text) for passage in passages))
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


def _read_kind(kind: FileKind, file: BinaryIO) -> Document:
    """Imports only that reader's libraries."""
    if kind in {"pdf", "docx", "xlsx"}:
        from orchestrator.services.rag.readers.office import read_docx, read_pdf, read_xlsx  # noqa: PLC0415 - see above

        return read_pdf(file) if kind == "pdf" else read_docx(file) if kind == "docx" else read_xlsx(file)
    return _load_text_reader(kind)(file.read())


def _load_text_reader(kind: FileKind) -> Callable[[bytes], Document]:
    from orchestrator.services.rag.readers.markdown import read_markdown  # noqa: PLC0415 - see _read_kind

    if kind == "html":
        from orchestrator.services.rag.readers.html import read_html  # noqa: PLC0415 - see _read_kind

        return read_html
    readers: Mapping[str, Callable[[bytes], Document]] = {"markdown": read_markdown, "text": read_text}
    return readers[kind]


def run_order(body: bytes) -> bytes:
    order = ParseOrder.model_validate_json(body)
    reply = read_document(bytes.fromhex(order.path), known_digest=order.known_digest, largest=order.largest)
    return reply.model_dump_json().encode()
