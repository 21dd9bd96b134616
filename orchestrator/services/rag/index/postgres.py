"""PostgreSQL's own search in a schema of its own. Its rank knows no rarity of words, so each word is weighed by it."""

import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager, suppress
from typing import Any, Final

import numpy as np
import psycopg
from psycopg import sql

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
from orchestrator.services.rag.stems import find_name_words, list_question_words, list_words

_Connection = psycopg.Connection[tuple[Any, ...]]
_LOCK: Final = 0x5DE1_0000_0000
_READING_MS: Final = 8_000
"""Nobody waits longer, and all others wait meanwhile."""
_WRITING_MS: Final = 80_000
_TABLES: Final = (
    """CREATE TABLE documents (id bigserial PRIMARY KEY, path text NOT NULL UNIQUE, name text NOT NULL, size bigint NOT NULL,
    mtime_ns bigint NOT NULL, digest text NOT NULL, access text NOT NULL, problem text NOT NULL, details text NOT NULL,
    contents text NOT NULL)""",
    """CREATE TABLE passages (id bigserial PRIMARY KEY, document_id bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    title text NOT NULL, text text NOT NULL, hash text NOT NULL, place text NOT NULL, terms tsvector NOT NULL)""",
    # The terms of each found passage are read once for each term of the question. They stay in the row, and its text is moved out instead:
    # reading them from elsewhere takes twice the time.
    "ALTER TABLE passages ALTER COLUMN terms SET STORAGE MAIN",
    "CREATE INDEX passages_document ON passages (document_id)",
    "CREATE INDEX passages_hash ON passages (hash)",
    "CREATE INDEX passages_terms ON passages USING gin (terms)",
    "CREATE TABLE vectors (model text NOT NULL, hash text NOT NULL, vector bytea NOT NULL, PRIMARY KEY (model, hash))",
    "CREATE TABLE facts (name text PRIMARY KEY, value bigint NOT NULL)",
)
_STORE_FILE: Final = """INSERT INTO documents (path, name, size, mtime_ns, digest, access, problem, details, contents)
    VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (path) DO UPDATE SET name = excluded.name, size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest,
    access = excluded.access, problem = excluded.problem, details = excluded.details, contents = excluded.contents RETURNING id"""
_STORE_PASSAGE: Final = """INSERT INTO passages (document_id, title, text, hash, place, terms) VALUES
    (%s, %s, %s, %s, %s, setweight(to_tsvector('russian', %s), 'A') || setweight(to_tsvector('russian', %s), 'D'))"""
_HIT: Final = f"{HIT} FROM passages p JOIN documents d ON d.id = p.document_id"
_WEIGHTS: Final = "{0.4, 0.4, 0.4, 1.0}"
_FIND: Final = """SELECT {columns} FROM
    (SELECT id, ({ranks}) / (1 + ln(length(terms))) AS rank FROM passages
      WHERE terms @@ %s::tsquery AND {access} ORDER BY rank DESC, id LIMIT %s) best
    JOIN passages p USING (id) JOIN documents d ON d.id = p.document_id ORDER BY best.rank DESC, p.id"""
"""Only the best passages are joined: joining all takes a third of the time of ranking them."""


