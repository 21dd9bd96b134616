"""Checks the database itself: SQLite's file, its write-ahead log, the types of its values."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from pkgutil import iter_modules

from sqlalchemy import inspect, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from state.findings import Finding
from state.migrations import HEAD, versions
from state.sql import sqlite_wal
from state.sql.dialect import open_read_only
from state.sql.raw_records import RawReader

OLDER = frozenset(module.name[1:].partition("_")[0] for module in iter_modules(versions.__path__)) - {HEAD}
"""Revisions before the current one, each a file in `state/migrations/versions`."""
TABLE_LIST_DAMAGED = "the list of its tables (page 1) is damaged, so that its own message is no text"


def find_sqlite_path(url: str) -> Path | None:
    parsed = make_url(url)
    return Path(str(parsed.database)) if parsed.get_backend_name() == "sqlite" and parsed.database else None


def check_log(path: Path) -> Iterator[Finding]:
    """Tell what SQLite would drop without a word."""
    log = path.with_name(f"{path.name}-wal")
    for offset, why in sqlite_wal.find_damage(log):
        yield Finding(kind="damaged", place="database", why=why, file=str(log), offset=offset)


def explain_unchecked(url: str) -> str:
    """Why an intact database cannot be verified; "" if it is damaged."""
    try:
        with open_read_only(url) as dialect, dialect.engine.connect() as connection:
            if not inspect(connection).get_table_names():
                return "it is empty"
            version = str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())
    except (SQLAlchemyError, OSError, UnicodeDecodeError):
        return ""
    return f"it has schema {version}, this program reads {HEAD}: start the bot once to upgrade it" if version in OLDER else ""


def check_structure(path: Path) -> Iterator[Finding]:
    """Run SQLite's check, also where the store cannot open the database."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            connection.execute("PRAGMA query_only=ON")
            messages = [row[0].decode("utf-8", "replace") for row in connection.execute("PRAGMA integrity_check(20)")]
    except sqlite3.Error as error:
        messages = [str(error)]
    except UnicodeDecodeError:
        messages = [TABLE_LIST_DAMAGED]
    for line in (line for lines in messages for line in lines.splitlines()):
        if line != "ok" and not line.startswith("***"):
            yield Finding(kind="damaged", place="database", why=f"SQLite says: {line}")


def check_types(raw: RawReader) -> Iterator[Finding]:
    """Find values of wrong types, which this program never writes."""
    for table, column, key in raw.find_mistyped():
        why = f"{column} of the row {', '.join(str(part) for part in key)} is of another type than it was written with"
        yield Finding(kind="damaged", place=f"table {table}", why=why)
