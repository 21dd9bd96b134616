"""Runs compiled statements in transactions.

Core's own execution costs five times the statement, so the driver's cursor executes them.
"""

import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from types import TracebackType
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sqlalchemy import Dialect as SpokenDialect
from sqlalchemy import Insert, PoolProxiedConnection, Table, bindparam
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql.expression import ClauseElement

from state.journal.store import StoreError, StoreUnwritable
from state.sql.dialect import Dialect

Params = Mapping[str, Any]
Row = tuple[Any, ...]
T = TypeVar("T")
X = TypeVar("X", bound="Transaction")
TRIES = 4
SAME_TIME = timedelta(seconds=1)
SKEW_FOR = 5.0
_PLACE: Final = re.compile(r"%\((\w+)\)s")
_QUOTES: Final = re.compile(r" with text '| DETAIL: Failing row| CONTEXT: ")
"""Messages are cut where they begin to quote values: keys or people's text."""


class Contended(StoreUnwritable):
    """Rolled back because of another transaction; a retry may succeed."""


UNDONE: Mapping[str, type[StoreError]] = {"40001": Contended, "40P01": Contended}
"""PostgreSQL's codes for such a conflict: nothing was stored."""


class Native(NamedTuple):
    name: bytes
    text: bytes
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    sql: str
    fixed: Params
    conflict: type[StoreError] = StoreError

    @cached_property
    def native(self) -> Native:
        return _build_native(self.sql)

    @cached_property
    def guarded(self) -> Native:
        """Fails with a division by zero if the statement returns no row."""
        return _build_native(f"WITH found AS ({self.sql}) SELECT 1 / count(*) FROM found")  # noqa: S608  a statement of ours


@dataclass(frozen=True, kw_only=True)
class Rule:
    """The statement must return a row, else `error` is raised and nothing is stored."""

    statement: Statement
    error: type[StoreError]
    text: str


def compile_statement(spoken: SpokenDialect, clause: ClauseElement, conflict: type[StoreError] = StoreError) -> Statement:
    text = clause.compile(dialect=spoken)
    fixed = {name: value for name, value in text.params.items() if value is not None}
    return Statement(sql=str(text), fixed=fixed, conflict=conflict)


def build_insert(table: Table, names: Iterable[str]) -> Insert:
    return table.insert().inline().values({name: bindparam(name) for name in names})


def _build_native(sql: str) -> Native:
    names: dict[str, int] = {}
    text = _PLACE.sub(lambda match: f"${names.setdefault(match[1], len(names) + 1)}", sql).replace("%%", "%").encode()
    return Native(f"sdelka_{hashlib.sha256(text).hexdigest()[:16]}".encode(), text, tuple(names))


class Transaction:
    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.conflict: type[StoreError] = StoreError

    def run(self, statement: Statement, params: Params) -> int:
        """Return the number of changed rows."""
        self.conflict = statement.conflict
        self._cursor.execute(statement.sql, {**statement.fixed, **params} if statement.fixed else params)
        changed: int = self._cursor.rowcount
        return changed

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        fixed = statement.fixed
        self.conflict = statement.conflict
        self._cursor.executemany(statement.sql, [{**fixed, **row} for row in rows] if fixed else list(rows))

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        self.conflict = statement.conflict
        self._cursor.execute(statement.sql, {**statement.fixed, **params} if statement.fixed else params)
        answer: list[Row] = self._cursor.fetchall()
        return answer

    def fetch_row(self, statement: Statement, params: Params) -> Row | None:
        answer = self.fetch_rows(statement, params)
        return answer[0] if answer else None

    def require(self, rule: Rule, params: Params, text: str = "") -> None:
        if not self.fetch_rows(rule.statement, params):
            raise rule.error(text or rule.text)

    def measure_skew(self, clock: Callable[[Any], datetime | None]) -> timedelta:
        """Return how far the database's clock is ahead; 0 below a second or without a clock."""
        before = datetime.now(UTC)
        theirs = clock(self._cursor)
        if theirs is None:
            return timedelta(0)
        ahead = theirs - (before + (datetime.now(UTC) - before) / 2)
        return ahead if abs(ahead) > SAME_TIME else timedelta(0)


