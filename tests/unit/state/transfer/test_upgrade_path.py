"""Databases as each earlier schema left them: brought to today's at the start, with nothing of their content changed; never back."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import Connection, text

from state.clock import format_iso
from state.events.codec import encode
from state.events.conversation import MessageReceived
from state.journal.journal import RecordHead, hash_record, record_text
from state.journal.store import InboxRow
from state.migrations import HEAD
from state.sql import NewerDatabase, open_store, schema
from state.sql.dialect import open_database
from state.transfer.table_copy import reset_sequences
from state.verify.database import OLDER
from tests.unit.spine_kit import CHAT, NOW
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes

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
