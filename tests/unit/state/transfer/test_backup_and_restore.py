"""A backup of either database becomes the same conversation in the other one; nothing that may have been done since is done again."""

import asyncio
import json
import resource
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from bot.cli.copies import backups, restoring
from state.events.conversation import MessageReceived
from state.journal.store import Commit, StoreError
from state.sql import open_store
from state.sql.dialect import open_database
from state.sql.schema import CLOSED_KEY as KEY
from state.sql.schema import ClosedDatabase, set_mark
from state.sql.tables import values
from state.transfer.backup import NotWritten
from state.transfer.move import move_database
from state.transfer.staging import NotEmpty
from tests.unit.spine_kit import CHAT, NOW, a_world, message, press, raise_sum, reply, step
from tests.unit.state.transfer.moving_kit import KINDS, Home, Homes, called


async def talk(home: Home, *, portal: Any = None) -> Any:
    """One change approved, one denied, one that waits, and an add that waits; the portal as it then is."""
    async with a_world(home.folder, store=open_store(home.url), portal=portal) as world, world.working() as orchestrator:
        for number, approve in ((1_200_000, True), (1_300_000, False)):
            world.model.will(reply(raise_sum(number)))
            await orchestrator.receive([message(f"подними сумму сделки 481 до {number}")])
            await world.idle()
            await orchestrator.receive([press(world.events("ConfirmationRequested")[-1].data, approve=approve)])
            await world.idle()
        world.model.will(reply(raise_sum(1_400_000)))
        await orchestrator.receive([message("подними сумму сделки 481")])
        await world.idle()
        world.model.will(reply(step("crm.deal.add", {"fields": {"TITLE": "Осина", "OPPORTUNITY": 5000}})))
        await orchestrator.receive([message("заведи сделку Осина на 5000")])
        await world.idle()
        return world.portal


async def waiting(home: Home) -> dict[str, Any]:
    """The cards that wait, by method."""
    async with a_world(home.folder, store=open_store(home.url)) as world:
        session = await world.session()
        found = [item for item in session.state.agent.confirmations.values() if item.status == "requested"]
        await session.close()
        return {item.method: item for item in found}


@pytest.mark.parametrize(("source", "target"), list(permutations(KINDS)))
async def test_the_same_cards_wait_and_everything_is_whole(homes: Homes, source: str, target: str, tmp_path: Path) -> None:
    """Whichever kind it came from: same events, same open cards, chain and logs verify."""
    home, place = homes.home("old", source), homes.home("new", target)
    await talk(home)
    before, cards = home.rows(), await waiting(home)
    made = home.back_up(tmp_path / "one.backup")
    await asyncio.to_thread(place.restore, made.path)
    after = place.rows()

    assert sorted(cards) == ["crm.deal.add", "crm.deal.update"]
    assert await waiting(place) == cards
    assert [row for row in after["events"] if row[0] != "session:ops"] == before["events"]
    for table in ("blobs", "deliveries", "inbox", "outbox", "person_keys", "snapshots", "timers"):
        assert after[table] == before[table]
    assert place.findings() == []
    assert place.logs.exists()
    assert {path.name: path.read_bytes() for path in place.logs.iterdir() if path.suffix == ".jsonl"} == {
        path.name: path.read_bytes() for path in home.logs.iterdir() if path.suffix == ".jsonl"
    }


