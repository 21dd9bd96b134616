"""New databases of tests, made from the statements of the first, are as Alembic makes them."""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from state.sql import build_sqlite_url, open_store, schema
from tests import shared_schema
from tests.postgres_kit import Server

_CATALOGUE = (
    (
        "SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns"
        " WHERE table_schema = 'public' ORDER BY 1, 2"
    ),
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1",
    (
        "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2"
    ),
    "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
    "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger ORDER BY 1",
    "SELECT version_num FROM alembic_version",
)


def make_file(folder: Path) -> list[str]:
    """Make a new database as the program does, and return all that makes up its schema, with the rows it begins with."""
    path = folder / "sdelka.db"
    open_store(build_sqlite_url(path)).close()
    with closing(sqlite3.connect(path)) as connection:
        found = list(connection.iterdump())
    path.unlink()
    return found


def make_on_server(server: Server) -> list[str]:
    """The same on PostgreSQL."""
    url = server.empty()
    open_store(url).close()
    engine = create_engine(url)
    with engine.connect() as connection:
        found = [str(row) for query in _CATALOGUE for row in connection.execute(text(query))]
    engine.dispose()
    server.drop(url)
    return found


@pytest.mark.parametrize("kind", ["file", "postgresql"])
def test_a_database_made_from_the_record_is_as_alembic_makes_it(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Tables, columns, indexes, constraints, the version, and the rows that are there from the beginning."""
    make = partial(make_file, tmp_path) if kind == "file" else partial(make_on_server, request.getfixturevalue("postgres"))
    monkeypatch.setattr(shared_schema, "_recorded", {})
    monkeypatch.setattr(schema, "_run_migrations", shared_schema.migrate_from_record)
    recorded = make()
    asked: list[str] = []
    monkeypatch.setattr(shared_schema, "_migrate", lambda *_: asked.append("Alembic"))
    replayed = make()
    assert asked == []
    monkeypatch.undo()
    monkeypatch.setattr(schema, "_run_migrations", shared_schema._migrate)
    plain = make()
    assert len(plain) > 20
    assert plain == recorded == replayed
