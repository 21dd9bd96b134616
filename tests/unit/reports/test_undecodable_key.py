"""A key that a flipped bit has made undecodable: SQLite's driver quotes the text it cannot decode, and nobody may read the key there."""

import shutil
import sqlite3
import traceback
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.logs import app as logs
from bot.cli.policy import app as policy
from orchestrator.domain.errors import SettingsError
from state.events.conversation import MessageReceived
from state.journal.store import Commit, StoreError
from state.sql import build_sqlite_url, open_store
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, Told

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)

READING = (
    ("show",),
    ("show", CHAT),
    ("why", "deal", "481"),
    ("replay", CHAT, "--until", "3"),
    ("diff", CHAT, "1", "3"),
    ("tail",),
    ("stats",),
    ("export",),
    ("export", "--format", "cef"),
    ("verify",),
)


@pytest.fixture
def secret(told: Told, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is left of Anna's key in a copy of the story, which the commands read from now on."""
    del run
    folder = tmp_path / "copy"
    shutil.copytree(told.folder, folder)
    monkeypatch.setenv("STATE_DIR", str(folder))
    with closing(sqlite3.connect(folder / "sdelka.db")) as connection, connection:
        [whole] = connection.execute("SELECT secret FROM person_keys WHERE person=?", (CHAT,)).fetchone()
        broken = whole[:4].encode() + b"\xff" + whole[5:].encode()
        connection.execute("UPDATE person_keys SET secret=CAST(? AS TEXT) WHERE person=?", (broken, CHAT))
    return str(whole[5:25])


@pytest.mark.long
@pytest.mark.parametrize("words", READING, ids="_".join)
def test_no_command_shows_it_and_all_others_are_read(run: Run, secret: str, words: tuple[str, ...]) -> None:
    """The records that it opens cannot be read, exit code 1; nothing of the key is shown, in no traceback either."""
    done = run(*words)

    assert done.exit_code == 1, done.output
    assert secret not in done.output
    assert done.exc_info is None or secret not in "".join(traceback.format_exception(*done.exc_info))
    assert "verify" in done.output or words == ("verify",)


def test_nor_does_a_rehearsal_or_a_rebuilt_log(secret: str, tmp_path: Path) -> None:
    """`policy replay` leaves out what it cannot read; `logs rebuild` says in one sentence why it cannot go on."""
    for app, words, stopped in ((policy, ["replay"], False), (logs, ["rebuild", "--to", str(tmp_path / "new")], True)):
        root = typer.Typer()
        root.add_typer(app, name="it")
        done = CliRunner().invoke(root, ["it", *words])
        told = f"{done.output}{done.exception}"

        assert isinstance(done.exception, SettingsError) is stopped
        assert "run `sdelka journal verify`" in told
        assert secret not in told


def test_the_bot_stands_still_without_telling_it(secret: str, tmp_path: Path) -> None:
    """Nothing can be sealed under it: the error says that it cannot be decoded, and neither it nor its cause says what it was."""
    store = open_store(build_sqlite_url(tmp_path / "copy" / "sdelka.db"))
    lease = store.acquire(CHAT, "bot", NOW, NOW + timedelta(hours=1))
    assert lease is not None
    with pytest.raises(StoreError, match="decode") as told:
        store.commit(
            Commit(stream=f"session:{CHAT}", epoch=lease.epoch, actor=CHAT, now=NOW, events=[MessageReceived(turn_id="t", text="слова")])
        )
    store.close()

    assert secret not in "".join(traceback.format_exception(told.value))
