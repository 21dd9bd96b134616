"""kill -9 in the middle of a backup, a restore or a move: the source is as before, nobody starts on half a target, a second try does it."""

import subprocess
from pathlib import Path

import pytest

from state.sql import open_store
from state.sql.closed_mark import ClosedDatabase
from state.transfer.archive import BadBackup, open_archive
from state.transfer.move import move_database
from tests.forker import forked
from tests.unit.state.transfer.moving_kit import Home, Homes

CHILD = Path(__file__).with_name("moving_child.py")


def killed(what: str, where: str, *places: object) -> bool:
    """Whether it came so far."""
    done = subprocess.run(forked(CHILD, what, where, *map(str, places)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in {0, -9}, done.stderr[-2000:]
    return done.returncode == -9


@pytest.mark.parametrize("where", ["events"])
def test_a_killed_backup_leaves_no_backup(talked: Home, tmp_path: Path, where: str) -> None:
    path, before = tmp_path / "b" / "one.backup", talked.rows()
    assert killed("backup", where, talked.url, talked.logs, path)
    assert not path.exists()
    [half] = path.parent.iterdir()
    with pytest.raises(BadBackup), open_archive(half):
        pass
    talked.back_up(path)
    assert [one.name for one in path.parent.iterdir()] == ["one.backup"]
    assert talked.rows() == before
    assert talked.findings() == []


@pytest.mark.parametrize(("kind", "where"), [("postgresql", "reading outbox"), ("file", "audit log"), ("file", "settled")])
def test_a_killed_restore_is_refused_and_done_again(homes: Homes, talked: Home, tmp_path: Path, kind: str, where: str) -> None:
    """While rows are read back, logs put, inputs settled."""
    place, file = homes.home("new", kind), talked.back_up(tmp_path / "one.backup").path
    assert killed("restore", where, place.url, place.logs, file)
    with pytest.raises(ClosedDatabase, match=r"restore .*did not come to its end: run it again"):
        open_store(place.url)
    place.restore(file)
    assert place.findings() == []
    assert [row for row in place.rows()["events"] if row[0] != "session:ops"] == talked.rows()["events"]


@pytest.mark.parametrize(("kind", "where"), [("postgresql", "comparing inbox")])
def test_a_killed_move_leaves_the_source_open(homes: Homes, talked: Home, kind: str, where: str) -> None:
    """While rows are copied, while they are compared."""
    place, before = homes.home("new", kind), talked.rows()
    assert killed("move", where, talked.url, place.url)
    open_store(talked.url).close()
    assert talked.rows() == before
    with pytest.raises(ClosedDatabase, match=r"move .*did not come to its end"):
        open_store(place.url)
    move_database(talked.url, place.url)
    assert place.rows() == before
    assert place.findings() == []
