"""SQLite's full-text index of stems, ranked by BM25."""

import queue
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np
from filelock import FileLock, Timeout

from orchestrator.services.rag.document import Passage
from orchestrator.services.rag.index.port import (
    FORMAT,
    HIT,
    FileRecord,
    Hit,
    IndexChanges,
    IndexUnavailable,
    PassageVectors,
    SqlIndex,
    StoredDocument,
    Vectors,
    build_embedded_text,
    build_hit,
    build_vectors,
    hash_passage,
    write_contents,
    write_place,
    write_problem,
)
from orchestrator.services.rag.ranking import CANDIDATES, Wording
from orchestrator.services.rag.stems import find_name_words, find_question_terms, find_terms

_READERS: Final = 4
_BUSY_MS: Final = 10_000
_DAMAGED: Final = frozenset({11, 26})
"""SQLite's codes for corrupt, and for no database."""


class IndexFile:
    """Everything comes from the documents, so one of another version or damaged is replaced by an empty one."""

    def __init__(self, path: Path, schema: str) -> None:
        """Raises IndexUnavailable."""
        self._path, self._schema = path, schema
        self._lock = FileLock(path.with_suffix(".lock"), thread_local=False)
        self._writing = threading.RLock()
        self._is_closed = self._is_damaged = False
        self._readers: queue.LifoQueue[tuple[int, sqlite3.Connection]] = queue.LifoQueue()
        self._number = 0
        """Grows when the file is replaced; readers of an earlier one are opened anew."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _open_file(path, schema)
            for _ in range(_READERS):
                self._readers.put((0, _connect_reader(path)))
        except (sqlite3.Error, OSError) as error:
            raise IndexUnavailable(f"{path.name} cannot be opened: {error}") from None

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """All statements see the same state. Raises IndexUnavailable."""
        self._replace_damaged()
        number, connection = self._readers.get()
        try:
            if number != self._number:
                connection.close()
                number, connection = self._number, _connect_reader(self._path)
            connection.execute("BEGIN")
            yield connection
        except sqlite3.Error as error:
            self._note_damage(error)
            raise IndexUnavailable(f"the index cannot be read: {error}") from None
        finally:
            with suppress(sqlite3.Error):
                if connection.in_transaction:
                    connection.rollback()
            self._readers.put((number, connection))

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """In a transaction. Raises IndexUnavailable."""
        self._replace_damaged()
        with self._writing:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                yield self._writer
                self._writer.commit()
            except sqlite3.Error as error:
                self._note_damage(error)
                raise IndexUnavailable(f"the index cannot be written: {error}") from None
            finally:
                with suppress(sqlite3.Error):
                    if self._writer.in_transaction:
                        self._writer.rollback()

    def claim(self) -> bool:
        """It stays so until the process ends."""
        try:
            self._lock.acquire(timeout=0)
        except (Timeout, OSError):
            return False
        return True

    def close(self) -> None:
        with self._writing:
            if self._is_closed:
                return
            self._is_closed = True
            self._writer.close()
        for _ in range(_READERS):
            self._readers.get()[1].close()
        self._lock.release(force=True)

    def _note_damage(self, error: sqlite3.Error) -> None:
        """Only if this process may replace it."""
        if is_damage(error) and self._lock.is_locked:
            self._is_damaged = True

    def _replace_damaged(self) -> None:
        """Raises IndexUnavailable."""
        if not self._is_damaged:
            return
        with self._writing:
            if not self._is_damaged or self._is_closed:
                return
            try:
                self._writer.close()
                with FileLock(self._path.with_suffix(".opening")):
                    _remove_file(self._path)
                self._writer = _open_file(self._path, self._schema)
            except (sqlite3.Error, OSError) as error:
                raise IndexUnavailable(f"{self._path.name} is damaged and cannot be replaced: {error}") from None
            self._number += 1
            self._is_damaged = False


def is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(code, int) and code & 0xFF in _DAMAGED


def find_number(connection: sqlite3.Connection, query: str, *values: str | int) -> int:
    """0 for none."""
    rows = connection.execute(query, values).fetchall()
    return int(rows[0][0]) if rows else 0


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    return connection


def _connect_reader(path: Path) -> sqlite3.Connection:
    reader = _connect(path)
    reader.execute("PRAGMA cache_size = -16000")
    return reader


def _open_file(path: Path, schema: str) -> sqlite3.Connection:
    """Another version and a damaged file are removed."""
    with FileLock(path.with_suffix(".opening")):
        try:
            return _prepare(path, schema)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
        _remove_file(path)
        return _prepare(path, schema)


def _prepare(path: Path, schema: str) -> sqlite3.Connection:
    connection = _connect(path)
    try:
        version = find_number(connection, "PRAGMA user_version")
        if version not in {0, FORMAT}:
            connection.close()
            _remove_file(path)
            connection, version = _connect(path), 0
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if version == 0:
            connection.executescript(f"BEGIN;{schema}PRAGMA user_version = {FORMAT};COMMIT;")
        connection.execute("SELECT value FROM facts").fetchall()
        connection.execute("SELECT count(*) FROM documents").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _remove_file(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


_SCHEMA: Final = """
CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL, size INTEGER NOT NULL,
  mtime_ns INTEGER NOT NULL, digest TEXT NOT NULL, access TEXT NOT NULL, problem TEXT NOT NULL, details TEXT NOT NULL,
  contents TEXT NOT NULL);
