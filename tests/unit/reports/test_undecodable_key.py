"""Reports where something cannot be read: erased people are told as erased, damage where it is, and no damaged key is shown."""

import json
import shutil
import sqlite3
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from bot.cli.logs import app as logs
from bot.cli.policy import app as policy
from orchestrator.domain.errors import SettingsError
from orchestrator.reports.erasure import erase
from orchestrator.reports.erasure.erase import ErasureFiles
from state.events.conversation import MessageReceived
from state.journal.store import Commit, StoreError
from state.sql import build_sqlite_url, open_store
from tests.unit.reports.conftest import Run
from tests.unit.reports.story_kit import CHAT, PORTAL, Told, rows_of

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


Replay = Callable[..., Result]
LATER = datetime(2026, 11, 23, 9, 0, tzinfo=UTC)
CANNOT = "(cannot be read: run `sdelka journal verify`)"


@pytest.fixture
def erased(copy: Path) -> Path:
    """Anna, who asked for nearly all, is erased."""
    store = open_store(build_sqlite_url(copy / "sdelka.db"))
    place = ErasureFiles(logs=copy / "logs", files=())
    erase.erase_person(store, erase.inspect_person(store, CHAT, place), place, now=LATER, by="cli:ops")
    store.close()
    return copy


@pytest.fixture
def damaged(copy: Path) -> Path:
    """One letter of the keys of Boris, who talks elsewhere, and of Vera, who approved for Anna, is another."""
    spoil(copy, "tg:1006", "tg:1008")
    return copy


def spoil(copy: Path, *people: str) -> None:
    """Change one letter of their keys."""
    with sqlite3.connect(copy / "sdelka.db") as database:
        for person in people:
            [(secret,)] = database.execute("SELECT secret FROM person_keys WHERE person = ?", (person,)).fetchall()
            changed = ("B" if secret[5] != "B" else "C").join((secret[:5], secret[6:]))
            database.execute("UPDATE person_keys SET secret = ? WHERE person = ?", (changed, person))
    database.close()


@pytest.fixture
def replayed() -> Replay:
    """`sdelka policy replay`."""

    def running(*words: str) -> Result:
        root = typer.Typer()
        root.add_typer(policy, name="policy")
        return CliRunner().invoke(root, ["policy", "replay", *words])

    return running


@pytest.mark.usefixtures("erased")
def test_nobody_is_cleared_of_a_change_by_an_erased_person(run: Run) -> None:
    """The bot changed the sum for Anna; with her erased it may not say that nobody did it through the bot."""
    text = run("why", "deal", 481).output
    assert "5 calls of erased people cannot be assigned to a record" in text
    sums = [part for part in text.split("\n\n") if "(OPPORTUNITY): " in part and "→" in part]
    assert sums
    assert all("perhaps by a call of an erased person: the bot cannot tell" in part for part in sums)
    assert "no call of the bot wrote this" not in "".join(sums)
    looks = [json.loads(line) for line in rows_of(run("why", "deal", 481, "--json").output)]
    assert any(change.get("perhaps_erased") for look in looks for change in look.get("changes", ()))


@pytest.mark.usefixtures("erased")
def test_a_record_without_a_trace_is_not_denied(run: Run) -> None:
    """Nothing is found of the task that Anna had made: the answer says what cannot be known."""
    result = run("why", "task", 9001)
    assert result.exit_code == 1
    assert "5 calls of erased people cannot be assigned to a record" in result.stderr


@pytest.mark.usefixtures("erased")
def test_what_is_erased_is_not_shown_as_empty(run: Run, told: Told) -> None:
    """Plans, cards and calls of an erased person say so."""
    text = run("show", CHAT, "--last", 0).output
    assert "the model proposed (erased) (mode full)" in text
    assert "proposed 0 steps" not in text
    assert "the rules say so" not in text
    assert "asked because: (erased)" in text
    page = run("why", told.cards["approved"]["effect_id"]).output
    assert "its words are erased" in page
    assert "│" not in page


@pytest.mark.usefixtures("erased")
def test_a_rehearsal_leaves_erased_plans_out(replayed: Replay) -> None:
    """They are counted and named, not taken for plans without steps."""
    summary = json.loads(replayed("--json").output.splitlines()[-1])
    text = replayed().output
    assert summary["left_out"]["erased"] > 5
    assert f"{summary['left_out']['erased']} plans of erased people are left out." in text
    assert (summary["plans"], summary["steps"]) == (0, 0)
    assert "No plan that can be rehearsed was recorded in that time." in text


@pytest.mark.usefixtures("damaged")
@pytest.mark.parametrize("arguments", [("show",), ("stats",), ("tail", "-n", "200"), ("why", "deal", "481")])
def test_damage_of_one_hides_nothing_of_others(run: Run, arguments: tuple[str, ...]) -> None:
    """The report is given, the damage is named, and the exit code is 1."""
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert "Анна (tg:1007)" in result.stdout
    assert "cannot be read: run `sdelka journal verify`" in result.stderr


@pytest.mark.usefixtures("damaged")
def test_a_damaged_record_stands_in_its_place(run: Run) -> None:
    """Its line says that it cannot be read; those of others in the same tail are as ever."""
    own = rows_of(run("show", "tg:1008").stdout)
    assert any(CANNOT in line for line in own)
    assert any(PORTAL in line for line in rows_of(run("tail", "-n", 200).stdout))
    lines = [json.loads(line) for line in rows_of(run("export").stdout)]
    assert {line["stream"] for line in lines if line.get("unreadable")} == {"session:tg:1008", f"session:{CHAT}"}
    assert not any(line.get("erased") for line in lines)


@pytest.mark.usefixtures("copy")
def test_damage_is_not_called_erasure(run: Run, copy: Path) -> None:
    """With Anna's key damaged her calls cannot be assigned either, and the page says why."""
    spoil(copy, CHAT)
    text = run("why", "deal", 481).stdout
    assert f"5 calls {CANNOT} cannot be assigned to a record" in text
    assert "perhaps by a call that cannot be read: run `sdelka journal verify`: the bot cannot tell" in text
    assert "erased" not in text


@pytest.mark.usefixtures("damaged")
def test_a_rehearsal_goes_on_behind_damage(replayed: Replay) -> None:
    """No traceback: the plans that can be read are rehearsed."""
    result = replayed()
    assert result.exit_code == 1
    assert "crm.deal.update" in result.stdout
    assert "cannot be read: run `sdelka journal verify`" in result.stderr
