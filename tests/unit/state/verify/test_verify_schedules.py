"""`sdelka journal verify` compares the timers of schedules and the table of mentions with the journal, and names each difference."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.reports.consistency import EffectChecker
from state.journal.schedule_index import TIMER, build_timer_deletion
from state.journal.store import Commit, Timer
from state.sql import build_sqlite_url, open_store
from state.verify.journal import verify_journal
from tests.unit.schedules.schedules_kit import ID, QUIET, a_bench, add, order
from tests.unit.spine_kit import CHAT, NOW
from tests.unit.verify_kit import conversation, told, verified, written

PLACE = f"schedule {ID} of session:{CHAT}"


async def lived(folder: Path, *, paused: bool = False) -> str:
    """A database with a schedule, and its address."""
    url = build_sqlite_url(folder / "sdelka.db")
    async with a_bench(folder, QUIET, store=open_store(url)) as bench:
        await bench.world.work(add(cron="0 9 * * *"))
        if paused:
            await bench.world.work(order("pause"))
    return url


def change(url: str, make: Callable[[Timer], Timer]) -> None:
    """Change the timer behind the journal's back."""
    store = open_store(url)
    (timer,) = store.list_timers(TIMER)
    store.expire_leases()
    lease = store.acquire(CHAT, "somebody", NOW, NOW)
    assert lease is not None
    store.commit(Commit(stream=f"session:{CHAT}", epoch=lease.epoch, actor="system", now=NOW, timers=[make(timer)]))
    store.close()


def findings(url: str) -> list[tuple[str, str]]:
    checked = verify_journal(url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    return [(one.place, one.why) for one in checked.findings if one.kind != "note"]


@pytest.mark.parametrize("paused", [False, True])
async def test_schedules_as_they_are_kept_are_in_order(tmp_path: Path, paused: bool) -> None:  # noqa: FBT001 - a table
    assert findings(await lived(tmp_path, paused=paused)) == []


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda _: build_timer_deletion(ID, CHAT, NOW), "it has no timer"),
        (lambda one: replace(one, body={**one.body, "due": "2026-11-23T06:00:00.000000Z"}), "its timer is for 2026-11-23"),
        (lambda one: replace(one, body={**one.body, "owner": "tg:1008"}), "its timer says that it is of tg:1008"),
        (lambda one: replace(one, due_at=one.due_at.replace(year=9999, month=12, day=31)), "the journal says that it is waiting"),
        (lambda one: replace(one, id=f"{TIMER}:other", body={**one.body, "schedule": "other"}), "the journal has no such schedule"),
    ],
)
async def test_a_timer_that_is_not_what_the_journal_says_is_found(tmp_path: Path, make: Callable[[Timer], Timer], why: str) -> None:
    url = await lived(tmp_path)
    change(url, make)
    found = findings(url)
    assert len(found) == 1
    assert why in found[0][1]
    assert found[0][0] in {PLACE, PLACE.replace(ID, "other")}


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("mentions") / "one.db"
    conversation(path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("SELECT 1", []),
        ("DELETE FROM mentions WHERE what = 'made'", ["table mentions lacks its row about deal:"]),
        ("UPDATE mentions SET about = 'deal:482' WHERE what = 'call'", ["lacks its row about deal:481", "is borne out by no record"]),
        (
            "INSERT INTO mentions VALUES ('deal:5', 'call', 'no event', 'no call')",
            ["its row about deal:5 (call) is borne out by no record"],
        ),
    ],
)
def test_a_difference_is_named(talked: bytes, tmp_path: Path, change: str, words: list[str]) -> None:
    path = tmp_path / "one.db"
    path.write_bytes(talked)
    written(path, change)
    found = told(verified(path).findings)
    assert bool(found) == bool(words)
    assert all(any(word in line for line in found) for word in words), found


@pytest.mark.long
def test_of_a_damaged_journal_the_damage_alone_is_told(talked: bytes, tmp_path: Path) -> None:
    """What follows from it would only say the same again."""
    path = tmp_path / "one.db"
    path.write_bytes(talked)
    written(path, "UPDATE events SET type = 'MessageReceived' WHERE type = 'ConfirmationApproved'")
    found = told(verified(path).findings)
    assert found
    assert not any("mentions" in line for line in found)
