"""Databases as each earlier schema left them: brought to today's with nothing changed, never back; mentions filled all or not at all."""

import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Connection, select, text

from state.canonical import dumps
from state.clock import format_iso
from state.events.codec import encode
from state.events.conversation import MessageReceived
from state.journal.journal import RecordHead, hash_record, record_text
from state.journal.store import Commit, InboxRow, StaleEpoch
from state.migrations import HEAD
from state.sql import NewerDatabase, open_store, schema
from state.sql import record_index as filling
from state.sql.dialect import open_database
from state.sql.tables import mentions
from state.transfer.move import move_database
from state.transfer.table_copy import reset_sequences
from state.verify.database import OLDER
from tests.unit.spine_kit import CHAT, NOW
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes
from tests.unit.state.transfer.older_kit import take_back_to_0003

REVISIONS = sorted(OLDER)
WITHOUT = {"effects": {"epoch": "0003"}}
"""Columns that went, and the schema they went with."""


def filled(home: Home, revision: str) -> dict[str, list[dict[str, Any]]]:
    """A database of that schema with some rows of each kind in plain SQL, as the program of that time wrote them."""
    (home.folder / "state").mkdir(parents=True, exist_ok=True)
    rows = _rows(revision)
    with changing(home) as (connection, dialect):
        schema.migrate_schema(dialect, connection, "", revision)
        for table, several in rows.items():
            for row in several:
                names = ", ".join(f'"{name}"' for name in row)
                places = ", ".join(f":{name}" for name in row)
                connection.execute(text(f'INSERT INTO "{table}" ({names}) VALUES ({places})'), row)  # noqa: S608 - names of this file
        reset_sequences(connection)
    return rows


@contextmanager
def changing(home: Home) -> Iterator[tuple[Connection, Any]]:
    with open_database(home.url) as dialect:
        with dialect.engine.begin() as connection:
            yield connection, dialect
        dialect.engine.dispose()


def _rows(revision: str) -> dict[str, list[dict[str, Any]]]:
    at, prev, events = format_iso(NOW), "", []
    for seq, words in enumerate(("подними сумму", "и ещё"), start=1):
        made = encode(MessageReceived(turn_id=f"t{seq}", text=words))
        head = RecordHead(f"session:{CHAT}", seq, f"00000000-0000-7000-8000-00000000000{seq}", at, made.type, made.v, CHAT)
        data = orjson.dumps(
            orjson.loads(made.clear) | {"text": words}, option=orjson.OPT_SORT_KEYS
        ).decode()  # in clear, as before there were keys
        prev = hash_record(prev, record_text(head, data))
        events.append({**head._asdict(), "data": data, "hash": prev})
    effect = {
        "effect_id": "e1",
        "stream": "run:old",
        "status": "requested",
        "fingerprint": "f",
        "call": "{}",
        "updated_at": at,
        "outcome": None,
    }
    rows: dict[str, list[dict[str, Any]]] = {
        "events": events,
        "leases": [{"session": CHAT, "owner": "", "epoch": 3, "until": at, "seq": 2, "hash": prev}],
        "inbox": [_inbox(1, "done", at), _inbox(7, "new", at)],
        "outbox": [
            {"pos": 4, "id": "o4", "session": CHAT, "channel": "tg", "kind": "reply", "body": '{"a":1}', "key": "", "created_at": at}
            | {"status": "new", "attempts": 0, "due_at": at, "note": ""}
        ],
        "deliveries": [{"session": CHAT, "key": "card:1", "sent_ref": "77"}],
        "effects": [effect],
        "timers": [{"id": "reminder:1", "due_at": at, "session": CHAT, "kind": "reminder", "body": "{}"}],
        "blobs": [{"digest": sha256(b"[1,2]").hexdigest(), "content": "[1,2]"}],
        "values": [{"key": "offset", "value": "5"}],
    }
    if revision < "0003":
        effect["epoch"] = 3
    if revision >= "0002":
        rows["person_keys"] = [{"key_id": "k", "person": CHAT, "secret": "", "created_at": at, "erased_at": at}]
    return rows


def _inbox(pos: int, status: str, at: str) -> dict[str, Any]:
    names = {
        "source": f"telegram:1:{pos}",
        "session": CHAT,
        "lane": "turn",
        "kind": "message",
        "actor": json.dumps({"key": CHAT}),
        "body": "{}",
    }
    return {"pos": pos, "id": f"i{pos}", **names, "received_at": at, "status": status, "attempts": 0, "note": ""}


def same(home: Home, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Every row has what it had."""
    with changing(home) as (connection, _):
        for table, several in rows.items():
            found = [dict(row._mapping) for row in connection.execute(text(f'SELECT * FROM "{table}"'))]  # noqa: S608 - names of this file
            found = [row for row in found if row.get("stream") != "session:ops"]
            gone = {name for name, with_ in WITHOUT.get(table, {}).items() if with_ <= HEAD}
            kept = [{name: value for name, value in row.items() if name not in gone} for row in several]
            assert sorted(found, key=repr) == sorted(({name: row[name] for name in found[0]} for row in kept), key=repr), table
            assert all(row.keys() == found[0].keys() for row in kept), table


def test_every_schema_before_todays_is_tried() -> None:
    """A new migration brings the one before it here by itself."""
    assert REVISIONS[0] == "0001"
    assert [f"{number:04}" for number in range(1, int(HEAD))] == REVISIONS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("revision", REVISIONS)
def test_it_is_upgraded_at_the_start(homes: Homes, kind: str, revision: str) -> None:
    """Content equal, chain whole, and it takes new rows."""
    home = homes.home("old", kind)
    rows = filled(home, revision)
    with home.store() as store:
        assert [event.data["text"] for event in store.read_events(f"session:{CHAT}")] == ["подними сумму", "и ещё"]
    same(home, rows)
    assert [one.why for one in home.findings() if "e1" not in one.place] == []
    with home.store() as store:
        row = InboxRow(id="new", source="telegram:1:9", session=CHAT, lane="turn", kind="message", actor={}, body={}, received_at=NOW)
        assert store.put_inbox([row]).fresh == [True]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_backup_made_before_the_upgrade_is_upgraded_when_it_is_restored(homes: Homes, kind: str, revision: str, tmp_path: Path) -> None:
    """The newer program backs up what the older one wrote, without touching it."""
    home, place = homes.home("old"), homes.home("new", kind)
    rows = filled(home, revision)
    made = home.back_up(tmp_path / "one.backup")
    assert made.manifest.revision == revision
    with changing(home) as (connection, _):
        assert schema.read_revision(connection) == revision
    place.restore(made.path)
    same(place, {table: several for table, several in rows.items() if table in {"events", "outbox", "deliveries", "timers", "blobs"}})
    assert [one.why for one in place.findings() if "e1" not in one.place] == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_schema_is_refused_everywhere(homes: Homes, kind: str, tmp_path: Path) -> None:
    """At the start and by a backup: one sentence that names both, and nothing is changed."""
    home = homes.home("old", kind)
    open_store(home.url).close()
    with changing(home) as (connection, _):
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(NewerDatabase, match=f"'9999'.*'{HEAD}'.*newer version"):
        open_store(home.url)
    with pytest.raises(NewerDatabase, match=f"'9999'.*'{HEAD}'"):
        home.back_up(tmp_path / "one.backup")
    assert list(tmp_path.glob("*.backup")) == []


CHILD = Path(__file__).with_name("mentions_child.py")


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
