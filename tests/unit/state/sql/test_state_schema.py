"""Migrations and tables agree, a newer database is refused, a failed transaction leaves no lock, an index finds what waits."""

import os
import re
import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from state.journal.store import StoreUnwritable
from state.migrations import HEAD
from state.sql import NewerDatabase, build_sqlite_url, open_store
from state.sql.database import Database, Transaction
from state.sql.dialect import open_database
from state.sql.tables import metadata


def test_the_migrations_lead_to_the_tables() -> None:
    """A database made by the migrations is the one the statements are written for, indexes included."""
    store = open_store("sqlite://")
    with store._database._engine.connect() as connection:
        difference = compare_metadata(MigrationContext.configure(connection), metadata)
        primary = {
            name: [row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info('{name}')") if row[5]] for name in metadata.tables
        }
        plain = {row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%'")}
    store.close()

    assert difference == []
    assert primary == {name: [column.name for column in table.primary_key] for name, table in metadata.tables.items()}
    assert plain == {name for name, table in metadata.tables.items() if not table.dialect_options["sqlite"]["with_rowid"]}


def test_the_newest_revision_is_the_one_the_program_names() -> None:
    """A new migration that forgets HEAD would never be run."""
    config = Config()
    config.set_main_option("script_location", "state:migrations")

    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_a_database_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    """The sentence names both schemas; the database is left alone."""
    path = tmp_path / "sdelka.db"
    open_store(build_sqlite_url(path)).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(NewerDatabase, match=f"schema '9999'.*schema '{HEAD}'.*newer version"):
        open_store(build_sqlite_url(path))


def test_what_cannot_be_opened_is_unwritable(tmp_path: Path) -> None:
    """A folder in the way, a file that is no database, a place under a file: an error of the store, not of the driver."""
    (tmp_path / "folder.db").mkdir()
    (tmp_path / "text.db").write_text("this is not a database at all, but it is long enough to look at" * 20)
    for name in ("folder.db", "text.db", "text.db/below.db"):
        with pytest.raises(StoreUnwritable):
            open_store(build_sqlite_url(tmp_path / name))


def test_an_unknown_kind_of_database_is_named() -> None:
    """Only SQLite and PostgreSQL are known."""
    with pytest.raises(ValueError, match="'mysql' is not known"):
        open_store("mysql://localhost/x")


def fail_in_the_middle(database: Database) -> None:
    """Begin to write, and let the disk take nothing from then on."""
    with database.write() as transaction:
        transaction._cursor.execute("INSERT INTO kept VALUES (1) RETURNING number").fetchall()
        transaction._cursor.execute("PRAGMA query_only=ON")
        transaction._cursor.execute("INSERT INTO kept VALUES (2) RETURNING number").fetchall()


def test_a_failed_write_holds_no_lock_while_its_error_is_kept(tmp_path: Path) -> None:
    """The error keeps the frames of the transaction, and with them its cursor; the next write must not wait for it."""
    with open_database(build_sqlite_url(tmp_path / "a.db")) as dialect:
        database = Database(dialect)
        with database.begin(Transaction) as transaction:
            transaction._cursor.execute("CREATE TABLE kept (number INTEGER)")
        with pytest.raises(StoreUnwritable) as kept:
            fail_in_the_middle(database)
        with database.begin(Transaction) as transaction:
            transaction._cursor.execute("PRAGMA busy_timeout=0")
            transaction._cursor.execute("INSERT INTO kept VALUES (3)")
            stored = transaction._cursor.execute("SELECT number FROM kept").fetchall()
        database.close()

    assert "readonly" in str(kept.value)
    assert stored == [(3,)]


def _plan(name: str, value: object) -> list[str]:
    """How SQLite would carry out the statement with this value for each of its parameters."""
    store = open_store("sqlite://")
    statement = getattr(store._statements, name)
    values = dict.fromkeys(re.findall(r":(\w+)", statement.sql), value)
    with store._database.read() as transaction:
        plan = [row[3] for row in transaction._cursor.execute(f"EXPLAIN QUERY PLAN {statement.sql}", values)]
    store.close()
    return plan


@pytest.mark.parametrize("name", ["add_first_with_key", "unsent_with_key", "keep_delivery", "drop_outbox", "drop_replaced", "outbox_retry"])
def test_no_statement_about_one_message_reads_the_whole_outbox(name: str) -> None:
    """Four thousand messages that cannot be delivered would make each turn dearer."""
    plan = _plan(name, "x")
    assert any("SEARCH outbox USING" in line for line in plan)
    assert not any(line.startswith("SCAN outbox") for line in plan)


def test_what_is_due_is_found_by_an_index_of_what_waits() -> None:
    """Failed messages stay for operators to see, and are not read again and again."""
    plan = _plan("due_outbox", 1)
    looks = [line for line in plan if "unsent" in line or "earlier" in line]
    assert len(looks) == 2
    assert all("INDEX ix_outbox_new" in line for line in looks)
    assert not any(line.startswith("SCAN outbox") for line in plan)


def modes(folder: Path) -> dict[str, int]:
    """By file of the database: who may do what with it."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir() if path.suffix != ".lock"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_reads_a_new_database(umask: int, tmp_path: Path) -> None:
    """Its write-ahead log and the log's index too, whatever the process's umask says."""
    before = os.umask(umask)
    try:
        store = open_store(build_sqlite_url(tmp_path / "new.db"))
        store.set_value("k", "v")
        found = modes(tmp_path)
        store.close()
    finally:
        os.umask(before)

    assert found == dict.fromkeys(("new.db", "new.db-wal", "new.db-shm"), 0o600)


def test_a_database_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    """Ops may have opened it to a group that makes backups."""
    path = tmp_path / "old.db"
    path.touch()
    path.chmod(0o640)
    store = open_store(build_sqlite_url(path))
    store.set_value("k", "v")
    found = modes(tmp_path)
    store.close()

    assert set(found.values()) == {0o640}
