"""kill -9 in the middle of a backup, a restore or a move: the source is as before, nobody starts on half a target, a second try does it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from forker import forked
from moving_kit import Home, Homes
from verify_kit import conversation

from state.moving.archive import BadBackup, opened
from state.moving.move import move
from state.sql import open_store
from state.sql.closed import ClosedDatabase

CHILD = Path(__file__).with_name("moving_child.py")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("once")
    conversation(folder / "state" / "sdelka.db")
    shutil.move(folder / "state" / "logs", folder / "logs")
    return folder


@pytest.fixture
def old(homes: Homes, once: Path) -> Home:
    home = homes.home("old")
    shutil.copytree(once, home.folder)
    return home


def killed(what: str, where: str, *places: object) -> bool:
    """Whether it came so far."""
    done = subprocess.run(forked(CHILD, what, where, *map(str, places)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in {0, -9}, done.stderr[-2000:]
    return done.returncode == -9


@pytest.mark.parametrize("where", ["events"])
def test_a_killed_backup_leaves_no_backup(old: Home, tmp_path: Path, where: str) -> None:
    path, before = tmp_path / "b" / "one.backup", old.rows()
    assert killed("backup", where, old.url, old.logs, path)
    assert not path.exists()
    [half] = path.parent.iterdir()
    with pytest.raises(BadBackup), opened(half):
        pass
    old.back_up(path)
    assert [one.name for one in path.parent.iterdir()] == ["one.backup"]
    assert old.rows() == before
    assert old.findings() == []


@pytest.mark.parametrize(("kind", "where"), [("postgresql", "reading outbox"), ("file", "audit log"), ("file", "settled")])
def test_a_killed_restore_is_refused_and_done_again(homes: Homes, old: Home, tmp_path: Path, kind: str, where: str) -> None:
    """While rows are read back, logs put, inputs settled."""
    place, file = homes.home("new", kind), old.back_up(tmp_path / "one.backup").path
    assert killed("restore", where, place.url, place.logs, file)
    with pytest.raises(ClosedDatabase, match=r"restore .*did not come to its end: run it again"):
        open_store(place.url)
    place.restore(file)
    assert place.findings() == []
    assert [row for row in place.rows()["events"] if row[0] != "session:ops"] == old.rows()["events"]


@pytest.mark.parametrize(("kind", "where"), [("postgresql", "comparing inbox")])
def test_a_killed_move_leaves_the_source_open(homes: Homes, old: Home, kind: str, where: str) -> None:
    """While rows are copied, while they are compared."""
    place, before = homes.home("new", kind), old.rows()
    assert killed("move", where, old.url, place.url)
    open_store(old.url).close()
    assert old.rows() == before
    with pytest.raises(ClosedDatabase, match=r"move .*did not come to its end"):
        open_store(place.url)
    move(old.url, place.url)
    assert place.rows() == before
    assert place.findings() == []
