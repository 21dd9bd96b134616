"""The migrations, the tables and the constant of the newest revision agree; a newer database is refused."""

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
