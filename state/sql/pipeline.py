"""Sends statements to PostgreSQL in one round trip and one transaction (libpq's pipeline mode).

A rule is wrapped in a division by the number of its rows: so the server stops the transaction itself.

The driver's own pipeline mode costs more than the statements.
"""

import select
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from state.sql.database import Params, Row, Rule, Statement, Transaction
from state.sql.dialect import get_connection_error

_DONE, _TUPLES, _FAILED, _ABORTED, _END = 1, 2, 7, 11, 10
_SQLSTATE: Final = ord("C")
_NO_ROW: Final = b"22012"
"""Division by zero: a broken rule."""
_UNKNOWN_NAME: Final = b"26000"
_NUMBERS: Final = frozenset({20, 21, 23})
"""int8, int2 and int4; all other columns are text."""


class Queued(NamedTuple):
    """With a `rule` it must find or change a row; `text` explains the error."""

    statement: Statement
    params: Params
    rule: Rule | None = None
    text: str = ""


class Answer(NamedTuple):
    rows: list[Row]
    changed: int


class Pipeline(Transaction):
    def send(self, queued: Sequence[Queued]) -> list[Answer]:
        """A broken rule raises its error, and nothing is stored; after errors of the connection that is unknown."""
        return _PipelineCall(self._cursor.connection, queued, self).execute()


class _PipelineCall:
    def __init__(self, connection: Any, queued: Sequence[Queued], transaction: Transaction) -> None:
        self._connection = connection
        self._libpq = connection.pgconn
        self._queued = queued
        self._transaction = transaction
        self._prepared = _PREPARED.setdefault(connection, set())

    def execute(self) -> list[Answer]:
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
        """The second part is the failed statement's place and result; None: all committed."""
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
        libpq, sent, fresh = self._libpq, [], set[bytes]()
        for place, (queued, values) in enumerate(zip(self._queued, encoded, strict=True)):
            name, text, _ = queued.statement.guarded if queued.rule is not None else queued.statement.native
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
        """Take in answers meanwhile: else both sides could wait for each other."""
        libpq = self._libpq
        while libpq.flush():
            ready = select.poll()
            ready.register(libpq.socket, select.POLLIN | select.POLLOUT)
            if any(event & ~select.POLLOUT for _, event in ready.poll()):
                libpq.consume_input()

    def _receive(self, sent: Iterable[tuple[int, bytes]]) -> tuple[list[Answer], tuple[int, Any] | None]:
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
        """Waiting in libpq itself would hold up all other threads."""
        libpq = self._libpq
        if libpq.is_busy():
            ready = select.poll()
            ready.register(libpq.socket, select.POLLIN)
            while libpq.is_busy():
                ready.poll()
                libpq.consume_input()
        result = libpq.get_result()
        if libpq.status != 0:
            raise get_connection_error()(f"the connection was lost: {libpq.error_message.decode(errors='replace')}")
        return result

    def _raise_error(self, place: int, result: Any) -> None:
        from psycopg.errors import error_from_result  # noqa: PLC0415  who works with SQLite does not load the driver of PostgreSQL

        queued = self._queued[place]
        if queued.rule is not None and result.error_field(_SQLSTATE) == _NO_ROW:
            raise queued.rule.error(queued.text or queued.rule.text)
        self._transaction.conflict = queued.statement.conflict
        raise error_from_result(result)


_PREPARED: WeakKeyDictionary[Any, set[bytes]] = WeakKeyDictionary()


def _encode(statement: Statement, params: Params) -> list[bytes | None]:
    fixed = statement.fixed
    param_values = [params[name] if name in params else fixed.get(name) for name in statement.native.names]
    return [None if value is None else _encode_value(value) for value in param_values]


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
