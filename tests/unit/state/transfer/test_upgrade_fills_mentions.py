"""A database from before the table of mentions: filled from its journal at the upgrade, all of it or nothing, and then carried along."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select, text

from state.canonical import dumps
from state.journal.journal import RecordHead, hash_record, record_text
from state.journal.store import Commit, StaleEpoch
from state.sql import open_store, schema
from state.sql import record_index as filling
from state.sql.dialect import open_database
from state.sql.tables import mentions
from state.transfer.move import move_database
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes
from tests.unit.state.transfer.older_kit import take_back_to_0003

CHILD = Path(__file__).with_name("mentions_child.py")


@contextmanager
def changing(home: Home) -> Iterator[tuple[Connection, Any]]:
    with open_database(home.url) as dialect:
        with dialect.engine.begin() as connection:
            yield connection, dialect
        dialect.engine.dispose()


def mentioned(home: Home) -> set[tuple[str, ...]]:
    with changing(home) as (connection, _):
        return {tuple(row) for row in connection.execute(select(mentions))}


def older(home: Home) -> None:
    """As the program before had left it."""
    with changing(home) as (connection, _):
        take_back_to_0003(connection)


def at_kind(homes: Homes, talked: Home, kind: str) -> Home:
    """The conversation in a database of that kind."""
    if kind == "file":
        return talked
    home = homes.home("served", kind)
    move_database(talked.url, home.url)
    return home


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_database_is_filled_as_if_it_had_always_had_the_table(
    homes: Homes, talked: Home, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In slices, and long work says how far it is."""
    home = at_kind(homes, talked, kind)
    before = mentioned(home)
    assert {what for _, what, _, _ in before} == {"call", "made", "began", "decision"}
    older(home)
    monkeypatch.setattr(filling, "SLICE", 7)
    monkeypatch.setattr(filling, "TELL_EVERY", 20)
    with caplog.at_level(logging.INFO):
        open_store(home.url).close()
    assert mentioned(home) == before
    assert home.findings() == []
    assert any("records looked through" in line for line in caplog.messages)


def test_a_database_of_the_first_schema_is_filled(homes: Homes, talked: Home) -> None:
    """Its records lie there in clear, and its effects have one column more."""
    before, home = mentioned(talked), homes.home("first")
    events: list[dict[str, Any]] = []
    with talked.store() as store, changing(talked) as (connection, _):
        effects = [dict(row._mapping) | {"epoch": 1} for row in connection.execute(text("SELECT * FROM effects"))]
        for stream in store.list_streams():
            prev = ""
            for event in store.read_events(stream):
                head = RecordHead(stream, event.seq, event.id, event.ts, event.type, event.v, event.actor)
                data = dumps(event.data)
                prev = hash_record(prev, record_text(head, data))
                events.append({**head._asdict(), "data": data, "hash": prev})
    (home.folder / "state").mkdir(parents=True)
    with changing(home) as (connection, dialect):
        schema.migrate_schema(dialect, connection, "", "0001")
        for table, rows in {"events": events, "effects": effects}.items():
            names = ", ".join(f'"{name}"' for name in rows[0])
            places = ", ".join(f":{name}" for name in rows[0])
            connection.execute(text(f'INSERT INTO "{table}" ({names}) VALUES ({places})'), rows)  # noqa: S608 - names of ours
    open_store(home.url).close()
    assert mentioned(home) == before


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_who_is_killed_in_the_middle_begins_anew(homes: Homes, talked: Home, kind: str) -> None:
    """Half of it never stands there."""
    home = at_kind(homes, talked, kind)
    before = mentioned(home)
    older(home)
    dead = subprocess.run([sys.executable, CHILD, home.url], capture_output=True, text=True, timeout=60, check=False)
    assert dead.returncode == -9, dead.stderr[-2000:]
    with changing(home) as (connection, _):
        assert schema.read_revision(connection) == "0003"
        assert not connection.dialect.has_table(connection, "mentions")
    open_store(home.url).close()
    assert mentioned(home) == before


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_backup_is_filled_when_it_is_restored_and_a_new_one_is_carried_along(
    homes: Homes, talked: Home, tmp_path: Path, kind: str
) -> None:
    before = mentioned(talked)
    new, old = talked.back_up(tmp_path / "new.backup").path, tmp_path / "old.backup"
    older(talked)
    talked.back_up(old)
    for name, path in (("from-new", new), ("from-old", old)):
        place = homes.home(name, kind)
        place.restore(path)
        assert mentioned(place) == before
        assert [one.why for one in place.findings()] == []


@pytest.mark.usefixtures("postgres")
def test_a_process_of_the_older_program_can_no_longer_commit(homes: Homes, talked: Home) -> None:
    """On a server it may still run, and what it stored would be missing in the table: its sessions end and its function is gone."""
    home = at_kind(homes, talked, "postgresql")
    with home.store() as old:
        now = datetime(2026, 11, 21, tzinfo=UTC)
        lease = old.acquire("tg:5", "older", now, now.replace(year=2100))
        assert lease is not None
        late = Commit(stream="session:tg:5", epoch=lease.epoch, actor="system", now=now, blobs={"d": "1"})
        old.commit(late)
        older(home)
        with changing(home) as (connection, _):
            connection.execute(text("CREATE FUNCTION sdelka_commit_0123456789ab(p jsonb) RETURNS void LANGUAGE sql AS 'SELECT'"))
        open_store(home.url).close()
        with pytest.raises(StaleEpoch):
            old.commit(late)
        with changing(home) as (connection, _):
            made = connection.execute(text("SELECT proname FROM pg_proc WHERE starts_with(proname, 'sdelka_commit_')")).scalars().all()
        assert made == []
