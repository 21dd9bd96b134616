"""The file of the mirror: where it lies, how it is opened, set aside, deleted, and who may fill it.

It can be loaded again at any time. What cannot be used (damaged, of another portal or of other tables) is set aside and begun anew.
"""

import contextlib
import errno
import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from state.mirror.median import Median
from state.mirror.schema import INDEXES, TABLES, TRIGGERS, VERSION

FOLDER: Final = "mirror"
ASIDE: Final = ".aside"
_SIDES: Final = ("-wal", "-shm")
_BUSY_SECONDS: Final = 10.0
_FINGERPRINT: Final = hashlib.sha256(f"{VERSION}{TABLES}{INDEXES}{TRIGGERS}".encode()).hexdigest()[:16]
_FULL: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class MirrorError(Exception):
    """The mirror cannot be used now."""


class NoMirror(MirrorError):
    """There is no file, or it was deleted meanwhile: it is loaded anew."""


class MirrorDamaged(MirrorError):
    """The file cannot be read: it will be set aside and loaded anew."""


class DiskFull(MirrorError):
    """There is no room for the mirror. What it held before stays readable."""


class MirrorFile:
    """`folder` is STATE_DIR, `portal` the host. Files of several portals lie side by side."""

    def __init__(self, folder: Path, portal: str) -> None:
        self._fingerprint = f"{_FINGERPRINT} {hashlib.sha256(portal.encode()).hexdigest()[:16]}"
        self.path = folder / FOLDER / f"{hashlib.sha256(portal.encode()).hexdigest()[:16]}.sqlite"

    def open_for_writing(self) -> sqlite3.Connection:
        """Create the file, or set aside one that cannot be used. Raises MirrorError."""
        with report_trouble():
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self.path.exists() and not self._is_usable():
                self.set_aside()
            connection = self._connect()
            try:
                self._create_tables(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    def open_for_reading(self) -> sqlite3.Connection:
        """A connection that cannot write and has the aggregate `median`. Use it in one thread, for one report. Raises MirrorError."""
        if not self.path.exists():
            raise NoMirror
        with report_trouble():
            connection = sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=_BUSY_SECONDS)
            try:
                self._refuse_foreign(connection)
                # Typing knows no aggregate whose result is optional.
                connection.create_aggregate("median", 1, Median)  # type: ignore[arg-type]
            except BaseException:
                connection.close()
                raise
            return connection

    def identify(self) -> tuple[int, int] | None:
        """What differs when the file was deleted or set aside; None without a file."""
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def set_aside(self) -> None:
        """For a file that turned out to be damaged: it is kept once, for whoever wants to know why."""
        with report_trouble():
            self.delete_aside()
            for path, aside in zip(self._list_parts(self.path), self._list_parts(self._aside), strict=True):
                with contextlib.suppress(FileNotFoundError):
                    path.rename(aside)

    def delete(self) -> None:
        """Everything, also what was set aside. Readers that have it open see the old numbers until they close it."""
        for path in (*self._list_parts(self.path), *self._list_parts(self._aside)):
            path.unlink(missing_ok=True)

    def delete_aside(self) -> None:
        for path in self._list_parts(self._aside):
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def lease(self, work: str) -> Iterator[bool]:
        """Of all processes one does a `work` at a time; False if another does. It ends with the process, however that ends.

        Raises MirrorError.
        """
        lock = FileLock(f"{self.path}.{work}.lock", thread_local=False)
        try:
            with report_trouble():
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with contextlib.suppress(Timeout):
                    lock.acquire(timeout=0)
            if not lock.is_locked:
                yield False
                return
            yield True
        finally:
            lock.release()

    @property
    def _aside(self) -> Path:
        return self.path.with_name(self.path.name + ASIDE)

    def _list_parts(self, path: Path) -> list[Path]:
        return [path, *(path.with_name(path.name + side) for side in _SIDES)]

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=_BUSY_SECONDS, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a lost last portion is read again
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _is_usable(self) -> bool:
        try:
            with contextlib.closing(self._connect()) as connection:
                return _read_fingerprint(connection) in {self._fingerprint, ""}
        except sqlite3.DatabaseError as error:
            if find_primary_code(error) in _DAMAGED:
                return False
            raise

    def _refuse_foreign(self, connection: sqlite3.Connection) -> None:
        if _read_fingerprint(connection) != self._fingerprint:
            raise NoMirror("the file is of another portal or of other tables")

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        if _read_fingerprint(connection):
            return
        connection.executescript(f"BEGIN IMMEDIATE; {TABLES} {INDEXES} {TRIGGERS}")
        connection.execute("INSERT INTO meta VALUES ('fingerprint', ?)", (self._fingerprint,))
        connection.execute("COMMIT")


def delete_mirrors(folder: Path) -> int:
    """Those of all portals in STATE_DIR, and how many: they are loaded anew. The locks stay, whoever holds one goes on holding it."""
    paths = [path for path in (folder / FOLDER).glob("*.sqlite*") if path.suffix != ".lock"]
    for path in paths:
        path.unlink(missing_ok=True)
    return sum(path.suffix == ".sqlite" for path in paths)


def _read_fingerprint(connection: sqlite3.Connection) -> str:
    """ "" of a file without tables; a text that is nobody's of one with other tables."""
    if not connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        return ""
    try:
        row = connection.execute("SELECT value FROM meta WHERE name = 'fingerprint'").fetchone()
    except sqlite3.OperationalError:
        return "unknown"
    return str(row[0]) if row else "unknown"


def find_primary_code(error: sqlite3.Error) -> int:
    return (getattr(error, "sqlite_errorcode", 0) or 0) & 0xFF


@contextlib.contextmanager
def report_trouble() -> Iterator[None]:
    """Translate what SQLite and the system raise into a MirrorError."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) or 0
        if code in _FULL or code & 0xFF == sqlite3.SQLITE_FULL:
            raise DiskFull(str(error)) from error
        if code & 0xFF in _DAMAGED:
            raise MirrorDamaged(str(error)) from error
        raise MirrorError(str(error)) from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull(str(error)) from error
        raise MirrorError(str(error)) from error
