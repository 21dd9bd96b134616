"""The port to the index of documents, which SQLite and PostgreSQL implement, and the types that it takes and gives."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from orchestrator.domain.errors import SdelkaError
from orchestrator.services.rag.document import Passage, Problem

FORMAT: Final = 3
"""The version of what is stored; an index of another version is built anew. Raise it when terms or passages are made or kept otherwise."""
PUBLIC: Final = ""
"""The access class of documents that everybody may read."""
Vectors = NDArray[np.float32]


class IndexUnavailable(SdelkaError):
    """The index of documents cannot be read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """What the index knows of a file. `path` is its key, `name` what people read."""

    path: str
    name: str
    size: int
    mtime_ns: int
    digest: str = ""
    access: str = PUBLIC
    """The class of those who may read it, see `access.py`."""
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A file with its passages, which replace those that are indexed."""

    file: FileRecord
    passages: Sequence[Passage]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChanges:
    """Changes that become visible together."""

    removed: Sequence[str] = ()
    """Paths of files that are gone."""
    updated: Sequence[FileRecord] = ()
    """Files whose passages stay as they are."""
    stored: Sequence[StoredDocument] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changes."""
        return not (self.removed or self.updated or self.stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A passage that was found."""

    passage_id: int
    name: str
    """The name of its document's file."""
    title: str
    text: str
    coverage: float = 0.0
    """How much of what the question says stands in the passage, 0 to 1; rare words count more."""
    similarity: float = 0.0
    """The cosine of the vectors of question and passage, 0 if vectors were not compared."""


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """The vectors of passages, a row each, in the order of `ids`; `access` are the classes of their documents."""

    ids: NDArray[np.int64]
    access: Sequence[str]
    matrix: Vectors


class DocumentIndex(Protocol):
    """Stores passages and finds them. Methods block and may be called by several threads; they raise IndexUnavailable."""

    def load_files(self) -> Mapping[str, FileRecord]:
        """Return what is known of all files, by path."""

    def apply(self, changes: IndexChanges) -> None:
        """Store the changes in one transaction."""

    def mark_complete(self) -> None:
        """Remember that all documents of the folder have been read once."""

    def is_complete(self) -> bool:
        """Return whether all documents have been read once."""

    def count_passages(self) -> int:
        """Return how many passages there are."""

    def find_revision(self) -> int:
        """Return a number that grows with each change of passages or of who may read them."""

    def search(self, question: str, access: AbstractSet[str] | None, limit: int) -> Sequence[Hit]:
        """Return the passages that fit the words of the question best, best first.

        `access` are the classes of documents that may be seen; None means all documents.
        """

    def load_hits(self, ids: Sequence[int], access: AbstractSet[str] | None) -> Mapping[int, Hit]:
        """Return the passages with these ids; those that are gone or of a class that may not be seen are left out."""

    def list_texts_without_vectors(self, model: str, limit: int) -> Mapping[str, str]:
        """Return texts whose vectors by that model are not stored, by the hash of the text."""

    def store_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        """Store vectors by the hash of their text, and forget those of texts and models that are no longer used."""

    def load_vectors(self, model: str) -> PassageVectors:
        """Return the vectors of all passages that have one by that model."""

    def claim_updates(self) -> bool:
        """Return whether this process is the one that updates the index; it stays so until it ends."""

    def close(self) -> None:
        """Close the index."""
