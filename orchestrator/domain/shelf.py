from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from orchestrator.domain.errors import SdelkaError

ShelfState = Literal["read", "waiting", "unreadable"]
"""read: can be asked; waiting: not read yet; unreadable as it is."""
AddResult = Literal["added", "replaced", "same", "exists", "changed"]
"""same: this content was there; exists: another document was to be kept; changed: it is not the one that was seen."""
RemoveResult = Literal["removed", "gone", "changed"]


NoteCode = Literal[
    "sheets_hidden",
    "columns_hidden",
    "rows_hidden",
    "rows_filtered",
    "pages_images",
    "pages_recognised",
    "pages_plain",
    "slides_hidden",
    "attachments",
]


@dataclass(frozen=True, slots=True)
class Note:
    """What a file has that its text has not, or has otherwise; `code` has its sentence, `docs-note-…`."""

    code: NoteCode
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What was read, for whoever adds the document."""

    sheets: int = 0
    rows: int = 0
    pages: int = 0
    slides: int = 0
    columns: tuple[str, ...] = ()
    """Of the first table."""
    sample: str = ""
    """A first row or line."""
    notes: tuple[Note, ...] = ()


NO_CONTENTS: Final = Contents()


class ShelfFailed(SdelkaError):
    """The folder of documents cannot be read or written. The text says why, for operations staff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfDocument:
    path: str
    size: int
    stamp: str
    state: ShelfState
    readers: frozenset[str] | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    contents: Contents = NO_CONTENTS
    is_file: bool = True
    """Can be replaced and removed, unlike a link or a closed folder."""


class DocumentShelf(Protocol):
    """Each method raises ShelfFailed."""

    async def list_documents(self) -> Sequence[ShelfDocument]:
        """By path."""

    async def find_folder(self, name: str) -> str | None:
        """Without regard to case."""

    async def find_document(self, path: str) -> ShelfDocument | None:
        """Also in other letters of the same kind."""

    async def find_readers(self, path: str) -> frozenset[str] | None:
        """None for everybody."""

    async def add_document(self, path: str, content: bytes, *, replaces: str = "") -> AddResult:
        """Replaced only if `replaces` is its stamp. Equal content changes nothing."""

    async def remove_document(self, path: str, *, stamp: str) -> RemoveResult:
        """If this is its stamp."""

    async def wait_until_read(self, path: str) -> ShelfDocument | None:
        """After a while also if it still waits."""
