"""A backup from before an erasure brings the key back: restoring it erases that person again, if it can know of it."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from bot.cli.copies import restoring
from bot.cli.journal.app import app
from orchestrator.reports.erasure import erase as erasing
from orchestrator.reports.erasure.erase import ErasureFiles
from state.sql import open_store
from tests.unit.spine_kit import BORIS, CHAT, NOW, a_world, message, reply
from tests.unit.state.transfer.moving_kit import Home, Homes, called

WORDS = "переведи Ромашку в выигранные, Синицын согласен"
THEIRS = "что с Вектором"


async def talk(home: Home) -> None:
    async with a_world(home.folder, store=open_store(home.url)) as world:
        for text, actor, key in ((WORDS, None, CHAT), (THEIRS, BORIS, BORIS.key)):
            world.model.will(reply(text="Ладно."))
            await world.work(message(text, key=key) if actor is None else message(text, actor=actor, key=key))


def erase(home: Home) -> None:
    place = ErasureFiles(logs=home.logs, files=tuple((home.folder / "state").iterdir()))
    with home.store() as store:
        erasing.erase_person(store, erasing.inspect_person(store, CHAT, place), place, now=NOW, by="cli:ops")


def texts(home: Home) -> list[Any]:
    with home.store() as store:
        return [event.data["text"] for event in store.scan(["MessageReceived"])]


def restored(tmp_path: Path, name: str, *more: str) -> Home:
    home = Home(tmp_path / name, f"sqlite:///{tmp_path / name / 'state' / 'sdelka.db'}")
    where = ["--state-dir", str(home.folder / "state"), "--log-dir", str(home.logs)]
    code, said = called(restoring, "--from", str(tmp_path / "backups" / "1.backup"), *where, *more)
    assert code == 0, said
    return home


@pytest.fixture
async def old(homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.chdir(tmp_path)
    home = homes.home("old")
    await talk(home)
    home.back_up(tmp_path / "backups" / "1.backup")
    erase(home)
    return home


async def test_a_newer_backup_beside_it_tells_of_the_erasure(old: Home, tmp_path: Path) -> None:
    """Without it nobody can know; with it nothing of the person is left in database or logs."""
    assert WORDS in texts(restored(tmp_path, "unknowing"))
    newer = old.back_up(tmp_path / "backups" / "2.backup").manifest
    assert [one.person for one in newer.erased] == [CHAT]
    (tmp_path / "backups" / "2.backup").write_bytes(b"x" + (tmp_path / "backups" / "2.backup").read_bytes())
    _later(old, tmp_path / "backups" / "3.backup")
    home = restored(tmp_path, "knowing")

    assert texts(home) == ["", THEIRS]
    everything = b"".join(path.read_bytes() for path in home.folder.rglob("*") if path.is_file())
    assert "Синицын".encode() not in everything
    assert THEIRS in "".join(path.read_text(encoding="utf-8") for path in home.logs.glob("*.jsonl"))
    assert home.findings() == []


def _later(home: Home, path: Path) -> None:
    from datetime import timedelta  # noqa: PLC0415 - only here

    from state.transfer.backup import create_backup  # noqa: PLC0415 - only here
    from tests.unit.state.transfer.moving_kit import MADE_AT  # noqa: PLC0415 - only here

    create_backup(home.url, home.logs, path, now=lambda: MADE_AT + timedelta(days=1), program="test")


async def test_the_list_of_erased_people_does_the_same(old: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `erase --list --json` printed, kept beside the backups."""
    monkeypatch.setenv("STATE_DIR", str(old.folder / "state"))
    monkeypatch.setenv("LOG_DIR", str(old.logs))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    code, said = called(app, "erase", "--list", "--json")
    assert (code, orjson.loads(said)["person"]) == (0, CHAT)
    (tmp_path / "erased.jsonl").write_text(said, encoding="utf-8")
    assert texts(restored(tmp_path, "knowing", "--erased", str(tmp_path / "erased.jsonl"))) == ["", THEIRS]
    (tmp_path / "bad.jsonl").write_text('{"person": 1}', encoding="utf-8")
    code, said = called(restoring, "--from", str(tmp_path / "backups" / "1.backup"), "--drill", "--erased", str(tmp_path / "bad.jsonl"))
    assert (code, "no list of erased people" in said) == (2, True)
