"""What a database on disk must do: outlive its process, keep others out, say when it is full or was changed."""

import subprocess
import threading
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import event

from state.journal.store import EffectConflict, StoreUnwritable
from state.sql import SqlStore
from tests import chain_kit
from tests.contract.store_kit import (
    NOW,
    SESSION,
    STREAM,
    World,
    due,
    every_sqlite,
    incoming,
    intent,
    lasting_store,
    lease,
    outgoing,
    said,
    step,
)
from tests.forker import forked


@lasting_store
class TestLasting:
    def test_everything_is_there_after_a_restart(self, world: World) -> None:
        """A closed and reopened database goes on where it stood."""
        store = world.open()
        held = lease(store)
        store.put_inbox([incoming("a")])
        store.commit(step(held, said(), effects=[intent()], outbox=[outgoing("o1")]))
        store.close()
        store = world.open()

        assert store.read_head(STREAM)[0] == 1
        assert due(store) == ["o1"]
        assert store.put_inbox([incoming("a")]).fresh == [False]
        assert [item.seq for item in store.commit(step(held, said()))] == [2]
        assert isinstance(chain_kit.verify_stream(store, STREAM), chain_kit.Verified)

    def test_two_stores_on_one_database_exclude_each_other(self, world: World) -> None:
        """Two connections see each other's commits, and the lease and the effect go to one of them."""
        one, two = world.open(), world.open()
        held = lease(one)

        assert two.acquire(SESSION, "two", NOW, NOW + timedelta(minutes=1)) is None
        one.commit(step(held, said(), effects=[intent()]))
        with pytest.raises(EffectConflict):
            two.commit(step(held, said(), effects=[intent()]))
        assert [item.seq for item in two.commit(step(held, said()))] == [2]
        assert one.read_head(STREAM) == two.read_head(STREAM)

    def test_processes_open_and_write_at_the_same_time(self, world: World) -> None:
        """Several fresh processes create, migrate and write one database at once: one schema, every row once."""
        script = (
            "import sys\n"
            "from datetime import UTC, datetime\n"
            "from state.sql import open_store\n"
            "from state.journal.store import InboxRow\n"
            "store = open_store(sys.argv[1])\n"
            "for n in range(10):\n"
            "    row = InboxRow(id=f'{sys.argv[2]}-{n}', source=f'shared-{n}', session='s', lane='turn', kind='k',\n"
            "                   actor={}, body={}, received_at=datetime.now(UTC))\n"
            "    print(sum(store.put_inbox([row]).fresh))\n"
        )
        started = [
            subprocess.Popen(forked("-c", script, world.url, str(n)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for n in range(2)
        ]
        outputs = [process.communicate(timeout=60) for process in started]

        assert [errors for _, errors in outputs] == ["", ""]
        assert sum(int(line) for out, _ in outputs for line in out.split()) == 10


LONG = "".join(sha256(bytes([number % 256, number // 256])).hexdigest() for number in range(1600))
"""A long text that packing makes hardly shorter."""


class full:  # noqa: N801  reads as a state of the disk
    """While inside, the database may not grow by a page."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        with self._store._database.read() as transaction:
            cursor = transaction._cursor
            pages = cursor.execute("PRAGMA page_count").fetchone()[0]
            cursor.execute(f"PRAGMA max_page_count={pages}")

    def __exit__(self, *_: object) -> None:
        with self._store._database.read() as transaction:
            transaction._cursor.execute("PRAGMA max_page_count=1073741823")


class TestSqlite:
    """What only SQLite can be made to do from inside a test."""

    @every_sqlite
    def test_a_full_disk_refuses_the_step_and_then_works_again(self, store: SqlStore) -> None:
        """Out of room: the caller is told, nothing of the step is kept, and with room again it goes on."""
        held = lease(store)
        store.commit(step(held, said()))
        with full(store), pytest.raises(StoreUnwritable, match="full"):
            store.commit(step(held, said(LONG), effects=[intent()]))

        assert store.find_effect("e1") is None
        assert chain_kit.verify_stream(store, STREAM) == chain_kit.Verified(seq=1, hash=store.read_head(STREAM)[1])
        assert [item.seq for item in store.commit(step(held, said(LONG)))] == [2]

    def test_only_one_process_opens_a_file_at_a_time(self, world: World, tmp_path: Path) -> None:
        """Creating and migrating is done under a lock that others wait for."""
        (tmp_path / "state").mkdir()
        lock = FileLock(tmp_path / "state" / "sdelka.db.lock")
        opener = threading.Thread(target=world.open)
        with lock:
            opener.start()
            opener.join(0.2)
            assert opener.is_alive()
            assert world.opened == []
        opener.join(10)

        assert len(world.opened) == 1

    def test_a_connection_that_failed_is_never_used_again(self, world: World) -> None:
        """After an error of the disk the store continues on a new connection."""
        store = world.open()
        made: list[object] = []
        event.listen(store._database._engine, "connect", lambda connection, _: made.append(connection))
        with full(store), pytest.raises(StoreUnwritable):
            store.set_value("x", "y" * 100_000)
        store.set_value("x", "y")

        assert len(made) == 1

    def test_a_database_that_another_process_holds_is_unwritable_and_not_for_ever(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A lock held too long is an error of the store; when it is gone, the store works again."""
        monkeypatch.setattr("state.sql.dialect.BUSY_SECONDS", 0.05)
        one, two = world.open(), world.open()
        held = lease(one)
        with two._database.write():
            with pytest.raises(StoreUnwritable, match="locked"):
                one.commit(step(held, said()))
            assert one.read_head(STREAM) == (0, "")

        assert [item.seq for item in one.commit(step(held, said()))] == [1]


def _damage(world: World, sql: str) -> SqlStore:
    store = world.open()
    store.commit(step(lease(store), *(said(str(n)) for n in range(5))))
    with store._database.write() as transaction:
        transaction._cursor.execute(sql)
    return store


@pytest.mark.parametrize(
    ("sql", "seq"),
    [
        ("UPDATE events SET data = replace(data, '\"typed\"', '\"button\"') WHERE seq = 3", 3),
        ("UPDATE events SET actor = 'person:8' WHERE seq = 2", 2),
        ("UPDATE events SET ts = '2027' WHERE seq = 5", 5),
        ("UPDATE events SET hash = 'x' WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 1", 1),
        ("DELETE FROM events WHERE seq = 3", 3),
        ("DELETE FROM events WHERE seq = 5", 5),
        ("DELETE FROM events", 1),
        ("UPDATE events SET seq = 6 WHERE seq = 5", 5),
    ],
)
def test_a_changed_journal_is_noticed(world: World, sql: str, seq: int) -> None:
    """An edit, a removal in the middle and a cut tail are all found, at the first record concerned."""
    found = chain_kit.verify_stream(_damage(world, sql), STREAM)

    assert isinstance(found, chain_kit.Damage)
    assert found.seq == seq
