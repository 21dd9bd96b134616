"""What a file is by its first bytes; a name that says otherwise is refused."""

import zipfile
from pathlib import PurePath
from typing import BinaryIO, Final

from orchestrator.services.rag.document import FileKind, UnreadableDocument
from orchestrator.services.rag.readers.plain_text import decode_text

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
