"""Checks the database file itself and finds where on disk a finding is. Changes nothing."""

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from pkgutil import iter_modules

from sqlalchemy import inspect, make_url, text
from sqlalchemy.exc import SQLAlchemyError

from state.findings import Finding
from state.migrations import HEAD, versions
from state.sql import sqlite_wal
from state.sql.dialect import open_read_only
from state.sql.raw_records import RawReader
from state.sql.sqlite_file import Spot, SqliteFile

OLDER = frozenset(module.name[1:].partition("_")[0] for module in iter_modules(versions.__path__)) - {HEAD}
"""The revisions of the schema before the current one: each has its file in `state/migrations/versions`."""
TABLE_LIST_DAMAGED = "the list of its tables (page 1) is damaged, so that its own message is no text"
_PAGE = re.compile(r"\bpage (\d+)", re.IGNORECASE)
_TREE = re.compile(r"\b[Tt]ree (\d+)")
_INDEX = re.compile(r"\bindex (\w+)")
_PLACES = (
    (re.compile(r"effect (\S+) of .*"), "effects"),
    (re.compile(r"snapshot of (.*)"), "snapshots"),
    (re.compile(r"blob (\S+)"), "blobs"),
    (re.compile(r"definition text (\S+)"), "definition_texts"),
    (re.compile(r"switch (freeze)"), "values"),
    (re.compile(r"head of session:(.*)|head of (run:.*)"), "leases"),
)


def find_sqlite_path(url: str) -> Path | None:
    """Return the path of the file if `url` is that of a SQLite database in a file, else None."""
    parsed = make_url(url)
    return Path(str(parsed.database)) if parsed.get_backend_name() == "sqlite" and parsed.database else None


def check_file(path: Path) -> Iterator[Finding]:
    """Check the file before SQLite touches it: header, truncation, pages, write-ahead log. Raises OSError if there is no file."""
    with SqliteFile(path) as file:
        if not file.begins_well:
            yield Finding(kind="damaged", place="database", why="it does not begin as a SQLite file does", file=str(path), offset=0)
        end = file.find_truncation()
        if end is not None:
            why = f"the file ends at {end.offset}, before its time"
            yield Finding(kind="damaged", place="database", why=why, file=end.file, offset=end.offset)
        for table, spot in file.find_broken_pages():
            why = "a page of it cannot be one of its pages"
            yield Finding(kind="damaged", place=f"table {table}", why=why, file=spot.file, offset=spot.offset)
    log = path.with_name(f"{path.name}-wal")
    for offset, why in sqlite_wal.find_damage(log):
        yield Finding(kind="damaged", place="database", why=why, file=str(log), offset=offset)


def explain_unchecked(url: str) -> str:
    """Return why this program cannot verify the database although it is intact (empty, or an older schema); "" if it is damaged."""
    try:
        with open_read_only(url) as dialect, dialect.engine.connect() as connection:
            if not inspect(connection).get_table_names():
                return "it is empty"
            version = str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())
    except (SQLAlchemyError, OSError, UnicodeDecodeError):
        return ""
    return f"it has schema {version}, this program reads {HEAD}: start the bot once to upgrade it" if version in OLDER else ""


def check_structure(path: Path) -> Iterator[Finding]:
    """Run SQLite's integrity check on a database that the store cannot open, and yield its problems as findings."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            connection.execute("PRAGMA query_only=ON")
            said = [row[0].decode("utf-8", "replace") for row in connection.execute("PRAGMA integrity_check(20)")]
    except sqlite3.Error as error:
        said = [str(error)]
    except UnicodeDecodeError:
        said = [TABLE_LIST_DAMAGED]
    yield from parse_problems([line for lines in said for line in lines.splitlines() if line != "ok" and not line.startswith("***")])


def parse_problems(problems: Sequence[str]) -> Iterator[Finding]:
    """Convert the lines of SQLite's integrity check to findings."""
    for line in problems:
        yield Finding(kind="damaged", place="database", why=f"SQLite says: {line}")


def check_types(raw: RawReader) -> Iterator[Finding]:
    """Yield a finding for each value whose type is not that of its column. This program never writes such values."""
    for table, column, key in raw.find_mistyped():
        why = f"{column} of the row {', '.join(str(part) for part in key)} is of another type than it was written with"
        yield Finding(kind="damaged", place=f"table {table}", why=why)


def resolve_spots(path: Path, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with file and offset in bytes added where they are missing. Notes (harmless findings) stay as they are."""
    with SqliteFile(path) as file:
        return [
            finding if finding.file or finding.kind == "note" else _set_spot(finding, _find_spot(file, finding)) for finding in findings
        ]


def _set_spot(finding: Finding, spot: Spot) -> Finding:
    return replace(finding, file=spot.file, offset=spot.offset)


def _find_spot(file: SqliteFile, finding: Finding) -> Spot:
    if finding.place == "database":
        return _find_problem(file, finding.why)
    if finding.place.startswith("table "):
        return file.find_table(finding.place.removeprefix("table "))
    for pattern, table in _PLACES:
        match = pattern.fullmatch(finding.place)
        if match:
            return file.find_row(table, (match[1] or match[match.lastindex or 1],))
    return _find_record(file, finding.place, finding.seq or 1)


def _find_record(file: SqliteFile, stream: str, seq: int) -> Spot:
    """Return where on disk the record with the number `seq` of the stream is.

    If it is not found, return where the record before it is; if that is not found, either, where the table begins.
    """
    nowhere = file.find_table("events")
    for number in range(seq, max(0, seq - 2), -1):
        spot = file.find_row("events", (stream, number))
        if spot != nowhere:
            return spot
    return nowhere


def _find_problem(file: SqliteFile, why: str) -> Spot:
    page, tree, index = _PAGE.search(why), _TREE.search(why), _INDEX.search(why)
    number = page or tree
    if number:
        return file.find_page(int(number[1]))
    return file.find_table(index[1]) if index else file.find_page(1)
