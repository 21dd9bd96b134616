"""`sdelka logs …` as ops use it: tables and lines, exit codes, and a rebuilding that touches nothing unasked."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from filelock import FileLock
from typer.testing import CliRunner

from bot.cli.logs import app
from orchestrator.domain.errors import SettingsError
from state.audit_log.interaction_log import InteractionLogger, read_records
from state.clock import SystemClock
from state.sql.dialect import build_sqlite_url
from state.sql.store import open_store
from tests.unit.spine_kit import VERA, a_world, message, press, raise_sum, reply, step


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The environment of an installation with the embedded database."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setenv("COLUMNS", "240")
    (tmp_path / "state").mkdir()
    return tmp_path


def sdelka(*words: str) -> tuple[int, str]:
    root = typer.Typer()
    root.add_typer(app, name="logs")
    made = CliRunner().invoke(root, ["logs", *words])
    if isinstance(made.exception, SettingsError):
        return 2, made.exception.reason  # as bot.cli.app.main does
    return made.exit_code, made.output


async def recorded(home: Path) -> None:
    """Two people; a card, its approval, a refusal, and text that a terminal would obey."""
    async with a_world(home, store=open_store(build_sqlite_url(home / "state" / "sdelka.db"))) as world:
        world.model.will(reply(raise_sum()))
        await world.work(message("подними сумму сделки 481 до 1 200 000\x1b[2J"))
        await world.work(press([row.body for row in world.outbox() if row.kind == "card"][-1]))
        world.model.will(reply(step("crm.deal.nosuch")), reply(text="Не вышло."))
        await world.work(message("удали всё", actor=VERA))


async def test_show_tail_and_verify(home: Path) -> None:
    """What was asked and what became of it; a key or a file's name; lines for machines; escapes made visible."""
    assert sdelka("verify")[0] == 2  # nothing logged yet
    await recorded(home)
    code, shown = sdelka("show", "tg:1007")
    assert code == 0
    for part in (
        "подними сумму сделки 481 до 1 200 000\\x1b[2J",
        "crm.deal.update → waiting",
        "crm.deal.update → succeeded",
        "decision",
        "2026-11-21T12:00:00Z",
    ):
        assert part in shown
    assert [json.loads(line)["type"] for line in sdelka("show", "tg%3a1007", "--last", "1", "--json")[1].splitlines()] == ["iteration"]
    code, shown = sdelka("show", "tg:9")
    assert (code, "tg:1006, tg:1007" in shown) == (2, True)
    code, shown = sdelka("tail")
    assert (code, len(shown.splitlines()), "\x1b" in shown) == (0, 5, False)
    assert len(sdelka("tail", "tg:1006", "--json", "--last", "1")[1].splitlines()) == 1
    assert sdelka("verify") == (0, f"The audit logs in {home / 'logs'} are whole.\n")


async def test_verify_names_file_and_line(home: Path) -> None:
    """Exit code 1, as a table and as lines; other logs are not looked at when one is asked for."""
    await recorded(home)
    path = home / "logs" / "tg%3a1007.jsonl"
    path.write_bytes(path.read_bytes().replace("сделки 481".encode(), "сделки 482".encode(), 1))
    code, shown = sdelka("verify")
    assert (code, "user_message is not what the journal tells" in shown) == (1, True)
    code, shown = sdelka("verify", "--json", "--user", "tg:1007")
    row = json.loads(shown)
    assert (code, row["kind"], row["file"], row["seq"]) == (1, "inconsistent", str(path), 1)
    assert sdelka("verify", "--user", "tg:1006")[0] == 0


