"""What flows remember of people comes along in a backup and in a move between databases."""

from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest

from state.journal import flow_memory
from state.journal.flow_memory import MemoryEntry, MemoryPlace, MemoryWrite, Retention
from state.transfer.move import move_database
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
PLACE = MemoryPlace("offer", "employee:7")


def write(home: Home, node: str, text: str) -> None:
    """A run leaves an entry."""
    with home.store() as store:
        entry = MemoryEntry("log", {"content": text}, ["model", "prose"])
        assert flow_memory.add_entries(store, PLACE, MemoryWrite("tg:1007", "r1", node, [entry]), {"log": Retention(10, 30)}, NOW)


def goes_on(home: Home) -> None:
    """What was remembered is read with its origins, and more is added to it."""
    assert home.findings() == []
    write(home, "2", "второе")
    with home.store() as store:
        found = flow_memory.list_entries(store, PLACE, NOW)
    assert [(one.data["content"], one.origins) for one in found] == [("первое", ["model", "prose"]), ("второе", ["model", "prose"])]


@pytest.mark.req("S002-A8")
@pytest.mark.parametrize(("source", "target"), list(permutations(KINDS)))
def test_a_backup_and_a_move_carry_it(homes: Homes, source: str, target: str, tmp_path: Path) -> None:
    """From each kind of database to the other."""
    old, restored, moved = homes.home("old", source), homes.home("restored", target), homes.home("moved", target)
    write(old, "1", "первое")
    restored.restore(old.back_up(tmp_path / "one.backup").path)
    goes_on(restored)
    move_database(old.url, moved.url)
    goes_on(moved)
