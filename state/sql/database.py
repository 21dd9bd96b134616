"""Transactions over compiled statements (ring 1). Statements are SQLAlchemy Core, compiled once; driver errors end here.

Core's own execution costs about 100 µs a statement, five times the statement itself, so the driver's cursor runs them.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import PoolProxiedConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.sql.expression import ClauseElement

from state.sql.dialect import Dialect
from state.store import StoreError, StoreUnwritable

Params = Mapping[str, Any]
Row = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Statement:
    """SQL text in the driver's own dialect. `conflict` is what a broken unique key means here."""

    sql: str
    fixed: Params
    conflict: type[StoreError] = StoreError


class Transaction:
    """The statements of one transaction, in order."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        self.conflict: type[StoreError] = StoreError
        """What a broken unique key of the running statement means."""

    def run(self, statement: Statement, params: Params) -> int:
        """Run it; the number of rows it changed."""
        self.conflict = statement.conflict
        self._cursor.execute(statement.sql, {**statement.fixed, **params})
        return int(self._cursor.rowcount)

    def run_many(self, statement: Statement, rows: Iterable[Params]) -> None:
        """Run it once for every row."""
        fixed = statement.fixed
        self.conflict = statement.conflict
        self._cursor.executemany(statement.sql, [{**fixed, **row} for row in rows] if fixed else list(rows))

    def rows(self, statement: Statement, params: Params) -> list[Row]:
        """Run it; every row it answers."""
        self.conflict = statement.conflict
        self._cursor.execute(statement.sql, {**statement.fixed, **params})
        answer: list[Row] = self._cursor.fetchall()
        return answer

    def row(self, statement: Statement, params: Params) -> Row | None:
        """Run it; the first row it answers."""
        answer = self.rows(statement, params)
        return answer[0] if answer else None


class Database:
    """Hands out transactions, and turns every error of driver and pool into a StoreError."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._engine = dialect.engine
        self._driver: Any = dialect.engine.dialect.loaded_dbapi
        self._closed = False
        self._idle: list[PoolProxiedConnection] = []
        self._write_turn = threading.Lock() if dialect.one_writer else nullcontext()
        self._read_turn = self._write_turn if dialect.one_connection else nullcontext()

    def compile(self, clause: ClauseElement, conflict: type[StoreError] = StoreError) -> Statement:
        """`clause` as text for this database."""
        compiled = clause.compile(dialect=self._engine.dialect)
        fixed = {name: value for name, value in compiled.params.items() if value is not None}
        return Statement(sql=str(compiled), fixed=fixed, conflict=conflict)

    def write(self) -> AbstractContextManager[Transaction]:
        """A transaction that is kept when the block ends and wholly undone when it raises."""
        return self._transaction(self._write_turn, self._dialect.begin)

    def read(self) -> AbstractContextManager[Transaction]:
        """One look at the database; several statements may see different moments."""
        return self._transaction(self._read_turn, "")

    def close(self) -> None:
        """Close every connection, for good."""
        self._closed = True
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()

    @contextmanager
    def _transaction(self, turn: AbstractContextManager[Any], begin: str) -> Iterator[Transaction]:
        with turn:
            connection = self._connect()
            cursor = connection.cursor()
            transaction = Transaction(cursor)
            try:
                if begin:
                    cursor.execute(begin)
                yield transaction
                connection.commit()
            except self._driver.IntegrityError as error:
                self._undo(connection)
                raise transaction.conflict(f"a unique key is taken: {error}") from error
            except self._driver.Error as error:
                self._forget(connection)
                raise _unwritable(error) from error
            except BaseException:
                self._undo(connection)
                raise
            else:
                self._idle.append(connection)

    def _connect(self) -> PoolProxiedConnection:
        if self._closed:
            raise StoreUnwritable("the store is closed")
        # Kept here between transactions: the pool's own way in and out costs as much as a statement.
        with suppress(IndexError):
            return self._idle.pop()
        with translated(self._driver.Error):
            return self._engine.raw_connection()

    def _undo(self, connection: PoolProxiedConnection) -> None:
        try:
            connection.rollback()
        except self._driver.Error:
            self._forget(connection)
        else:
            self._idle.append(connection)

    def _forget(self, connection: PoolProxiedConnection) -> None:
        """After a failed flush nobody can say what a connection still believes: the next one is a new one."""
        if self._dialect.one_connection:
            connection.rollback()
        else:
            connection.invalidate()
        connection.close()


@contextmanager
def translated(driver_error: type[Exception] = OSError) -> Iterator[None]:
    """Turn the errors of opening a database into StoreUnwritable."""
    try:
        yield
    except (SQLAlchemyError, OSError, driver_error) as error:
        raise _unwritable(error) from error


def _unwritable(error: Exception) -> StoreUnwritable:
    reason = error.orig if isinstance(error, DBAPIError) else error
    return StoreUnwritable(f"the database did not take it: {reason}")