async def test_rebuild_into_a_new_folder_and_in_place(home: Path) -> None:
    """Never over existing logs unless asked; refused while the bot runs, with a shared database, and into a folder with something in it."""
    await recorded(home)
    logs = home / "logs"
    before = {path.name: path.read_bytes() for path in logs.iterdir()}
    code, shown = sdelka("rebuild", "--to", str(home / "new"))
    assert code == 0
    assert "tg:1007" in shown
    assert [record["type"] for record in read_records(home / "new", "tg:1007")] == ["iteration", "decision", "iteration"]
    assert sdelka("rebuild", "tg:9")[0] == 1
    assert "empty folder" in sdelka("rebuild", "--to", str(home / "new"))[1]
    assert sdelka("rebuild", "--to", str(home / "x"), "--replace")[0] == 2
    with FileLock(home / "state" / "sdelka.lock"):
        code, shown = sdelka("rebuild", "--replace")
    assert (code, "while the bot runs" in shown) == (2, True)
    assert {path.name: path.read_bytes() for path in logs.iterdir()} == before

    (logs / "tg%3a1007.jsonl").unlink()
    assert sdelka("verify")[0] == 1
    code, shown = sdelka("rebuild", "tg:1007", "--replace", "--json")
    assert (code, json.loads(shown)["records"]) == (0, 3)
    assert sdelka("verify")[0] == 0
    assert [record.get("rebuilt") for user in ("tg:1007", "tg:1006") for record in read_records(logs, user)] == [
        True,
        True,
        True,
        None,
        None,
    ]
    assert [path.name for path in _found(home, "logs-replaced-*/.*")] == [".tg%3a1007.jsonl.lock"]


def _found(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


@pytest.mark.slow
async def test_tail_f_shows_what_comes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New records of known and of new people, once each, until the keyboard stops it."""
    await recorded(home)
    log, naps = InteractionLogger(home / "logs", clock=SystemClock(), limit=10), iter([1, 2, 3])

    def nap(seconds: float) -> None:
        number = next(naps, None)
        if number is None:
            raise KeyboardInterrupt
        log.record("tg:1007", {"type": "trouble", "errors": [f"trouble {number}"]})
        log.record("tg:new", {"type": "trouble", "errors": [f"new {number}"]})

    monkeypatch.setattr("bot.cli.work.logs.time.sleep", nap)
    code, shown = sdelka("tail", "-f", "--last", "0")
    assert code == 0
    assert [line.split("  ", 3)[3] for line in shown.splitlines()] == ["trouble 1", "new 1", "trouble 2", "new 2", "trouble 3", "new 3"]


def test_replacing_is_refused_with_a_shared_database(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell whether a bot runs on it."""
    open_store(build_sqlite_url(home / "other.db")).close()
    monkeypatch.setenv("DATABASE_URL", build_sqlite_url(home / "other.db"))
    code, shown = sdelka("rebuild", "--replace")
    assert (code, "DATABASE_URL" in shown) == (2, True)


def inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


async def test_a_person_is_found_by_number_and_by_name(home: Path) -> None:
    """As the journal's commands do; whom nobody knows is a sentence; names of several are told."""
    await recorded(home)
    for who in ("1007", "tg:1007", "анна", "Анн"):
        assert sdelka("show", who)[0] == 0, who
    code, said = sdelka("rebuild", "nobody")
    assert (code, "tells of no turn and no decision of nobody" in said) == (1, True)
    before = inside(home)
    for words in (("--to", str(home / "none" / "deep")), ("--replace",), ()):
        assert sdelka("rebuild", "nobody", *words)[0] == 1
        assert inside(home) == before, words
    code, said = sdelka("rebuild", "1007", "--json", "--to", str(home / "new"))
    assert (code, json.loads(said)["user"]) == (0, "tg:1007")


def test_foreign_signs_in_a_name_are_drawn(home: Path) -> None:
    """Also above the table, where the person's key stands."""
    InteractionLogger(home / "logs", clock=SystemClock()).record("tg:1\x1b[2J", {"type": "iteration", "user_message": "a\u202eb\nc"})
    code, said = sdelka("show", "tg%3a1%1b%5b2%4a")

    assert (code, "\x1b" in said, "\u202e" in said, "\\x202e" in said) == (0, False, False, True)
