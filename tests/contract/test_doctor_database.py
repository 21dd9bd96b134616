"""What `sdelka doctor` says of a database, over real ones: PostgreSQL, SQLite, damaged, newer, moved; it writes nothing."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url

from bot.cli.doctor.database import check_database
from bot.settings.settings import Settings
from state.migrations import HEAD
from state.sql import build_sqlite_url, open_store


def told(url: str) -> dict[str, tuple[str, str]]:
    """Check → verdict and sentence."""
    settings = Settings(_env_file=None, database_url=SecretStr(url))
    return {line.check: (line.verdict, line.says) for line in check_database(settings)}


@pytest.mark.usefixtures("postgres")
@pytest.mark.req("S004-67")
def test_a_server(fresh_url: Callable[[str], str]) -> None:
    """Version, schema and whoever is at work; a server that forgets at a power failure is wrong, as the one of the tests is."""
    url = fresh_url("postgresql")
    open_store(url).close()
    after = told(url)
    assert after["server"][0] == "ok"
    assert after["server"][1].startswith("PostgreSQL ")
    assert after["schema"] == ("ok", f"Schema {HEAD}; no bot is at work on it now.")
    assert (after["fsync"][0], after["full_page_writes"][0]) == ("wrong", "wrong")
    assert "writable" not in after


def test_a_server_that_is_not_there(fresh_url: Callable[[str], str]) -> None:
    """The password of the address is in no sentence."""
    url = make_url("postgresql://sdelka:pass-word-of-db@127.0.0.1:1/sdelka").render_as_string(hide_password=False)
    found = told(url)
    assert found["open"][0] == "wrong"
    assert "pass-word-of-db" not in str(found)


def test_files_of_every_kind(tmp_path: Path) -> None:
    """Missing, good, readable for others, of a newer program, closed, damaged."""
    path = tmp_path / "sdelka.db"
    url = build_sqlite_url(path)
    assert told(url)["file"][0] == "ok"
    open_store(url).close()
    assert {verdict for verdict, _ in told(url).values()} == {"ok"}
    path.chmod(0o644)
    assert told(url)["file"][0] == "warning"
    path.chmod(0o600)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("""INSERT INTO "values" VALUES ('closed', '{"why": "moved", "to": "db.example/sdelka", "at": "2026-11-22"}')""")
        connection.commit()
        assert told(url)["closed"][0] == "wrong"
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
        assert told(url)["schema"][0] == "wrong"
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
        connection.commit()
        assert told(url)["schema"][0] == "warning"
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xff" * (len(whole) - 8192))
    assert told(url)["whole"][0] == "wrong"
    path.write_bytes(b"no database at all, but a text" * 100)
    assert "wrong" in {verdict for verdict, _ in told(url).values()}
