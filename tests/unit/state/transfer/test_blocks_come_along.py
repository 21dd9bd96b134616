"""The blocks of records come along in a backup and in a move between databases."""

from datetime import UTC, datetime
from itertools import permutations
from pathlib import Path

import pytest

from engines.workflows.core.blocks import manager
from engines.workflows.core.blocks.manager import Finish, Opening
from state.journal import record_blocks
from state.journal.record_blocks import RecordPlace
from state.transfer.move import move_database
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
DEAL = RecordPlace("deal", 481)


def leave(home: Home, run: str, text: str) -> None:
    """A run opens a block and leaves its text there."""
    block = f"deal:481:{run}"
    given = Opening(block=block, run=run, definition="dossier", version=1, by="tg:1007", title="Ромашка", input={"TITLE": "Ромашка"})
    end = Finish(raw_text=text, origins=("model", "prose"), operations=(), post_ai={}, post_user={})
    with home.store() as store:
        opened = record_blocks.change_blocks(store, DEAL, lambda known: manager.open_block(known, given, frozenset(), 1), "tg:1007", NOW)
        assert opened.refusal == ""
        assert record_blocks.change_blocks(store, DEAL, lambda known: manager.finish_block(known, block, end), "tg:1007", NOW)


def goes_on(home: Home) -> None:
    """The chain is whole, its texts are read with their origins, and one more block follows."""
    assert home.findings() == []
    leave(home, "2", "второе")
    with home.store() as store:
        found = record_blocks.read_blocks(store, DEAL)
    assert [(one.raw_text, one.origins, one.parent) for one in found] == [
        ("первое", ("model", "prose"), ""),
        ("второе", ("model", "prose"), "deal:481:1"),
    ]


@pytest.mark.req("S003-54")
@pytest.mark.parametrize(("source", "target"), list(permutations(KINDS)))
def test_a_backup_and_a_move_carry_them(homes: Homes, source: str, target: str, tmp_path: Path) -> None:
    """From each kind of database to the other."""
    old, restored, moved = homes.home("old", source), homes.home("restored", target), homes.home("moved", target)
    leave(old, "1", "первое")
    restored.restore(old.back_up(tmp_path / "one.backup").path)
    goes_on(restored)
    move_database(old.url, moved.url)
    goes_on(moved)
