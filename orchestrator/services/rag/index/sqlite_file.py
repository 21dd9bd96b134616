"""The file of the index. Everything comes from the documents, so one of another version or damaged is replaced by an empty one."""

import queue
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from orchestrator.services.rag.index.port import FORMAT, IndexUnavailable

_READERS: Final = 4
_BUSY_MS: Final = 10_000
_DAMAGED: Final = frozenset({11, 26})
"""SQLite's codes for corrupt, and for no database."""


class IndexFile:
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