async def test_the_file_is_private_and_overwrites_nothing(homes: Homes, tmp_path: Path) -> None:
    """0600; a taken name is refused; nothing half is left; a restore goes into an empty place only."""
    home, place = homes.home("old"), homes.home("new")
    await talk(home)
    path = tmp_path / "backups" / "one.backup"
    home.back_up(path)
    whole = path.read_bytes()
    with pytest.raises(NotWritten, match="not overwritten"):
        home.back_up(path)
    place.restore(path)
    with pytest.raises(NotEmpty, match="only an empty place"):
        place.restore(path)
    with (home.logs / "tg%3a1007.jsonl").open("ab") as log:
        log.write(b"more")
    with pytest.raises(NotEmpty, match="audit logs already"):
        Home(home.folder, f"sqlite:///{tmp_path / 'other.db'}").restore(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["one.backup"]
    assert path.read_bytes() == whole
    assert b"bitrix_webhook" not in whole.lower()


@pytest.mark.parametrize("kind", KINDS)
async def test_beside_a_writing_bot_it_is_of_one_moment(homes: Homes, kind: str, tmp_path: Path) -> None:
    """A thread commits turns all the time; each backup verifies, and holds a whole number of them."""
    home = homes.home("old", kind)
    stop, written = threading.Event(), 0

    def write() -> None:
        nonlocal written
        with home.store() as store:
            held = store.acquire(CHAT, "writer", NOW, NOW + timedelta(days=1))
            assert held is not None
            while not stop.is_set():
                events = [MessageReceived(turn_id=f"t{written}", text=f"слово {number}") for number in range(3)]
                store.commit(Commit(stream=f"session:{CHAT}", epoch=held.epoch, actor=CHAT, now=NOW, events=events))
                written += 1

    home.store().__enter__().close()
    thread = threading.Thread(target=write)
    thread.start()
    try:
        seen = []
        for number in range(3):
            begun = written
            while written < begun + 5:
                stop.wait(0.01)
                assert thread.is_alive()
            path = tmp_path / f"{number}.backup"
            home.back_up(path)
            place = homes.home(f"new{number}")
            place.restore(path)
            assert place.findings() == []
            seen.append(len([row for row in place.rows()["events"] if row[0] == f"session:{CHAT}"]))
    finally:
        stop.set()
        thread.join()

    assert all(count % 3 == 0 and count for count in seen)
    assert seen == sorted(set(seen))


async def test_a_backup_that_nobody_could_use_is_not_made(homes: Homes, tmp_path: Path) -> None:
    """No database, an empty one, one that is not to be worked with: a sentence, and no file."""
    home = homes.home("old")
    with pytest.raises(StoreError, match="no database"):
        home.back_up(tmp_path / "b" / "one.backup")
    await talk(home)
    with open_database(home.url) as dialect, dialect.engine.begin() as connection:
        set_mark(connection, to="PostgreSQL db/sdelka")
    with pytest.raises(ClosedDatabase, match="moved to PostgreSQL db/sdelka"):
        home.back_up(tmp_path / "b" / "one.backup")
    with open_database(home.url) as dialect, dialect.engine.begin() as connection:
        connection.execute(values.update().where(values.c.key == KEY).values(value='{"why":"incomplete","by":"restore"}'))  # by version 0.1
    with pytest.raises(ClosedDatabase, match="did not come to its end"):
        home.store().__enter__()

    assert not (tmp_path / "b").exists()


@contextmanager
def full_disk(after: int) -> Iterator[None]:
    """No file can become longer than so many bytes: every write beyond fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (after, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("after", [40_000, 60_000])
def test_a_full_disk_leaves_both_places_as_they_were(homes: Homes, talked: Home, tmp_path: Path, after: int) -> None:
    """Whichever write of a backup, restore or move fails: a sentence, no half file, and the next attempt does it."""
    new, moved, folder = homes.home("new"), homes.home("moved"), tmp_path / "b"
    before = talked.rows()
    path = talked.back_up(tmp_path / "whole" / "one.backup").path
    with full_disk(after):
        with pytest.raises(StoreError, match="was not"):
            talked.back_up(folder / "one.backup")
        with pytest.raises(StoreError, match="was not"):
            new.restore(path)
        with pytest.raises(StoreError, match="was not"):
            move_database(talked.url, moved.url)
    assert list(folder.iterdir()) == []
    for home in (new, moved):
        assert [one.name for one in home.folder.rglob("*") if one.is_file() and one.name != "sdelka.lock"] == []
    assert talked.rows() == before
    new.restore(talked.back_up(folder / "one.backup").path)
    move_database(talked.url, moved.url)
    assert new.rows()["blobs"] == before["blobs"]
    assert moved.rows() == before


async def test_the_commands_say_what_ops_need(homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backup into a folder, keep the newest, drill, restore, refuse the second time."""
    home, folder = homes.home("old"), tmp_path / "backups"
    await talk(home)
    monkeypatch.setenv("STATE_DIR", str(home.folder / "state"))
    monkeypatch.setenv("LOG_DIR", str(home.logs))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    folder.mkdir()
    (folder / "sdelka-20200101T000000Z.backup").write_bytes(b"old")
    code, said = called(backups, "--to", str(folder), "--keep", "1", "--json")
    told = json.loads(said)
    assert (code, told["removed"], [path.name for path in folder.iterdir()]) == (
        0,
        ["sdelka-20200101T000000Z.backup"],
        [Path(told["file"]).name],
    )
    assert called(restoring, "--from", told["file"], "--drill")[0] == 0
    new = ["--state-dir", str(tmp_path / "new" / "state"), "--log-dir", str(tmp_path / "new" / "logs")]
    code, said = called(restoring, "--from", told["file"], *new)
    assert (code, "2 cards still wait" in said) == (0, True)
    code, said = called(restoring, "--from", told["file"], *new)
    assert (code, "only an empty place is filled" in said) == (2, True)
    assert called(restoring, "--from", str(tmp_path / "none.backup"))[0] == 2