class PostgresIndex(SqlIndex):
    """A schema of another version is built anew."""

    def __init__(self, url: str, schema: str) -> None:
        """`url` is SQLAlchemy's or the driver's. Raises IndexUnavailable."""
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)
        self._schema = schema
        self._writing, self._reading = threading.Lock(), threading.Lock()
        self._writer: _Connection | None = None
        self._reader: _Connection | None = None
        self._is_claimed = False
        self._counts: tuple[int, dict[str, int], int] = (0, {}, 0)
        with self._write() as connection:
            _create_schema(connection, schema)

    def _connect(self, patience_ms: int) -> _Connection:
        connection = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(self._schema)))
        connection.execute(f"SET statement_timeout = {patience_ms}")
        return connection

    @contextmanager
    def _read(self) -> Iterator[_Connection]:
        """All statements see the same state."""
        with self._reading:
            try:
                if self._reader is None or self._reader.closed:
                    self._reader = self._connect(_READING_MS)
                    self._reader.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                with self._reader.transaction():
                    yield self._reader
            except psycopg.Error as error:
                raise IndexUnavailable(f"the index cannot be read: {type(error).__name__}") from None

    @contextmanager
    def _write(self) -> Iterator[_Connection]:
        """In a transaction."""
        with self._writing:
            try:
                if self._writer is None or self._writer.closed:
                    self._writer, self._is_claimed = self._connect(_WRITING_MS), False
                with self._writer.transaction():
                    yield self._writer
            except psycopg.Error as error:
                raise IndexUnavailable(f"the index cannot be written: {type(error).__name__}") from None

    def apply(self, changes: IndexChanges) -> None:
        if changes.is_empty:
            return
        with self._write() as connection:
            connection.execute("DELETE FROM documents WHERE path = ANY(%s)", (list(changes.removed),))
            for file in changes.updated:
                _store_file(connection, file)
            for stored in changes.stored:
                _store_document(connection, stored)
            _grow_revision(connection)

    def mark_complete(self) -> None:
        with self._write() as connection:
            connection.execute("UPDATE facts SET value = 1 WHERE name = 'complete'")

    def search(self, question: str, access: AbstractSet[str] | None, limit: int) -> Sequence[Hit]:
        with self._read() as connection:
            wording = self._find_wording(connection, question)
            if not wording.terms:
                return ()
            ranks = " + ".join("%s * ts_rank(%s::float4[], terms, %s::tsquery)" for _ in wording.terms)
            weighed = [
                value
                for one in wording.terms
                for value in (one.weight, _WEIGHTS, _build_match([one.term, *one.office_words], [one.prefix]))
            ]
            opened = "TRUE" if access is None else "document_id IN (SELECT id FROM documents WHERE access = ANY(%s))"
            classes = [] if access is None else [sorted(access)]
            match = _build_match(wording.list_searched(), wording.list_prefixes())
            values = (*weighed, match, *classes, max(limit, CANDIDATES))
            rows = connection.execute(_FIND.format(columns=HIT, ranks=ranks, access=opened), values).fetchall()
        return wording.choose_best([build_hit(row) for row in rows], limit)

    def _find_wording(self, connection: _Connection, question: str) -> Wording:
        revision = _find_number(connection, "SELECT value FROM facts WHERE name = 'revision'")
        if self._counts[0] != revision:
            self._counts = (revision, {}, _find_number(connection, "SELECT count(*) FROM passages"))
        known, total = self._counts[1:]
        words = " ".join(list_question_words(question))
        row = connection.execute("SELECT tsvector_to_array(to_tsvector('russian', %s))", (words,)).fetchone()
        terms: list[str] = list(row[0]) if row is not None else []
        for term in terms:
            if term not in known:
                known[term] = _find_number(connection, "SELECT count(*) FROM passages WHERE terms @@ %s::tsquery", _quote(term))
        return Wording(terms, total, known)

    def list_missing(self, terms: Sequence[str], access: AbstractSet[str] | None) -> Sequence[str]:
        query = """SELECT count(*) FROM (SELECT 1 FROM passages p JOIN documents d ON d.id = p.document_id
          WHERE p.terms @@ %s::tsquery AND (%s OR d.access = ANY(%s)) LIMIT 1) found"""
        with self._read() as connection:
            return [term for term in terms if not _find_number(connection, query, _quote(term), access is None, sorted(access or ()))]

    def load_hits(self, ids: Sequence[int], access: AbstractSet[str] | None) -> Mapping[int, Hit]:
        query = f"SELECT {_HIT} WHERE p.id = ANY(%s) AND (%s OR d.access = ANY(%s))"
        with self._read() as connection:
            rows = connection.execute(query.encode(), (list(ids), access is None, sorted(access or ()))).fetchall()
        return {row[0]: build_hit(row) for row in rows}

    def list_texts_without_vectors(self, model: str, limit: int) -> Mapping[str, str]:
        query = """SELECT DISTINCT ON (p.hash) p.hash, p.title, p.text FROM passages p
          LEFT JOIN vectors v ON v.model = %s AND v.hash = p.hash WHERE v.hash IS NULL LIMIT %s"""
        with self._read() as connection:
            return {row[0]: build_embedded_text(row[1], row[2]) for row in connection.execute(query, (model, limit))}

    def store_vectors(self, model: str, vectors: Mapping[str, Vectors]) -> None:
        rows = [(model, key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._write() as connection:
            connection.cursor().executemany(
                "INSERT INTO vectors VALUES (%s, %s, %s) ON CONFLICT (model, hash) DO UPDATE SET vector = excluded.vector", rows
            )
            connection.execute("DELETE FROM vectors WHERE model <> %s OR hash NOT IN (SELECT hash FROM passages)", (model,))
            _grow_revision(connection)

    def load_vectors(self, model: str) -> PassageVectors:
        query = """SELECT p.id, d.access, v.vector FROM vectors v JOIN passages p ON p.hash = v.hash
          JOIN documents d ON d.id = p.document_id WHERE v.model = %s ORDER BY p.id"""
        with self._read() as connection:
            rows = connection.execute(query, (model,)).fetchall()
        return build_vectors([(row[0], row[1], np.frombuffer(row[2], dtype="<f4")) for row in rows])

    def claim_updates(self) -> bool:
        with self._write() as connection:
            if not self._is_claimed:
                key = _LOCK + zlib.crc32(self._schema.encode())
                self._is_claimed = bool(_find_number(connection, "SELECT pg_try_advisory_lock(%s)::int", key))
            return self._is_claimed

    def close(self) -> None:
        """Lets another process update."""
        with self._writing, self._reading:
            for connection in (self._writer, self._reader):
                if connection is not None:
                    with suppress(psycopg.Error):
                        # the server notices that a connection is closed a while later, and another process must not wait for that
                        connection.execute("SELECT pg_advisory_unlock_all()")
                    with suppress(psycopg.Error):
                        connection.close()


def _quote(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


def _build_match(terms: Sequence[str], prefixes: Sequence[str]) -> str:
    """An empty text finds nothing."""
    return " | ".join([*map(_quote, terms), *(f"{_quote(prefix)}:*" for prefix in prefixes if prefix)])


def _find_number(connection: _Connection, query: str, *values: str | int | Sequence[str]) -> int:
    row = connection.execute(query.encode(), values).fetchone()
    return int(row[0]) if row is not None else 0


def _create_schema(connection: _Connection, schema: str) -> None:
    """Unless they are there in the present version."""
    name = sql.Identifier(schema)
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
    query = "SELECT count(*) FROM information_schema.tables WHERE table_schema = %s AND table_name = 'facts'"
    if _find_number(connection, query, schema):
        if _find_number(connection, "SELECT value FROM facts WHERE name = 'format'") == FORMAT:
            return
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(name))
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
    for table in _TABLES:
        connection.execute(table.encode())
    connection.execute("INSERT INTO facts VALUES ('format', %s), ('revision', 1), ('complete', 0)", (FORMAT,))


def _grow_revision(connection: _Connection) -> None:
    connection.execute("UPDATE facts SET value = value + 1 WHERE name = 'revision'")


def _store_file(connection: _Connection, file: FileRecord) -> int:
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
    return _find_number(connection, _STORE_FILE, *values)


def _store_document(connection: _Connection, stored: StoredDocument) -> None:
    document = _store_file(connection, stored.file)
    connection.execute("DELETE FROM passages WHERE document_id = %s", (document,))
    name = find_name_words(stored.file.name)
    rows = [
        (
            document,
            one.title,
            one.text,
            hash_passage(one),
            write_place(one.place),
            " ".join(list_words(f"{one.title} {name}")),
            " ".join(list_words(one.text)),
        )
        for one in stored.passages
    ]
    connection.cursor().executemany(_STORE_PASSAGE, rows)
