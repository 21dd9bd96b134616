"""Transactions over compiled statements (ring 1). Statements are SQLAlchemy Core, compiled once; driver errors end here.

Core's own execution costs about 100 µs a statement, five times the statement itself, so the driver's cursor runs them.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from sqlalchemy import Dialect as SpokenDialect
from sqlalchemy import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql.expression import ClauseElement

from state.journal.store import StoreError, StoreUnwritable
from state.sql.dialect import Dialect
from state.sql.server_functions import Function, call_function

Params = Mapping[str, Any]
Row = tuple[Any, ...]
T = TypeVar("T")
X = TypeVar("X", bound="Transaction")
TRIES = 4
SAME_TIME = timedelta(seconds=1)
"""Two clocks that agree so far count as one."""
SKEW_FOR = 5.0
_QUOTES: Final = re.compile(r" with text '| DETAIL: Failing row| CONTEXT: ")
"""From here on a driver's message quotes what is stored: a key as well as anybody's words."""


class Contended(StoreUnwritable):
    """The database undid the transaction in favour of another one; the same again may succeed."""


UNDONE: Mapping[str, type[StoreError]] = {"40001": Contended, "40P01": Contended}
"""Errors of PostgreSQL that speak of another transaction."""


@dataclass(frozen=True, kw_only=True)
class Statement:
    """SQL text in the driver's own dialect. `conflict` is what a broken unique key means here."""

    sql: str
    fixed: Params
    conflict: type[StoreError] = StoreError


def compile_statement(spoken: SpokenDialect, clause: ClauseElement, conflict: type[StoreError] = StoreError) -> Statement:
    """`clause` as text for that kind of database."""
    text = clause.compile(dialect=spoken)
    fixed = {name: value for name, value in text.params.items() if value is not None}
    return Statement(sql=str(text), fixed=fixed, conflict=conflict)


class Transaction:
    """The statements of one transaction, in order."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.conflict: type[StoreError] = StoreError
        """What a broken unique key of the running statement means."""

    def translate_code(self, code: str) -> type[StoreError] | None:
        """What an error of PostgreSQL means after which the transaction is undone for certain, and the connection as good as before."""
        return UNDONE.get(code)

    def run(self, statement: Statement, params: Params) -> int:
        """Run it; the number of rows it changed."""
        self.conflict = statement.conflict
        self._cursor.execute(statement.sql, {**statement.fixed, **params} if statement.fixed else params)
        changed: int = self._cursor.rowcount
        return changed

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        """Run it once for every row."""
        fixed = statement.fixed
        self.conflict = statement.conflict
        self._cursor.executemany(statement.sql, [{**fixed, **row} for row in rows] if fixed else list(rows))

    def fetch_rows(self, statement: Statement, params: Params) -> list[Row]:
        """Run it; every row it answers."""
        self.conflict = statement.conflict
        self._cursor.execute(statement.sql, {**statement.fixed, **params} if statement.fixed else params)
        answer: list[Row] = self._cursor.fetchall()
        return answer

    def fetch_row(self, statement: Statement, params: Params) -> Row | None:
        """Run it; the first row it answers."""
        answer = self.fetch_rows(statement, params)
        return answer[0] if answer else None

    def call(self, function: Function, *given: bytes) -> bytes:
        """What the server's function answers, its changes kept for good."""
        return call_function(self._cursor, function, *given)

    def measure_skew(self, clock: Callable[[Any], datetime | None]) -> timedelta:
        """How far the database's clock is ahead of this machine's; nothing where it is the same, or nearly."""
        before = datetime.now(UTC)
        theirs = clock(self._cursor)
        if theirs is None:
            return timedelta(0)
        ahead = theirs - (before + (datetime.now(UTC) - before) / 2)
        return ahead if abs(ahead) > SAME_TIME else timedelta(0)


