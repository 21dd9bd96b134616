"""The value that freezes writes is compared with what its stream tells: whoever changes the one without the other is found out."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.journal import freeze_switch
from state.journal.freeze_switch import STREAM, SwitchOperator
from state.sql import build_sqlite_url, open_store
from tests.unit.verify_kit import told, verified, written

EMPTY = "UPDATE \"values\" SET value = '' WHERE key = 'freeze'"
GONE = "DELETE FROM \"values\" WHERE key = 'freeze'"
JUNK = "UPDATE \"values\" SET value = 'on' WHERE key = 'freeze'"


def put(value: dict[str, object]) -> str:
    """The statement that sets the switch behind everybody's back."""
    text = json.dumps(value, separators=(",", ":"))
    return f"INSERT OR REPLACE INTO \"values\" (key, value) VALUES ('freeze', '{text}')"  # noqa: S608 - values of this file


def turned(path: Path, *turns: str) -> dict[str, object]:
    """A database in which the switch was worked so; what it holds."""
    store = open_store(build_sqlite_url(path))
    for turn in turns:
        hand = SwitchOperator(key="tg:1001", name="Ольга", via="cli", at=SystemClock().now())
        made = freeze_switch.freeze_writes(store, hand, "проверка") if turn == "freeze" else freeze_switch.release_writes(store, hand)
        assert made.changed
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        row = connection.execute("SELECT value FROM \"values\" WHERE key = 'freeze'").fetchone()
    return dict(json.loads(row[0])) if row and row[0] else {}


@pytest.mark.parametrize("turns", [(), ("freeze",), ("freeze", "release"), ("freeze", "release", "freeze")], ids=len)
def test_a_switch_that_was_worked_as_it_should_be_is_whole(tmp_path: Path, turns: Sequence[str]) -> None:
    turned(tmp_path / "sdelka.db", *turns)
    assert told(verified(tmp_path / "sdelka.db").findings) == []


@pytest.mark.parametrize(
    ("turns", "change", "why"),
    [
        (("freeze",), EMPTY, "writes may start, although event 1 froze them and none has released them"),
        (("freeze",), GONE, "writes may start, although event 1 froze them and none has released them"),
        (("freeze",), JUNK, "it holds what nobody has written, and freezes writes"),
        (("freeze", "release"), {"seq": 1}, "writes are frozen, although event 2 released them"),
        ((), {"seq": 7}, "writes are frozen, although no event tells of it"),
        (("freeze", "release", "freeze"), {"seq": 1}, "writes are frozen, and it names another freeze than event 3: seq"),
        (
            ("freeze",),
            {"by": "tg:666", "at": "2026-01-01T00:00:00Z"},
            "writes are frozen, and it names another freeze than event 1: at, by",
        ),
    ],
)
def test_a_switch_that_was_changed_behind_the_journal_is_named(
    tmp_path: Path, turns: Sequence[str], change: str | dict[str, object], why: str
) -> None:
    """With its place in the file, and nothing else is accused."""
    path = tmp_path / "sdelka.db"
    held = {"at": "2026-11-22T12:00:00.000Z", "by": "tg:1001", "seq": 1} | turned(path, *turns)
    written(path, change if isinstance(change, str) else put(held | change))
    found = verified(path).findings
    assert told(found) == [f"inconsistent: switch freeze: {why}"]
    assert found[0].file
    assert found[0].file.endswith("sdelka.db")


def test_of_a_damaged_stream_the_switch_is_not_judged(tmp_path: Path) -> None:
    """What cannot be read says nothing of it."""
    path = tmp_path / "sdelka.db"
    turned(path, "freeze")
    written(path, "UPDATE events SET actor = 'tg:7' WHERE stream = 'session:freeze'", EMPTY)
    assert {finding.place for finding in verified(path).findings} == {STREAM}


@pytest.mark.parametrize(
    ("turns", "change", "mend"), [(("freeze",), EMPTY, "freeze"), ((), {"seq": 7}, "release"), (("freeze",), JUNK, "release")]
)
def test_working_the_switch_sets_it_right(tmp_path: Path, turns: Sequence[str], change: str | dict[str, object], mend: str) -> None:
    """As docs/verify.md tells ops: value and event are written anew, together."""
    path = tmp_path / "sdelka.db"
    turned(path, *turns)
    written(path, change if isinstance(change, str) else put({"at": "2026-11-22T12:00:00.000Z", "by": "tg:1001", **change}))
    assert told(verified(path).findings)
    turned(path, mend)
    assert told(verified(path).findings) == []
