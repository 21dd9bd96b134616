"""Tells other processes on PostgreSQL of new rows; who misses it polls.

NOTIFY locks the database, so it is never part of a transaction that waits for the disk.
"""

import logging
import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sqlalchemy import make_url

CHANNEL = "sdelka"
TOGETHER = 0.01
RETRY = 5.0
QUIET = 60.0

log = logging.getLogger(__name__)


def create_notifier(url: str) -> "PostgresNotifier | None":
    return PostgresNotifier(url) if make_url(url).get_backend_name() == "postgresql" else None


class PostgresNotifier:
    """Implements `state.journal.async_store.Notifier`."""

    def __init__(self, url: str) -> None:
        self._url = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._wake_in, self._wake_out = os.pipe()
        for end in (self._wake_in, self._wake_out):
            os.set_blocking(end, False)
        self._asked = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self, heard: Callable[[], None]) -> None:
        """Also calls `heard` after connecting: something may have been missed."""
        self._thread = threading.Thread(target=self._run, args=(heard,), name="store-hints", daemon=True)
        self._thread.start()

    def tell(self) -> None:
        if not self._asked and not self._closed:
            self._asked = True
            with suppress(BlockingIOError):
                os.write(self._wake_out, b"x")

    def close(self) -> None:
        """A requested notification is still sent."""
        self._closed = True
        with suppress(BlockingIOError):
            os.write(self._wake_out, b"x")
        if self._thread is not None:
            self._thread.join()
        os.close(self._wake_in)
        os.close(self._wake_out)

    def _run(self, heard: Callable[[], None]) -> None:
        from psycopg import Error, connect  # noqa: PLC0415  only who works with PostgreSQL loads its driver

        while not self._closed:
            try:
                with connect(self._url, autocommit=True, connect_timeout=10) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    heard()  # for notifications missed before LISTEN
                    self._exchange(connection, heard)
            except Error as error:
                log.warning("hints between processes are off: %s", type(error).__name__, extra={"action": "hints_off"})
                select.select([self._wake_in], [], [], 0 if self._closed else RETRY)
                self._drain()

    def _exchange(self, connection: Any, heard: Callable[[], None]) -> None:
        while True:
            readable, _, _ = select.select([connection.fileno(), self._wake_in], [], [], QUIET)
            if self._wake_in in readable:
                self._drain()
                connection.execute(f"NOTIFY {CHANNEL}")
            others = [note for note in connection.notifies(timeout=0) if note.pid != connection.pgconn.backend_pid]
            if others:
                heard()
            if self._closed:
                return
            if not readable:
                connection.execute("SELECT 1")  # so that a silent loss of the connection is noticed
            time.sleep(TOGETHER)

    def _drain(self) -> None:
        self._asked = False  # reset before the pipe is emptied: a request in between is sent, perhaps twice
        with suppress(BlockingIOError):
            os.read(self._wake_in, 4096)
