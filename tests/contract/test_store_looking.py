"""What every store must show to those who look into it: raw records, heads, events across streams; and a reader that changes nothing."""

import sqlite3
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from state.clock import format_iso
from state.events.conversation import ModelFailed
from state.journal.journal import hash_record
from state.journal.store import Snapshot, StoreError, StoreUnwritable
from state.sql import SqlStore, build_sqlite_url, open_store
from state.sql.store import open_reader
from tests.contract.store_kit import NOW, SESSION, STREAM, World, every_store, incoming, lasting_store, lease, said, step
from tests.postgres_kit import Server

FAILED = ModelFailed(turn_id="t1", iteration=1, reason="timeout")


@every_store
class TestLooking:
    def test_records_are_the_bytes_that_were_hashed(self, store: SqlStore) -> None:
        """Each record comes as stored, in order, in pages, and carries the chain without being understood."""
        stored = store.commit(step(lease(store), said("раз"), said("два"), FAILED))

        found = store.read_records(STREAM)
        assert found == [(event.seq, event.raw, event.hash) for event in stored]
        head = ""
        for _, raw, hash_ in found:
            head = hash_record(head, raw)
            assert head == hash_
        assert store.read_records(STREAM, after=1, limit=1) == found[1:2]
        assert store.read_records(STREAM, after=3) == store.read_records("session:tg:2") == []
        clear = store.read_encrypted(STREAM, after=1, limit=1)
        assert [(seq, kind) for seq, kind, _ in clear] == [(2, orjson.loads(found[1][1])["type"])]
        assert orjson.loads(clear[0][2]) == orjson.loads(found[1][1])["data"]

    def test_heads_are_of_streams_with_events_only(self, store: SqlStore) -> None:
        """A session that was opened and a door that is led have a lease, and no stream."""
        for name in ("door:telegram:77", "tg:9", "run:abc", "tg:1"):
            lease(store, name)
        [event] = store.commit(step(lease(store), said()))
        [ran] = store.commit(step(lease(store, "run:abc"), said()))

        assert store.list_heads() == [("run:abc", 1, ran.hash), (STREAM, 1, event.hash)]
        assert store.list_streams() == ["run:abc", STREAM]

    def test_a_scan_finds_events_of_all_streams_by_type(self, store: SqlStore) -> None:
        """In the order of their ids, in pages, of the types asked for or of all."""
        first = store.commit(step(lease(store), said("раз"), FAILED))
        other = store.commit(step(lease(store, "tg:2"), said("два")))
        whole = sorted(event.id for event in first + other)
        said_ids = sorted([first[0].id, other[0].id])

        assert [event.id for event in store.scan()] == whole
        assert [event.id for event in store.scan(["MessageReceived"])] == said_ids
        assert [event.id for event in store.scan(["MessageReceived", "ModelFailed"], after=whole[0], limit=1)] == [whole[1]]
        assert store.scan(["TurnFinished"]) == []

    def test_a_scan_back_finds_the_newest_first(self, store: SqlStore) -> None:
        """What a scan finds, in the opposite order, in pages, of the types asked for or of all."""
        store.commit(step(lease(store), said("раз"), FAILED))
        store.commit(step(lease(store, "tg:2"), said("два")))
        whole = [event.id for event in store.scan()][::-1]
        said_ids = [event.id for event in store.scan(["MessageReceived"])][::-1]

        assert [event.id for event in store.scan_back()] == whole
        assert [event.id for event in store.scan_back(["MessageReceived"])] == said_ids
        assert [event.id for event in store.scan_back(before=whole[0], limit=1)] == [whole[1]]
        assert store.scan_back(["TurnFinished"]) == store.scan_back(before=whole[-1]) == []

    def test_ends_tell_when_each_stream_was_last_written(self, store: SqlStore) -> None:
        """Of conversations and of runs; a session without events has no end."""
        lease(store, "tg:9")
        [*_, last] = store.commit(step(lease(store), said("раз"), FAILED))
        [ran] = store.commit(step(lease(store, "run:abc"), said()))

        assert sorted(store.list_ends()) == [("run:abc", 1, ran.ts), (STREAM, 2, last.ts)]

    def test_sessions_of_others_are_not_offered(self, store: SqlStore) -> None:
        """Who asks for work gets what is free, what is theirs and what a dead owner left, never what a living one holds."""
        store.put_inbox([incoming(str(number), f"tg:{number}") for number in range(4)])
        lease(store, "tg:0", "me")
        lease(store, "tg:1", "other")
        store.release(lease(store, "tg:2", "other"))

        offered = [("tg:0", "turn"), ("tg:2", "turn"), ("tg:3", "turn")]
        assert store.list_ready_sessions("me", NOW) == offered
        assert store.list_ready_sessions("me", NOW.replace(hour=13)) == [*offered[:1], ("tg:1", "turn"), *offered[1:]]
        assert len(store.list_ready_sessions()) == 4

    def test_an_identity_of_any_length_is_stored_once(self, store: SqlStore) -> None:
        """Two sources that differ in their last letter only are two; each is known again."""
        long = "portal:" + "я" * 8000
        assert store.put_inbox([incoming(long + "a"), incoming(long + "b"), incoming(long + "a")]).fresh == [True, True, False]
        store.commit(step(lease(store), inbox_new=[incoming(long + "b"), incoming(long + "c")]))
        assert store.put_inbox([incoming(long + "c")]).fresh == [False]
        assert len(store.list_waiting_inbox(SESSION, "turn")) == 3