CREATE TABLE passages (id INTEGER PRIMARY KEY, document_id INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL, hash TEXT NOT NULL,
  place TEXT NOT NULL);
CREATE INDEX passages_document ON passages (document_id);
CREATE INDEX passages_hash ON passages (hash);
CREATE VIRTUAL TABLE terms USING fts5 (title, body, tokenize = 'ascii');
INSERT INTO terms (terms, rank) VALUES ('rank', 'bm25(2.5, 1.0)');
CREATE VIRTUAL TABLE term_counts USING fts5vocab (terms, row);
CREATE TABLE vectors (model TEXT NOT NULL, hash TEXT NOT NULL, vector BLOB NOT NULL, PRIMARY KEY (model, hash)) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO facts VALUES ('revision', 1), ('complete', 0), ('last_id', 0);
"""
_FIND: Final = """
SELECT {columns} FROM terms CROSS JOIN passages p ON p.id = terms.rowid
CROSS JOIN documents d ON d.id = p.document_id WHERE terms MATCH ?{filter} ORDER BY terms.rank LIMIT ?
"""


class SqliteIndex(SqlIndex):
    """A file of another version, or a damaged one, is built anew."""

    def __init__(self, path: Path) -> None:
        """Raises IndexUnavailable."""
        self._file = IndexFile(path, _SCHEMA)
        self._write = self._file.write
        self._counts: tuple[int, dict[str, int], int] = (0, {}, 0)

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._file.read()

    def apply(self, changes: IndexChanges) -> None:
        if changes.is_empty:
            return
        with self._write() as connection:
            for path in changes.removed:
                _remove_passages(connection, path)
                connection.execute("DELETE FROM documents WHERE path = ?", (path,))
            for file in changes.updated:
                _store_file(connection, file)
            for stored in changes.stored:
                _store_document(connection, stored)
            connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'revision'")

    def mark_complete(self) -> None:
        """Also puts the full-text index into its fastest form."""
        with self._write() as connection:
            connection.execute("INSERT INTO terms (terms) VALUES ('optimize')")
            connection.execute("UPDATE facts SET value = 1 WHERE name = 'complete'")

    def search(self, question: str, access: AbstractSet[str] | None, limit: int) -> Sequence[Hit]:
        with self._read() as connection:
            wording = self._find_wording(connection, question)
            if not wording.terms:
                return ()
            classes = sorted(access) if access is not None else []
            marks = "" if access is None else f" AND d.access IN ({','.join('?' * len(classes))})"
            match = build_match(wording.list_searched(), wording.list_prefixes())
            rows = connection.execute(_FIND.format(columns=HIT, filter=marks), (match, *classes, max(limit, CANDIDATES))).fetchall()
        return wording.choose_best([build_hit(row) for row in rows], limit)

    def _find_wording(self, connection: sqlite3.Connection, question: str) -> Wording:
        revision = find_number(connection, "SELECT value FROM facts WHERE name = 'revision'")
        if self._counts[0] != revision:
            self._counts = (revision, {}, find_number(connection, "SELECT count(*) FROM passages"))
        known, total = self._counts[1:]

        terms = find_question_terms(question)
        for term in terms:
            if term not in known:
                known[term] = find_number(connection, "SELECT doc FROM term_counts WHERE term = ?", term)
        return Wording(terms, total, known)

    def list_missing(self, terms: Sequence[str], access: AbstractSet[str] | None) -> Sequence[str]:
        classes = sorted(access) if access is not None else []
        seen = "" if access is None else f" AND d.access IN ({','.join('?' * len(classes))})"
        query = f"""SELECT count(*) FROM (SELECT 1 FROM terms CROSS JOIN passages p ON p.id = terms.rowid
          CROSS JOIN documents d ON d.id = p.document_id WHERE terms MATCH ?{seen} LIMIT 1)"""  # noqa: S608 - constants and marks
        with self._read() as connection:
            return [term for term in terms if not find_number(connection, query, build_match([term]), *classes)]

    def load_hits(self, ids: Sequence[int], access: AbstractSet[str] | None) -> Mapping[int, Hit]:
        query = f"SELECT {HIT}, d.access FROM passages p JOIN documents d ON d.id = p.document_id WHERE p.id = ?"  # noqa: S608 - constants
        with self._read() as connection:
            rows = [row for one in ids for row in connection.execute(query, (one,))]
        return {row[0]: build_hit(row) for row in rows if access is None or row[-1] in access}

    def list_texts_without_vectors(self, model: str, limit: int) -> Mapping[str, str]:
        query = """SELECT DISTINCT p.hash, p.title, p.text FROM passages p LEFT JOIN vectors v ON v.model = ? AND v.hash = p.hash
          WHERE v.hash IS NULL LIMIT ?"""
        with self._read() as connection:
            return {row[0]: build_embedded_text(row[1], row[2]) for row in connection.execute(query, (model, limit))}

    def store_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        with self._write() as connection:
            rows = [(model, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            connection.execute("DELETE FROM vectors WHERE model <> ? OR hash NOT IN (SELECT hash FROM passages)", (model,))
            connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'revision'")

    def load_vectors(self, model: str) -> PassageVectors:
        query = """SELECT p.id, d.access, v.vector FROM vectors v JOIN passages p ON p.hash = v.hash
          JOIN documents d ON d.id = p.document_id
          WHERE v.model = ? ORDER BY p.id"""
        with self._read() as connection:
            rows = connection.execute(query, (model,)).fetchall()
        return build_vectors([(row[0], row[1], np.frombuffer(row[2], dtype="<f4")) for row in rows])

    def claim_updates(self) -> bool:
        return self._file.claim()

    def close(self) -> None:
        self._file.close()


def build_match(terms: Sequence[str], prefixes: Sequence[str] = ()) -> str:
    """Any of the terms, or one that begins like a prefix."""
    return " OR ".join([*(f'"{term}"' for term in terms), *(f'"{prefix}"*' for prefix in prefixes)])


def _remove_passages(connection: sqlite3.Connection, path: str) -> None:
    chosen = "(SELECT id FROM passages WHERE document_id = (SELECT id FROM documents WHERE path = ?))"
    connection.execute(f"DELETE FROM terms WHERE rowid IN {chosen}", (path,))  # noqa: S608 - a constant
    connection.execute("DELETE FROM passages WHERE document_id = (SELECT id FROM documents WHERE path = ?)", (path,))


def _store_file(connection: sqlite3.Connection, file: FileRecord) -> int:
    values = (
        file.path,
        file.name,
        file.size,
        file.mtime_ns,
        file.digest,
        file.access,
        *write_problem(file.problem),
        write_contents(file.contents),
    )
    row = connection.execute(
        """INSERT INTO documents (path, name, size, mtime_ns, digest, access, problem, details, contents) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (path) DO UPDATE SET name = excluded.name, size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest,
        access = excluded.access, problem = excluded.problem, details = excluded.details,
        contents = excluded.contents RETURNING id""",
        values,
    ).fetchone()
    return int(row[0])


def _store_document(connection: sqlite3.Connection, stored: StoredDocument) -> None:
    _remove_passages(connection, stored.file.path)
    document = _store_file(connection, stored.file)
    # an id is never used again: a search that found it before must not read another passage under it
    last = find_number(connection, "UPDATE facts SET value = value + ? WHERE name = 'last_id' RETURNING value", len(stored.passages))
    passages = list(enumerate(stored.passages, last - len(stored.passages) + 1))
    rows = [
        (number, document, passage.title, passage.text, hash_passage(passage), write_place(passage.place)) for number, passage in passages
    ]
    connection.executemany("INSERT INTO passages VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.executemany(
        "INSERT INTO terms (rowid, title, body) VALUES (?, ?, ?)", _iterate_terms(passages, find_name_words(stored.file.name))
    )


def _iterate_terms(passages: Sequence[tuple[int, Passage]], name: str) -> Iterator[tuple[int, str, str]]:
    """By title, file name and text; the terms of a title are made once."""
    title_terms: dict[str, str] = {}
    for number, passage in passages:
        title = title_terms.get(passage.title)
        if title is None:
            title = title_terms[passage.title] = " ".join(dict.fromkeys(find_terms(f"{passage.title} {name}")))
        yield number, title, " ".join(find_terms(passage.text))