class Database:
    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._engine = dialect.engine
        self._driver: Any = dialect.engine.dialect.loaded_dbapi
        self._closed = False
        self._skew: tuple[float, float, timedelta] | None = None
        self._idle: list[PoolProxiedConnection] = []
        self._doubtful = False
        """A flush may have failed: pages in SQLite's log may never have reached the disk."""
        self._write_turn = threading.Lock() if dialect.one_writer else None
        self._read_turn = self._write_turn if dialect.one_connection else None

    def write(self) -> AbstractContextManager[Transaction]:
        return self._transaction(self._write_turn, self._dialect.begin, Transaction)

    def write_one(self) -> AbstractContextManager[Transaction]:
        """Fewer round trips; several statements may be committed separately."""
        return self._transaction(self._write_turn, self._dialect.begin_one, Transaction)

    def begin(self, kind: Callable[[Any], X]) -> AbstractContextManager[X]:
        """Open a connection without a transaction: each statement is committed by itself."""
        return self._transaction(self._write_turn, "", kind)

    def retry(self, attempt: Callable[[], T]) -> T:
        """Call `attempt` again while it raises Contended, up to four times in all."""
        for _ in range(TRIES - 1):
            try:
                return attempt()
            except Contended:
                continue
        return attempt()

    def measure_skew(self, transaction: Transaction) -> timedelta:
        """Measured anew every few seconds and after a clock change."""
        at, drift = time.monotonic(), time.time() - time.monotonic()
        if self._skew is None or at - self._skew[0] > SKEW_FOR or abs(drift - self._skew[1]) > SAME_TIME.total_seconds() / 2:
            self._skew = (at, drift, transaction.measure_skew(self._dialect.now))
        return self._skew[2]

    def read(self) -> AbstractContextManager[Transaction]:
        """Each statement sees the database as it is when it runs."""
        return self._transaction(self._read_turn, "", Transaction)

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        with self._transaction(self._read_turn, "", Transaction) as transaction:
            return transaction.fetch_rows(statement, params)

    def mark_unflushed(self) -> None:
        self._doubtful = True

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()

    def _transaction(self, turn: "threading.Lock | None", begin: str, kind: Callable[[Any], X]) -> "_Opened[X]":
        return _Opened(self, turn, begin, kind)

    def take_connection(self) -> PoolProxiedConnection:
        if self._closed:
            raise StoreUnwritable("the store is closed")
        # Idle connections are kept here and not in SQLAlchemy's pool: taking one out of the pool and back costs as much as a statement.
        alive = self._dialect.alive
        connection = None
        while connection is None:
            try:
                connection = self._idle.pop()
            except IndexError:  # not checked beforehand: another thread may take it in between
                break
            if alive is not None and not alive(connection.dbapi_connection):
                self._forget(connection)
                connection = None
        if connection is None:
            connection = self._connect()
        if self._doubtful:
            self._settle(connection)
        return connection

    def give_back(self, connection: PoolProxiedConnection) -> None:
        self._idle.append(connection)

    def _settle(self, connection: PoolProxiedConnection) -> None:
        try:
            with translate_errors(self._driver.Error):
                self._dialect.settle(connection.driver_connection)
        except StoreUnwritable:
            self._forget(connection)
            raise
        self._doubtful = False

    def _connect(self) -> PoolProxiedConnection:
        with translate_errors(self._driver.Error):
            connection = self._engine.raw_connection()
            self._dialect.take(connection.driver_connection)
            return connection

    def resolve_error(self, opened: "_Opened[X]", transaction: "Transaction", error: BaseException) -> None:
        """Raise the StoreError that a driver's error means."""
        if isinstance(error, self._driver.IntegrityError):
            self._undo(opened)
            raise transaction.conflict(f"a unique key is taken: {_extract_reason(error)}") from _pick_cause(error)
        if not isinstance(error, self._driver.Error):
            self._undo(opened)
            return
        meant = UNDONE.get(getattr(error, "sqlstate", None) or "")
        if meant is None:
            self._close_cursor(opened.cursor)
            self._forget(opened.connection, error)
        else:  # nothing is stored, and the connection is still good
            self._undo(opened)
        raise (meant or StoreUnwritable)(_describe(error)) from _pick_cause(error)

    def _undo(self, opened: "_Opened[X]") -> None:
        self._close_cursor(opened.cursor)
        try:
            opened.connection.rollback()
        except self._driver.Error as error:
            self._forget(opened.connection, error)
        else:
            self.give_back(opened.connection)

    def _close_cursor(self, cursor: Any) -> None:
        """SQLite keeps the connection and its locks while a traceback keeps the cursor."""
        with suppress(self._driver.Error):
            cursor.close()

    def _forget(self, connection: PoolProxiedConnection, error: Exception | None = None) -> None:
        if error is not None and self._dialect.unflushed(error):
            self._doubtful = True
        if self._dialect.one_connection:
            connection.rollback()
        else:
            connection.invalidate()
        connection.close()


class _Opened(Generic[X]):
    """Commits at the end, undoes if it raises.

    `contextmanager` would cost as much as a statement.
    """

    __slots__ = ("_begin", "_database", "_driver", "_kind", "_made", "_turn", "connection", "cursor")

    def __init__(self, database: Database, turn: "threading.Lock | None", begin: str, kind: Callable[[Any], X]) -> None:
        self._database, self._turn, self._begin, self._kind = database, turn, begin, kind
        self._driver: Any
        self._made: X
        self.connection: PoolProxiedConnection
        self.cursor: Any

    def __enter__(self) -> X:
        if self._turn is not None:
            self._turn.acquire()
        try:
            self.connection = self._database.take_connection()
            self._driver = self.connection.dbapi_connection
            self.cursor = self._driver.cursor()
            self._made = self._kind(self.cursor)
            if self._begin:
                try:
                    self.cursor.execute(self._begin)
                except BaseException as error:
                    self._database.resolve_error(self, self._made, error)
                    raise
        except BaseException:
            if self._turn is not None:
                self._turn.release()
            raise
        return self._made

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is not None:
                self._database.resolve_error(self, self._made, error)
                return
            if self._begin:
                try:
                    self._driver.commit()
                except BaseException as failure:
                    self._database.resolve_error(self, self._made, failure)
                    raise
            self._database.give_back(self.connection)
        finally:
            if self._turn is not None:
                self._turn.release()


@contextmanager
def translate_errors(driver_error: type[Exception] = OSError) -> Iterator[None]:
    """Turn errors of SQLAlchemy, system and driver into StoreUnwritable."""
    try:
        yield
    except (SQLAlchemyError, OSError, driver_error) as error:
        raise StoreUnwritable(_describe(error)) from _pick_cause(error)


def _describe(error: Exception) -> str:
    return f"the database did not take it: {_extract_reason(error)}"


def _extract_reason(error: Exception) -> str:
    return _QUOTES.split(_format_message(error), maxsplit=1)[0]


def _pick_cause(error: Exception) -> Exception | None:
    return None if _QUOTES.search(_format_message(error)) else error


def _format_message(error: Exception) -> str:
    reason = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(reason).split())
