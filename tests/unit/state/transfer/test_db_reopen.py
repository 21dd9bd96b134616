"""`sdelka db reopen` asks only where an answer can lead somewhere."""

from pathlib import Path

import pytest
from filelock import FileLock

from bot.cli import db as db_command
from state.sql import open_store
from state.transfer.move import move_database
from tests.unit.state.transfer.moving_kit import Homes, called

ASKED = "Open SQLite"


def test_the_question_comes_after_the_look_whether_it_may_run(homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a database that was never moved, nor while a bot works with it; an answer of no changes nothing."""
    old, new = homes.home("old"), homes.home("new")
    (old.folder / "state").mkdir(parents=True)
    (new.folder / "state").mkdir(parents=True)
    open_store(old.url).close()
    monkeypatch.setenv("STATE_DIR", str(old.folder / "state"))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    code, said = called(db_command.app, "reopen")
    assert (code, "was not marked as moved" in said, ASKED in said) == (0, True, False), said
    move_database(old.url, new.url)
    with FileLock(old.folder / "state" / "sdelka.lock", timeout=0):
        code, said = called(db_command.app, "reopen")
        assert (code, "stop the bot first" in said, ASKED in said, "a second time" in said) == (2, True, False, False), said
    code, said = called(db_command.app, "reopen")
    assert (code, ASKED in said, "a second time" in said) == (1, True, True), said
    code, said = called(db_command.app, "reopen", "--yes")
    assert (code, "is open again" in said) == (0, True), said
