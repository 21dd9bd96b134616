"""`sdelka journal erase` as ops use it: what it asks, shows, refuses and claims."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.reports.erasure import erase
from orchestrator.reports.log_rebuild.rebuild import rebuild_logs
from state.audit_log.interaction_log import read_records
from state.events.calls import CallSucceeded
from state.journal.store import Commit
from state.mirror.file import MirrorFile
from state.sql import open_store
from tests.unit.reports.erasing_kit import LATER, THEIRS, WISH, Home, a_command, a_home, often, opened, run, talk  # noqa: F401 - fixtures among them
from tests.unit.spine_kit import ANNA, BORIS, CHAT, VERA


@pytest.mark.long
async def test_the_command_shows_asks_erases_and_proves(home: Home, command: Any) -> None:
    """Exit codes as its help says: 3 while the bot runs or nobody agreed, 0 when proven, 2 for nobody, 1 where something remains."""
    from filelock import FileLock  # noqa: PLC0415 - only this test needs it

    await talk(home)
    with FileLock(home.folder / "state" / "sdelka.lock"):
        assert command("Анна")[0] == 3
    assert command("Анна", typed="нет\n")[0] == 3
    assert command("никто")[0] == 2
    assert command()[0] == 2
    code, shown = command("Анна", typed=f"{CHAT}\n")
    assert (code, "Proven: searched every row and file" in shown, "tg:1007 itself stays" in shown) == (0, True, True)
    assert WISH not in shown
    code, listed = command("--list", "--json")
    assert (code, json.loads(listed)["person"]) == (0, CHAT)
    (home.folder / "logs" / "stray").write_text("Борис", encoding="utf-8")
    code, shown = command(BORIS.key, "--yes", "--json")
    assert code == 1
    assert [json.loads(line)["place"] for line in shown.splitlines() if json.loads(line)["kind"] == "remains"] == ["stray"]


@pytest.mark.long
async def test_the_command_refuses_while_a_card_is_open(home: Home, command: Any) -> None:
    """Unless it is told to withdraw it."""
    await talk(home, decide=False)

    assert command(ANNA.key, "--yes")[0] == 3
    assert command(ANNA.key, "--yes", "--force")[0] == 0


async def test_the_command_deletes_the_mirror_of_the_portals_numbers(home: Home, command: Any) -> None:
    """It can be loaded again, without what the portal no longer says of the person."""
    await talk(home)
    mirror = MirrorFile(home.folder / "state", "firm.example")
    mirror.open_for_writing().close()
    code, shown = command(ANNA.key, "--yes", "--json")
    assert code == 0
    assert json.loads(shown.splitlines()[1])["removed"]["mirrors"] == 1
    assert mirror.identify() is None


async def test_the_command_touches_nothing_without_todays_database(home: Home, command: Any) -> None:
    """No database makes none and deletes no log; one of an older schema is not upgraded."""
    await talk(home)
    database = home.folder / "state" / "sdelka.db"
    database.rename(home.folder / "elsewhere.db")
    logs = {path: path.read_bytes() for path in (home.folder / "logs").rglob("*")}
    for left in (home.folder / "state").glob("sdelka.db-*"):
        left.unlink()
    assert command(CHAT, "--yes")[0] == 2
    assert not database.exists()
    (home.folder / "elsewhere.db").rename(database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num='0001'")
    assert command(CHAT, "--yes")[0] == 2
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
    assert {path: path.read_bytes() for path in (home.folder / "logs").rglob("*")} == logs


@pytest.mark.long
async def test_an_erasure_that_breaks_off_says_so_and_is_finished_by_the_next(home: Home, command: Any) -> None:
    """The database takes no change any more: one sentence that says what to do, and nobody believes that it is done."""
    await talk(home)
    database = home.folder / "state" / "sdelka.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TRIGGER full BEFORE UPDATE ON inbox BEGIN SELECT RAISE(ABORT, 'no room'); END")
    code, shown = command(CHAT, "--yes")
    assert code == 2
    assert "not erased, or not wholly: " in shown
    assert "run the command again" in shown
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TRIGGER full")
    assert command(CHAT, "--yes")[0] == 0


@pytest.mark.long
async def test_a_log_that_the_journal_knows_nothing_of_is_no_proof(home: Home, command: Any) -> None:
    """Another database of today's schema: the log may be deleted, but that nothing is left is not claimed."""
    await talk(home)
    for path in (home.folder / "state").iterdir():
        path.unlink()
    open_store(home.url).close()
    code, shown = command(CHAT, "--yes")

    assert (code, "Proven" in shown, "Not proven" in shown) == (1, False, True)


@pytest.mark.long
async def test_records_in_clear_are_told_of_before_the_question(home: Home, command: Any) -> None:
    """Also where nothing but them is left."""
    await talk(home)
    with closing(sqlite3.connect(home.folder / "state" / "sdelka.db")) as connection, connection:
        connection.execute(
            "UPDATE events SET data=? WHERE rowid=(SELECT min(rowid) FROM events WHERE type='MessageReceived')",
            (json.dumps({"turn_id": "t", "inbox_id": "i", "text": WISH, "origin": "person"}),),
        )
    code, shown = command(CHAT, typed="нет\n")

    assert code == 3
    assert 0 < shown.index("In clear: 1 records") < shown.index("This cannot be undone")
    run(home)
    with opened(home) as store:
        assert not erase.inspect_person(store, CHAT, home.place).empty


@pytest.mark.long
async def test_who_is_not_found_is_told_who_there_is(home: Home, command: Any) -> None:
    """A part of a name will do where the key is typed, not with --yes."""
    await talk(home)

    assert command("Анн", "--yes")[0] == 2
    assert command("Анн", typed=f"{CHAT}\n")[0] == 0


async def test_a_damaged_record_of_another_person_is_no_obstacle(home: Home) -> None:
    """Boris's key is damaged: Anna's large answers go all the same, and nothing of hers is said to remain."""
    await talk(home)
    with opened(home) as store:
        held = store.acquire(BORIS.key, "x", LATER, LATER + timedelta(minutes=1))
        assert held is not None
        read = CallSucceeded(effect_id="e", turn_id="t", slot="s", method="crm.deal.list", call_class="R", result=["Воробьёв"])
        store.commit(Commit(stream=f"session:{BORIS.key}", epoch=held.epoch, actor=BORIS.key, now=LATER, events=[read]))
        store.release(held)
    with closing(sqlite3.connect(home.folder / "state" / "sdelka.db")) as connection, connection:
        connection.execute("UPDATE person_keys SET secret='A' || substr(secret, 3, 1) || substr(secret, 3) WHERE person=?", (BORIS.key,))
    _, done = run(home)

    assert done.remains == ()
    assert done.removed["blobs"] == 1


async def test_logs_can_be_rebuilt_after_an_erasure(home: Home) -> None:
    """Of an executed card of the erased person who decided and how it ended is told, and nothing else."""
    await talk(home)
    run(home)
    with opened(home) as store:
        counts = rebuild_logs(store, home.folder / "rebuilt")

    assert counts[VERA.key] == 2
    [approved, _] = list(read_records(home.folder / "rebuilt", VERA.key))
    assert (approved["outcome"]["status"], approved["outcome"]["call"]) == ("succeeded", {})