class Database:
    """Hands out transactions, and turns every error of driver and pool into a StoreError."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._engine = dialect.engine
        self._driver: Any = dialect.engine.dialect.loaded_dbapi
        self._closed = False
        self._skew: tuple[float, float, timedelta] | None = None
        self._idle: list[PoolProxiedConnection] = []
        self._doubtful = False
        """Whether a flush may have failed: what stands behind it in the log was perhaps never on the disk."""
        self._write_turn = threading.Lock() if dialect.one_writer else nullcontext()
        self._read_turn = self._write_turn if dialect.one_connection else nullcontext()

    def write(self) -> AbstractContextManager[Transaction]:
        """A transaction that is kept when the block ends and wholly undone when it raises."""
        return self._transaction(self._write_turn, self._dialect.begin, Transaction)

    def write_one(self) -> AbstractContextManager[Transaction]:
        """The same for a single statement, which needs fewer words with the server. Of several each would be kept alone."""
        return self._transaction(self._write_turn, self._dialect.begin_one, Transaction)

    def begin(self, kind: Callable[[Any], X]) -> AbstractContextManager[X]:
        """A transaction of that kind, each statement of which is kept by itself."""
        return self._transaction(self._write_turn, "", kind)

    def retry(self, attempt: Callable[[], T]) -> T:
        """What `attempt` answers; made anew where the database has certainly kept nothing of it."""
        for _ in range(TRIES - 1):
            with suppress(Contended):
                return attempt()
        return attempt()

    def measure_skew(self, transaction: Transaction) -> timedelta:
        """How far the database's clock is ahead of this machine's; asked anew every few seconds, and when this machine's was set."""
        at, drift = time.monotonic(), time.time() - time.monotonic()
        if self._skew is None or at - self._skew[0] > SKEW_FOR or abs(drift - self._skew[1]) > SAME_TIME.total_seconds() / 2:
            self._skew = (at, drift, transaction.measure_skew(self._dialect.now))
        return self._skew[2]

    def read(self) -> AbstractContextManager[Transaction]:
        """One look at the database; several statements may see different moments."""
        return self._transaction(self._read_turn, "", Transaction)

    def mark_unflushed(self) -> None:
        """Let the next connection bring to the disk what an earlier program may have left unflushed."""
        self._doubtful = True

    def close(self) -> None:
        """Close every connection, for good."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()

    @contextmanager
    def _transaction(self, turn: AbstractContextManager[Any], begin: str, made: Callable[[Any], X]) -> Iterator[X]:
        with turn:
            connection = self._connect()
            cursor = connection.cursor()
            transaction = made(cursor)
            try:
                if begin:
                    cursor.execute(begin)
                yield transaction
                if begin:
                    connection.commit()
            except self._driver.IntegrityError as error:
                self._undo(connection)
                raise transaction.conflict(f"a unique key is taken: {_extract_reason(error)}") from _pick_cause(error)
            except self._driver.Error as error:
                meant = transaction.translate_code(getattr(error, "sqlstate", None) or "")
                if meant is None:
                    self._forget(connection, error)
                else:  # the server has undone it, on a connection that is as good as before
                    self._undo(connection)
                raise (meant or StoreUnwritable)(_describe(error)) from _pick_cause(error)
            except BaseException:
                self._undo(connection)
                raise
            else:
                self._idle.append(connection)

    def _connect(self) -> PoolProxiedConnection:
        if self._closed:
            raise StoreUnwritable("the store is closed")
        connection = self._find_connection()
        if self._doubtful:
            try:
                with translate_errors(self._driver.Error):
                    self._dialect.settle(connection.driver_connection)
            except StoreUnwritable:
                self._forget(connection)
                raise
            self._doubtful = False
        return connection

    def _find_connection(self) -> PoolProxiedConnection:
        # Kept here between transactions: the pool's own way in and out costs as much as a statement.
        while (connection := self._pop_connection()) is not None:
            if self._dialect.alive(connection.driver_connection):
                return connection
            self._forget(connection)
        with translate_errors(self._driver.Error):
            connection = self._engine.raw_connection()
            self._dialect.take(connection.driver_connection)
            return connection

    def _pop_connection(self) -> PoolProxiedConnection | None:
        try:
            return self._idle.pop()
        except IndexError:  # not asked for before: another thread may take it in between
            return None

    def _undo(self, connection: PoolProxiedConnection) -> None:
        try:
            connection.rollback()
        except self._driver.Error as error:
            self._forget(connection, error)
        else:
            self._idle.append(connection)

    def _forget(self, connection: PoolProxiedConnection, error: Exception | None = None) -> None:
        """After a failed flush nobody can say what a connection still believes: the next one is a new one, and settles it first."""
        if error is not None and self._dialect.unflushed(error):
            self._doubtful = True
        if self._dialect.one_connection:
            connection.rollback()
        else:
            connection.invalidate()
        connection.close()


@contextmanager
def translate_errors(driver_error: type[Exception] = OSError) -> Iterator[None]:
    """Turn the errors of opening a database into StoreUnwritable."""
    try:
        yield
    except (SQLAlchemyError, OSError, driver_error) as error:
        raise _build_error(error) from _pick_cause(error)


def _build_error(error: Exception) -> StoreUnwritable:
    return StoreUnwritable(_describe(error))


def _describe(error: Exception) -> str:
    return f"the database did not take it: {_extract_reason(error)}"


def _extract_reason(error: Exception) -> str:
    return _QUOTES.split(_format_message(error), maxsplit=1)[0]


def _pick_cause(error: Exception) -> Exception | None:
    """What a traceback may show of where it came from: nothing that quotes what is stored."""
    return None if _QUOTES.search(_format_message(error)) else error


def _format_message(error: Exception) -> str:
    reason = error.orig if isinstance(error, DBAPIError) else error
    return " ".join(str(reason).split())
