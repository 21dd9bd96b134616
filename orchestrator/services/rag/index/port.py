import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import orjson
from numpy.typing import NDArray
from pydantic import TypeAdapter

from orchestrator.domain.errors import SdelkaError
from orchestrator.domain.shelf import NO_CONTENTS, Contents
from orchestrator.services.rag.document import Passage, Place, Problem

FORMAT: Final = 4
"""An index of another version is built anew. Raise it when terms or passages change."""
PUBLIC: Final = ""
"""Everybody may read them."""
Vectors = NDArray[np.float32]


class IndexUnavailable(SdelkaError):
    """The index of documents cannot be read or written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """`path` is its key, `name` what people read."""

    path: str
    name: str
    size: int
    mtime_ns: int
    digest: str = ""
    access: str = PUBLIC
    """See `access.py`."""
    problem: Problem | None = None
    contents: Contents = NO_CONTENTS


@dataclass(frozen=True, slots=True)
class StoredDocument:
    file: FileRecord
    passages: Sequence[Passage]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexChanges:
    removed: Sequence[str] = ()
    """Files that are gone."""
    updated: Sequence[FileRecord] = ()
    """Their passages stay."""
    stored: Sequence[StoredDocument] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.removed or self.updated or self.stored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    passage_id: int
    name: str
    title: str
    text: str
    path: str = ""
    """Of its file, as `FileRecord`."""
    read_at: int = 0
    """When the file was changed, in nanoseconds."""
    place: Place | None = None
    coverage: float = 0.0
    """0 to 1; rare words count more."""
    shown: str = ""
    """The rows of a table that the question's words choose; "" for all of the text."""
    similarity: float = 0.0
    """0 if vectors were not compared."""


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """In the order of `ids`."""

    ids: NDArray[np.int64]
    access: Sequence[str]
    matrix: Vectors


class DocumentIndex(Protocol):
    """Methods block, may be called by several threads, and raise IndexUnavailable."""

    def load_files(self) -> Mapping[str, FileRecord]: ...

    def apply(self, changes: IndexChanges) -> None:
        """In one transaction."""

    def mark_complete(self) -> None: ...

    def is_complete(self) -> bool: ...

    def count_passages(self) -> int: ...

    def find_revision(self) -> int:
        """Grows with each change."""

    def search(self, question: str, access: AbstractSet[str] | None, limit: int) -> Sequence[Hit]:
        """Best first. `access`: classes that may be seen; None means all."""

    def list_missing(self, terms: Sequence[str], access: AbstractSet[str] | None) -> Sequence[str]:
        """Those that stand in no passage that may be seen."""

    def load_hits(self, ids: Sequence[int], access: AbstractSet[str] | None) -> Mapping[int, Hit]:
        """Without those that are gone or may not be seen."""

    def list_texts_without_vectors(self, model: str, limit: int) -> Mapping[str, str]:
        """By hash of the text."""

    def store_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        """Forgets those that are no longer used."""

    def load_vectors(self, model: str) -> PassageVectors:
        """Of all passages that have one."""

    def claim_updates(self) -> bool:
        """It stays so until the process ends."""

    def close(self) -> None:
        """Another process may update then."""


_PROBLEM: Final = TypeAdapter(Problem)
_PLACE: Final = TypeAdapter(Place)
_CONTENTS: Final = TypeAdapter(Contents)


def write_problem(problem: Problem | None) -> tuple[str, str]:
    """(code, details as JSON)."""
    return ("", "") if problem is None else (problem.code, orjson.dumps(dict(problem.details)).decode())


def read_problem(code: str, details: str) -> Problem | None:
    return _PROBLEM.validate_python({"code": code, "details": orjson.loads(details or "{}")}) if code else None


def write_place(place: Place | None) -> str:
    """As JSON, "" for none."""
    return "" if place is None else _PLACE.dump_json(place).decode()


def write_contents(contents: Contents) -> str:
    return _CONTENTS.dump_json(contents, exclude_defaults=True).decode()


def build_hit(row: Sequence[Any]) -> Hit:
    """Of the columns `HIT`."""
    number, name, title, text, place, path, changed = row[:7]
    return Hit(
        passage_id=number,
        name=name,
        title=title,
        text=text,
        place=_PLACE.validate_json(place) if place else None,
        path=path,
        read_at=changed,
    )


HIT: Final = "p.id, d.name, p.title, p.text, p.place, d.path, d.mtime_ns"
"""Columns of passages p and documents d."""


class SqlIndex(ABC):
    """What is asked of either database in the same words."""

    @abstractmethod
    def _read(self) -> AbstractContextManager[Any]:
        """A connection of the driver. All statements see the same state."""

    def load_files(self) -> Mapping[str, FileRecord]:
        with self._read() as connection:
            rows = connection.execute(
                "SELECT path, name, size, mtime_ns, digest, access, problem, details, contents FROM documents"
            ).fetchall()
        return {
            path: FileRecord(
                path=path,
                name=name,
                size=size,
                mtime_ns=mtime,
                digest=digest,
                access=access,
                problem=read_problem(problem, details),
                contents=_CONTENTS.validate_json(contents),
            )
            for path, name, size, mtime, digest, access, problem, details, contents in rows
        }

    def is_complete(self) -> bool:
        return bool(self._load_facts().get("complete"))

    def find_revision(self) -> int:
        return self._load_facts().get("revision", 0)

    def _load_facts(self) -> dict[str, int]:
        with self._read() as connection:
            return dict(connection.execute("SELECT name, value FROM facts").fetchall())

    def count_passages(self) -> int:
        with self._read() as connection:
            return int(connection.execute("SELECT count(*) FROM passages").fetchone()[0])


def hash_passage(passage: Passage) -> str:
    return hashlib.sha256(build_embedded_text(passage.title, passage.text).encode("utf-8", "replace")).hexdigest()


def build_embedded_text(title: str, text: str) -> str:
    return f"{title}\n{text}"


def build_vectors(rows: Sequence[tuple[int, str, Vectors]]) -> PassageVectors:
    """Of length 1; vectors of another size than the first are left out."""
    same_size = [row for row in rows if len(row[2]) == len(rows[0][2])]
    matrix = np.stack([row[2] for row in same_size]).astype(np.float32) if same_size else np.zeros((0, 1), dtype=np.float32)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    return PassageVectors(
        np.array([row[0] for row in same_size], dtype=np.int64), [row[1] for row in same_size], matrix / np.maximum(norms, 1e-12)
    )
