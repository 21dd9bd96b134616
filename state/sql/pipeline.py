"""Sends several statements to PostgreSQL in one round trip: prepared statements in libpq's pipeline mode, which form one transaction.

The server commits when it has executed the last of them, and undoes everything if one fails. So that a condition can be checked without a
round trip of its own, a statement that must find or change a row is wrapped in a division by the number of its rows: the server itself
stops the transaction before it commits. Which rule was broken shows from the place of the error.

The driver's own pipeline mode executes through cursors, which cost more than the statements.
"""

import select
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from state.sql.database import Params, Row, Rule, Statement, Transaction

_DONE, _TUPLES, _FAILED, _ABORTED, _END = 1, 2, 7, 11, 10
"""Constants of libpq: PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_FATAL_ERROR, PGRES_PIPELINE_ABORTED, PGRES_PIPELINE_SYNC."""
_SQLSTATE: Final = ord("C")
_NO_ROW: Final = b"22012"
"""PostgreSQL's error code for a division by zero, which a broken rule causes."""
_UNKNOWN_NAME: Final = b"26000"
"""PostgreSQL's error code for a prepared statement that the connection does not have."""
_NUMBERS: Final = frozenset({20, 21, 23})
"""The types int8, int2 and int4 by PostgreSQL's numbers of types; all other columns of this store are text."""


class Queued(NamedTuple):
    """A statement that is to be sent; if `rule` is given, it must find or change a row, and `text` explains the error if it does not."""

    statement: Statement
    params: Params
    rule: Rule | None = None
    text: str = ""


class Answer(NamedTuple):
    """What the server answered to one statement: its rows, and how many rows it changed or found."""

    rows: list[Row]
    changed: int


class Pipeline(Transaction):
    """A connection over which several statements are sent as one transaction, in one round trip."""

    def send(self, queued: Sequence[Queued]) -> list[Answer]:
        """Execute the statements in one transaction, commit it and return their answers.

        If a rule is broken, its error is raised and nothing is stored. After any other error than those of the statements, which are the
        driver's, it is unknown whether anything was stored.
        """
        return _PipelineCall(self._cursor.connection, queued, self).execute()


class _PipelineCall:
    """One use of the pipeline mode."""

    def __init__(self, connection: Any, queued: Sequence[Queued], transaction: Transaction) -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._queued = queued
        self._transaction = transaction
        self._prepared = _PREPARED.setdefault(connection, set())
        """The names of the statements that this connection has prepared."""

    def execute(self) -> list[Answer]:
        """Send everything, receive everything."""
        encoded = [_encode(one.statement, one.params) for one in self._queued]  # all of it before the first is sent
        before = set(self._prepared)
        answers, failed = self._exchange(encoded)
        if failed is not None and failed[1].error_field(_SQLSTATE) == _UNKNOWN_NAME:
            # The driver deallocates all statements now and then, after a rollback for example. Nothing was committed, but what was prepared
            # just now stays.
            self._prepared -= before
            answers, failed = self._exchange(encoded)
        if failed is not None:
            self._raise_error(*failed)
        return answers

    def _exchange(self, encoded: Sequence[list[bytes | None]]) -> tuple[list[Answer], tuple[int, Any] | None]:
        """Do one round trip; return the answers, and the place and the answer of the statement that failed, None if all were committed."""
        try:
            self._libpq.enter_pipeline_mode()
            sent = self._send(encoded)
            answers, failed = self._receive(sent)
            self._libpq.exit_pipeline_mode()
        except BaseException:
            self._connection.close()  # an answer that nobody has read must not reach the next caller
            raise
        return answers, failed

    def _send(self, encoded: Sequence[list[bytes | None]]) -> list[tuple[int, bytes]]:
        """Send all statements; return for each message its place among them, and the name if it prepares a statement, else b""."""
        libpq, sent, fresh = self._libpq, [], set[bytes]()
        for place, (one, values) in enumerate(zip(self._queued, encoded, strict=True)):
            name, text, _ = one.statement.guarded if one.rule is not None else one.statement.native
            if name not in self._prepared and name not in fresh:
                fresh.add(name)
                libpq.send_prepare(name, text)
                sent.append((place, name))
            libpq.send_query_prepared(name, values)
            sent.append((place, b""))
        libpq.pipeline_sync()
        self._flush()
        return sent

    def _flush(self) -> None:
        """Hand everything to the network, and take in what the server says meanwhile: else both could wait for each other."""
        libpq = self._libpq
        while libpq.flush():
            ready = select.poll()
            ready.register(libpq.socket, select.POLLIN | select.POLLOUT)
            if any(event & ~select.POLLOUT for _, event in ready.poll()):
                libpq.consume_input()

    def _receive(self, sent: Iterable[tuple[int, bytes]]) -> tuple[list[Answer], tuple[int, Any] | None]:
        """Receive until the server says that the transaction is over; return what `_exchange` returns."""
        answers: list[Answer] = []
        failed: tuple[int, Any] | None = None
        for place, name in sent:
            while (result := self._read()) is not None:
                if result.status in (_DONE, _TUPLES):
                    if name:
                        self._prepared.add(name)
                    else:
                        answers.append(_read_answer(result))
                elif result.status != _ABORTED and failed is None:
                    failed = place, result
        while (end := self._read()) is None or end.status != _END:  # only now it is committed
            if end is not None and failed is None:
                failed = len(self._queued) - 1, end
        return answers, failed

    def _read(self) -> Any:
        """Wait for the next result of libpq; waiting in libpq itself would hold up all other threads."""
        libpq = self._libpq
        if libpq.is_busy():
            ready = select.poll()
            ready.register(libpq.socket, select.POLLIN)
            while libpq.is_busy():
                ready.poll()
                libpq.consume_input()
        result = libpq.get_result()
        if libpq.status != 0:
            from psycopg import OperationalError  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

            raise OperationalError(f"the connection was lost: {libpq.error_message.decode(errors='replace')}")
        return result

    def _raise_error(self, place: int, result: Any) -> None:
        from psycopg.errors import error_from_result  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

        one = self._queued[place]
        if one.rule is not None and result.error_field(_SQLSTATE) == _NO_ROW:
            raise one.rule.error(one.text or one.rule.text)
        self._transaction.conflict = one.statement.conflict
        raise error_from_result(result)


_PREPARED: WeakKeyDictionary[Any, set[bytes]] = WeakKeyDictionary()


def _encode(statement: Statement, params: Params) -> list[bytes | None]:
    """Return the values of a statement in the order of its places, as PostgreSQL's text format."""
    fixed = statement.fixed
    given = [params[name] if name in params else fixed.get(name) for name in statement.native.names]
    return [None if value is None else _encode_value(value) for value in given]


def _encode_value(value: str | int) -> bytes:
    if isinstance(value, int):
        return b"%d" % value
    encoded = value.encode()
    if b"\0" in encoded:  # libpq would cut it off there
        from psycopg import DataError  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

        raise DataError("a text with a NUL character cannot be stored")
    return encoded


def _read_answer(result: Any) -> Answer:
    if not result.nfields:
        return Answer([], result.command_tuples or 0)
    readers = [_read_number if result.ftype(column) in _NUMBERS else _read_text for column in range(result.nfields)]
    rows = [tuple(read(result.get_value(row, column)) for column, read in enumerate(readers)) for row in range(result.ntuples)]
    return Answer(rows, result.ntuples)


def _read_number(value: bytes | None) -> int | None:
    return None if value is None else int(value)


def _read_text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
