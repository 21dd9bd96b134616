"""kill -9 in the middle of a backup, a restore or a move: the source is as before, the target empty, a second try does it."""

import signal
import subprocess
from pathlib import Path

import pytest

from state.sql import open_store
from state.sql.schema import ClosedDatabase
from state.transfer.move import move_database
from state.transfer.table_copy import NothingThere, list_tables, open_reading
from tests.forker import forked
from tests.unit.state.transfer.moving_kit import Home, Homes

CHILD = Path(__file__).with_name("moving_child.py")


def killed(what: str, where: str, *places: object) -> bool:
    """Whether it came so far."""
    done = subprocess.run(forked(CHILD, what, where, *map(str, places)), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in {0, -9}, done.stderr[-2000:]
    return done.returncode == -9


def is_empty(home: Home) -> bool:
    """Whether no table of ours is there."""
    try:
        with open_reading(home.url) as database:
            return not list_tables(database)
    except NothingThere:
        return True


@pytest.mark.parametrize("where", ["audit log", "events"])
def test_a_killed_backup_leaves_no_backup(talked: Home, tmp_path: Path, where: str) -> None:
    """What it leaves is hidden, is no file, and goes with the next backup."""
    path, before = tmp_path / "b" / "one.backup", talked.rows()
    assert killed("backup", where, talked.url, talked.logs, path)
    [half] = path.parent.iterdir()
    assert (half.name[0], half.is_dir()) == (".", True)
    talked.back_up(path)
    assert [one.name for one in path.parent.iterdir()] == ["one.backup"]
    assert talked.rows() == before
    assert talked.findings() == []


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("file", "unpacking"),
        ("postgresql", "prepared"),
        ("file", "events"),
        ("postgresql", "outbox"),
        ("file", "audit log"),
        ("postgresql", "audit log tg"),
    ],
)
def test_a_killed_restore_leaves_the_place_empty_and_is_done_again(
    homes: Homes, talked: Home, tmp_path: Path, kind: str, where: str
) -> None:
    """While it is unpacked, prepared, copied, while the logs are copied."""
    place, file = homes.home("new", kind), talked.back_up(tmp_path / "one.backup").path
    assert killed("restore", where, place.url, place.logs, file)
    assert is_empty(place)
    place.restore(file)
    assert place.findings() == []
    assert [row for row in place.rows()["events"] if row[0] != "session:ops"] == talked.rows()["events"]
    assert [one.name for one in place.folder.rglob(".sdelka-*")] == []


@pytest.mark.parametrize(("kind", "where"), [("postgresql", "inbox"), ("file", "inbox")])
def test_a_killed_move_leaves_the_source_open(homes: Homes, talked: Home, kind: str, where: str) -> None:
    """While rows are copied: the source is as before, the target empty, and the second attempt does it."""
    place, before = homes.home("new", kind), talked.rows()
    assert killed("move", where, talked.url, place.url)
    open_store(talked.url).close()
    assert talked.rows() == before
    assert is_empty(place)
    move_database(talked.url, place.url)
    assert place.rows() == before
    assert place.findings() == []


def test_a_move_killed_between_both_ends_is_completed(homes: Homes, talked: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The source is closed first: at no moment both can be started on. The same move again completes it, another is refused."""
    place, before = homes.home("new"), talked.rows()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server of another test of this process may have left its own
    with monkeypatch.context() as patch:
        patch.setattr("state.transfer.table_copy.publish", lambda *_: signal.raise_signal(signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            move_database(talked.url, place.url)
    with pytest.raises(ClosedDatabase, match="was moved to SQLite"):
        open_store(talked.url)
    assert is_empty(place)
    with pytest.raises(ClosedDatabase):
        move_database(talked.url, homes.home("third").url)
    move_database(talked.url, place.url)
    assert place.rows() == before
