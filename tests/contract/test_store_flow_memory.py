"""What flows remember of people, on every kind of database: written once, kept as long as said, nothing lost, gone with the person."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from state.journal import flow_memory
from state.journal.flow_memory import MemoryBusy, MemoryEntry, MemoryPlace, MemoryWrite, Retention
from state.sql import SqlStore
from tests.contract.store_kit import NOW, World, every_store, lasting_store, lease

PLACE = MemoryPlace("offer", "employee:7")
KEPT = {"log": Retention(3, 30), "notes": Retention(100, 30)}
ANNA = "tg:1007"


def write(store: SqlStore, node: str, *texts: Any, channel: str = "log", owner: str = ANNA, days: float = 0, run: str = "r1") -> bool:
    """What a node of a run leaves after so many days."""
    entries = [MemoryEntry(channel, text, ["model"]) for text in texts]
    return flow_memory.add_entries(store, PLACE, MemoryWrite(owner, run, node, entries), KEPT, NOW + timedelta(days=days))


def read(store: SqlStore, days: float = 0, end: int | None = None, place: MemoryPlace = PLACE) -> list[Any]:
    """What a run would read after so many days."""
    end = flow_memory.find_end(store, place) if end is None else end
    return [one.data for one in flow_memory.read_entries(store, place, KEPT, NOW + timedelta(days=days), end)]


@pytest.mark.req("S002-16", "S002-A8")
@every_store
class TestMemory:
    """On each kind of database."""

    def test_a_node_writes_once_and_its_entries_are_read_in_order(self, store: SqlStore) -> None:
        assert write(store, "a/1/memory", {"content": "Ромашка"}, 2)
        assert not write(store, "a/1/memory", "again")
        assert write(store, "a/1/memory", "another run", run="r2")
        assert read(store) == [{"content": "Ромашка"}, 2, "another run"]
        assert read(store, place=MemoryPlace("offer", "employee:8")) == read(store, place=MemoryPlace("other", "employee:7")) == []

    def test_channels_keep_as_many_entries_for_as_many_days_as_said(self, store: SqlStore) -> None:
        """Both count when it is written and when it is read, and one channel does not shorten another."""
        write(store, "n", "заметка", channel="notes")
        for day in range(5):
            write(store, f"{day}", day, days=day)
        assert read(store, 5) == ["заметка", 2, 3, 4]
        assert read(store, 30.5) == [2, 3, 4]
        assert read(store, 33) == [3, 4]
        assert read(store, 60) == []
        write(store, "late", "late", days=60)
        assert read(store, 0) == ["late"], "what was too old when something was written is not read any more"

    def test_what_was_read_up_to_a_mark_is_read_again(self, store: SqlStore) -> None:
        """Later entries change nothing for a run that has looked."""
        write(store, "1", 1)
        mark = flow_memory.find_end(store, PLACE)
        write(store, "2", 2)
        assert (read(store, end=mark), read(store), read(store, end=0)) == ([1], [1, 2], [])

    def test_a_long_memory_is_not_read_from_its_beginning(self, store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
        """How much is read follows from what is kept, not from how much was ever written."""
        for number in range(40):
            write(store, str(number), number, days=2 * number)
        seen: list[int] = []
        real = store.read_events

        def count(stream: str, after: int = 0, limit: int = 1000) -> Any:
            found = real(stream, after, limit)
            seen.extend(one.seq for one in found)
            return found

        monkeypatch.setattr(store, "read_events", count)
        assert read(store, 80) == [37, 38, 39]
        assert len(seen) < 8

    def test_cleared_is_forgotten_and_what_follows_is_kept(self, store: SqlStore) -> None:
        write(store, "1", 1)
        assert flow_memory.clear_entries(store, PLACE, "cli:root", NOW)
        assert read(store) == []
        assert not flow_memory.clear_entries(store, PLACE, "cli:root", NOW)
        write(store, "2", 2)
        assert (read(store), flow_memory.list_places(store)) == ([2], [PLACE])

    def test_nobody_writes_beside_another(self, store: SqlStore) -> None:
        lease(store, PLACE.session, "other")
        with pytest.raises(MemoryBusy):
            write(store, "1", 1)
        assert read(store) == []

    def test_an_erased_account_takes_its_entries_along(self, store: SqlStore) -> None:
        """Those of another account of the employee stay; the memory works on."""
        write(store, "1", "секрет Анны")
        write(store, "2", "другой", owner="tg:2007")
        raw = store.read_encrypted(PLACE.stream)
        assert "секрет" not in repr(raw)
        store.open_erasure().erase(ANNA, NOW, digests=[], change=lambda body: body)
        assert read(store) == ["другой"]
        write(store, "3", 3)
        assert read(store) == ["другой", 3]


@pytest.mark.req("S002-A8")
@lasting_store
def test_two_processes_that_write_at_once_lose_nothing(world: World, tmp_path: Path) -> None:
    """Each takes its turn; every entry is there once."""
    del tmp_path
    stores = [world.open(), world.open()]

    def work(number: int) -> None:
        for index in range(10):
            while True:
                try:
                    write(stores[number], str(index), f"{number}/{index}", channel="notes", run=f"r{number}")
                except MemoryBusy:
                    continue
                break

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert sorted(read(stores[0])) == sorted(f"{number}/{index}" for number in range(2) for index in range(10))