@lasting_store
class TestReader:
    def test_a_reader_sees_and_changes_nothing(self, world: World) -> None:
        """It reads beside a writer, and every write through it is refused and leaves nothing."""
        store = world.open()
        held = lease(store)
        stored = store.commit(step(held, said(), snapshot=Snapshot(stream=STREAM, seq=0, state={})))
        reader = open_reader(world.url)
        world.opened.append(reader)

        assert reader.read_events(STREAM) == stored
        writes = [
            lambda: reader.set_value("k", "v"),
            lambda: reader.put_inbox([incoming("x")]),
            lambda: reader.put_inbox([incoming("x"), incoming("y")]),
            lambda: reader.commit(step(held, said())),
            lambda: reader.acquire(SESSION, "two", NOW.replace(hour=15), NOW.replace(hour=16)),
        ]
        for write in writes:
            with pytest.raises(StoreUnwritable):
                write()
        assert (store.get_value("k"), store.list_waiting_inbox(SESSION, "turn"), store.read_head(STREAM)[0]) == (None, [], 1)
        assert [item.seq for item in store.commit(step(held, said()))] == [2]
        assert len(reader.read_events(STREAM)) == 2

    def test_a_database_of_another_schema_is_not_read(self, world: World) -> None:
        """A reader brings nothing up to date: it says which schema it found."""
        store = world.open()
        with store._database.write() as transaction:
            transaction._cursor.execute("UPDATE alembic_version SET version_num = '0000'")
        with pytest.raises(StoreError, match="schema '0000'"):
            open_reader(world.url)


def test_a_reader_creates_nothing(tmp_path: Path, postgres: Server) -> None:
    """A missing file stays missing, an empty database stays empty."""
    with pytest.raises(StoreUnwritable, match="there is no database"):
        open_reader(build_sqlite_url(tmp_path / "none.db"))
    assert list(tmp_path.iterdir()) == []
    with closing(sqlite3.connect(tmp_path / "empty.db")) as connection:
        connection.execute("CREATE TABLE x (y)")
    url = postgres.empty()
    for empty in (build_sqlite_url(tmp_path / "empty.db"), url):
        with pytest.raises(StoreError, match="schema 'nothing'"):
            open_reader(empty)
    postgres.drop(url)


def test_a_moment_of_a_lease_is_of_one_width() -> None:
    """They are compared as text."""
    assert {len(format_iso(moment)) for moment in (NOW, NOW.replace(microsecond=1), NOW.replace(year=2999))} == {27}


@lasting_store
def test_an_old_store_is_opened_again(world: World) -> None:
    """Opening twice changes nothing."""
    world.open().set_value("k", "v")
    assert open_store(world.url).get_value("k") == "v"
