"""Reads documents, in a worker: `ParseOrder` in, `ParseReply` out."""

import hashlib
import importlib
import math
import os
import stat
import zipfile
from collections.abc import Mapping
from io import BufferedReader
from pathlib import PurePath
from typing import BinaryIO, Final

from pydantic import BaseModel

from orchestrator.domain.shelf import NO_CONTENTS, Contents
from orchestrator.services.rag.document import (
    EXTENSIONS,
    Document,
    FileKind,
    Passage,
    Problem,
    UnreadableDocument,
)
from orchestrator.services.rag.passages import clean_contents, cut_passages
from orchestrator.services.rag.readers.plain_text import decode_text

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
