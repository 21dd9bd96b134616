"""`sdelka db move`: every row, byte for byte, to the other kind of database; the old one is left as it was, closed, and seldom reopened."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from filelock import FileLock

from bot.cli.copies import databases
from state.journal.store import StoreError
from state.sql import build_sqlite_url, open_store
from state.sql.schema import ClosedDatabase
from state.transfer.move import SamePlace, clear_moved_mark, move_database
from state.transfer.staging import NotEmpty
from state.transfer.table_copy import InUse, NothingThere
from tests.postgres_kit import libpq
from tests.unit.spine_kit import CHAT, a_world, message, reply
from tests.unit.state.transfer.moving_kit import Home, Homes, called
from tests.unit.verify_kit import conversation


@pytest.fixture(scope="module")
def talked_in(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("moved") / "sdelka.db"
    conversation(path)
    return path.read_bytes()


@pytest.fixture
def old(homes: Homes, talked_in: bytes) -> Home:
    """A home on SQLite in which there was a conversation."""
    home = homes.home("old")
    (home.folder / "state").mkdir(parents=True)
    (home.folder / "state" / "sdelka.db").write_bytes(talked_in)
    return home


@pytest.mark.usefixtures("postgres")
async def test_to_postgresql_and_back(homes: Homes, old: Home, tmp_path: Path) -> None:
    """Events to the byte, every table, the counting on of positions; a bot goes on there; the old one is refused with a sentence."""
    new, again = homes.home("new", "postgresql"), homes.home("again")
    before = old.rows()
    moved = move_database(old.url, new.url)
    assert new.rows() == before == old.rows()
    assert moved.rows == {name: len(rows) for name, rows in before.items()}
    assert new.findings() == []
    with pytest.raises(ClosedDatabase, match=r"was moved to PostgreSQL .*DATABASE_URL"):
        open_store(old.url)
    async with a_world(new.folder, store=open_store(new.url)) as world:
        world.model.will(reply(text="Слушаю."))
        await world.work(message("и что теперь"))
        assert world.codes()
        assert world.events()[-1].type == "TurnFinished"
    assert new.findings() == []
    after = new.rows()
    positions = [row[0] for row in after["inbox"]]
    assert len(positions) == len(set(positions)) == len(before["inbox"]) + 1
    assert max(positions) > max(row[0] for row in before["inbox"])
    move_database(new.url, again.url)
    assert again.rows() == after
    assert again.findings() == []
    with pytest.raises(ClosedDatabase, match="was moved to SQLite"):
        open_store(new.url)
    assert clear_moved_mark(new.url).startswith("SQLite")
    open_store(new.url).close()


@pytest.mark.usefixtures("postgres")
def test_it_refuses_what_is_in_use_full_or_missing(homes: Homes, old: Home, tmp_path: Path) -> None:
    """Each with a sentence, and nothing is changed at either end."""
    new, before = homes.home("new", "postgresql"), old.rows()
    with FileLock(old.folder / "state" / "sdelka.lock"), pytest.raises(InUse, match="stop the bot"):
        move_database(old.url, new.url)
    with pytest.raises(NothingThere):
        move_database(build_sqlite_url(tmp_path / "none.db"), new.url)
    with pytest.raises(SamePlace):
        move_database(old.url, old.url)
    with pytest.raises(NothingThere, match="no database of schema"):
        move_database(new.url, old.url)
    open_store(new.url).close()
    with pytest.raises(NotEmpty):
        move_database(old.url, new.url)
    with psycopg.connect(libpq(new.url), application_name="a bot"), pytest.raises(InUse, match=r"1 other connections .*a bot"):
        move_database(new.url, homes.home("third").url)
    with pytest.raises(StoreError):
        move_database(old.url, "postgresql://nobody@127.0.0.1:1/none")
    assert old.rows() == before
    open_store(old.url).close()


def test_what_was_moved_moves_no_second_time(homes: Homes, old: Home) -> None:
    """Elsewhere it goes on by now: a copy of the old one would be out of date."""
    move_database(old.url, homes.home("new").url)
    with pytest.raises(ClosedDatabase, match="was moved to SQLite"):
        move_database(old.url, homes.home("third").url)


def test_a_damaged_value_is_not_carried_along(homes: Homes, old: Home) -> None:
    """A value of another type than its column: refused, the source stays as it was and open, and the target empty."""
    with closing(sqlite3.connect(old.folder / "state" / "sdelka.db")) as connection, connection:
        connection.execute("UPDATE outbox SET body = x'00ff' WHERE pos = (SELECT min(pos) FROM outbox)")
    new = homes.home("new")
    with pytest.raises(StoreError, match="table outbox holds a value of another type"):
        move_database(old.url, new.url)
    open_store(old.url).close()
    assert not (new.folder / "state" / "sdelka.db").exists()


@pytest.mark.usefixtures("postgres")
def test_the_command_tells_where_things_are(homes: Homes, old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No password in what it says; the old one can be taken back."""
    new = homes.home("new", "postgresql")
    monkeypatch.setenv("STATE_DIR", str(old.folder / "state"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    code, said = called(databases, "move", "--to", new.url)
    assert (code, "are the same in PostgreSQL" in said, "is marked as moved" in said) == (0, True, True)
    code, said = called(databases, "move", "--to", new.url)
    assert (code, "not moved" in said) == (2, True)
    code, said = called(databases, "reopen", "--yes")
    assert (code, "is open again" in said) == (0, True)
    assert called(databases, "move", "--to", "mysql://x/y")[0] == 2
    code, said = called(databases, "move", "--to", "postgres://u:sec@retpw@127.0.0.1/x")
    assert (code, "is written %40" in said, "retpw" in said) == (2, True, False)
    with old.store() as store:
        assert store.read_head(f"session:{CHAT}")[0] > 0


ASKED = "Open SQLite"


def test_the_question_comes_after_the_look_whether_it_may_run(homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a database that was never moved, nor while a bot works with it; an answer of no changes nothing."""
    old, new = homes.home("old"), homes.home("new")
    (old.folder / "state").mkdir(parents=True)
    (new.folder / "state").mkdir(parents=True)
    open_store(old.url).close()
    monkeypatch.setenv("STATE_DIR", str(old.folder / "state"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    code, said = called(databases, "reopen")
    assert (code, "was not marked as moved" in said, ASKED in said) == (0, True, False), said
    move_database(old.url, new.url)
    with FileLock(old.folder / "state" / "sdelka.lock", timeout=0):
        code, said = called(databases, "reopen")
        assert (code, "stop the bot first" in said, ASKED in said, "a second time" in said) == (2, True, False, False), said
    code, said = called(databases, "reopen")
    assert (code, ASKED in said, "a second time" in said) == (1, True, True), said
    code, said = called(databases, "reopen", "--yes")
    assert (code, "is open again" in said) == (0, True), said
