"""What `sdelka doctor` says of databases, which it only reads, and what the check of the journal says of the definitions in them."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import make_url, text

from bot.cli.doctor.database import check_database
from bot.settings.settings import Settings
from state.canonical import hash_text
from state.journal import definitions
from state.migrations import HEAD
from state.sql import build_sqlite_url, open_store
from tests.contract.definitions_kit import ANNA, BORIS, KEY, KIND, check, create, damage, publish, save
from tests.contract.store_kit import World, lasting_store


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


@lasting_store
class TestCheck:
    """What `sdelka journal verify` says of definitions."""

    def test_an_intact_store_gives_no_finding(self, world: World) -> None:
        store = world.open()
        create(store, source="n: 1  # раз\n")
        save(store, 1, {"n": 2}, 1, who=BORIS)
        publish(store, 1, 2)
        create(store, {"n": 3}, source="n: 3\n")
        publish(store, 2, 1)
        publish(store, 1, 4)
        definitions.switch_key(store, ANNA, KIND, KEY, enabled=False, expected=4)
        assert check(world) == set()

    @pytest.mark.parametrize(
        ("change", "expected"),
        [
            ("UPDATE definition_keys SET active_version = 2", "table definition_keys"),
            ("UPDATE definition_keys SET enabled = 0", "table definition_keys"),
            ("DELETE FROM definition_keys", "table definition_keys"),
            ("UPDATE definitions SET status = 'published' WHERE version = 2", "table definitions"),
            ("UPDATE definitions SET digest = 'x' WHERE version = 1", "table definitions"),
            ("UPDATE definitions SET writers = '[]'", "table definitions"),
            ("UPDATE definition_history SET what = 'created' WHERE what = 'published'", "table definition_history"),
            ("DELETE FROM definition_history WHERE version = 2", "table definition_history"),
            ("DELETE FROM definition_texts", "definition text"),
            ("UPDATE definitions SET source = ''", "table definitions"),
            ("DELETE FROM definition_sources", "definition source"),
        ],
    )
    def test_a_row_that_was_changed_by_hand_is_named(self, world: World, change: str, expected: str) -> None:
        store = world.open()
        create(store, source="n: 1  # раз\n")
        publish(store, 1, 1)
        create(store, {"n": 2})
        with store._dialect.engine.begin() as connection:
            connection.execute(text(change))
        found = check(world)
        assert {" ".join(place.split()[:2]) for _, place, _ in found} == {expected}
        assert all(kind in {"inconsistent", "missing"} for kind, _, _ in found)

    def test_a_text_that_is_not_what_its_digest_says_is_damaged(self, world: World) -> None:
        store = world.open()
        made = create(store)
        damage(store)
        assert check(world) == {("damaged", f"definition text {made.digest}", "it is not what its digest says")}

    def test_an_author_s_text_that_is_not_what_its_digest_says_is_damaged(self, world: World) -> None:
        store = world.open()
        create(store, source="n: 1  # раз\n")
        with store._dialect.engine.begin() as connection:
            connection.execute(text("UPDATE definition_sources SET text = 'n: 2'"))
        assert check(world) == {("damaged", f"definition source {hash_text('n: 1  # раз' + chr(10))}", "it is not what its digest says")}
