"""The company's documents as somebody sees them who adds and removes them by chat: the port, and the values it exchanges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from orchestrator.domain.errors import SdelkaError

ShelfState = Literal["read", "waiting", "unreadable"]
"""read: people can ask it; waiting: it has not been read yet; unreadable: it cannot be read as it is."""
AddResult = Literal["added", "replaced", "same", "exists", "changed"]
"""same: exactly this content was there already, by whomever; exists: another document has this place, and was to be kept; changed: the
one that was to be replaced is not the one that was seen."""
RemoveResult = Literal["removed", "gone", "changed"]


class ShelfFailed(SdelkaError):
    """The folder of documents cannot be read or written. The text says why, for operations staff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShelfDocument:
    """One document of the folder."""

    path: str
    """Its place in the folder, such as "Кадры/отпуск.md"."""
    size: int
    stamp: str
    """What its file is now: another stamp is another content."""
    state: ShelfState
    readers: frozenset[str] | None = None
    """The roles that may read it; None for everybody."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why it is not readable, by language."""
    is_file: bool = True
    """Whether it is a file that can be replaced and removed; a link or a folder that is closed cannot."""


class DocumentShelf(Protocol):
    """The folder of documents. Each method raises ShelfFailed."""

    async def list_documents(self) -> Sequence[ShelfDocument]:
        """Return all documents, by path."""

    async def find_folder(self, name: str) -> str | None:
        """Return the path of the folder that `name` means, without regard to case; None if there is none."""

    async def find_document(self, path: str) -> ShelfDocument | None:
        """Return the document at this path, also if its name is written in other letters of the same kind; None if there is none."""

    async def find_readers(self, path: str) -> frozenset[str] | None:
        """Return the roles that may read a document at this path, None for everybody."""

    async def add_document(self, path: str, content: bytes, *, replaces: str = "") -> AddResult:
        """Store a document. One that is there is replaced only if `replaces` is its stamp. Equal content changes nothing."""

    async def remove_document(self, path: str, *, stamp: str) -> RemoveResult:
        """Remove the document if this is its stamp."""

    async def wait_until_read(self, path: str) -> ShelfDocument | None:
        """Let the document be read, and return it as it is then; after a while also if it is still waiting."""
