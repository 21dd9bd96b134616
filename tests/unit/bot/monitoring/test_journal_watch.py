"""The watch over the journal: what it knows, when it looks again, and the red line on the page."""

import sqlite3
from pathlib import Path
from threading import Event as Flag

import pytest

from bot.monitoring import journal_watch
from bot.monitoring.journal_watch import JournalHealth, JournalWatch, watch_database
from state.events.conversation import MessageReceived
from state.findings import Finding
from state.sql import build_sqlite_url, open_store
from state.verify.journal import JournalReport
from tests.fixed_clock import FixedClock
from tests.unit.bot.console.console_kit import ANNA, OLGA, a_console
from tests.unit.bot.console.talk_kit import put
from tests.unit.spine_kit import NOW, World, until

pytestmark = pytest.mark.req("C-21")


def a_file(folder: Path) -> str:
    """A journal of two records in a file."""
    url = build_sqlite_url(folder / "sdelka.db")
    store = open_store(url)
    world = World(store, None, FixedClock(NOW), None, None, None, None, folder)  # type: ignore[arg-type]
    put(world, "tg:1007", MessageReceived(turn_id="t1", text="раз"), MessageReceived(turn_id="t2", text="два"))
    store.close()
    return url


def test_a_whole_journal_is_told_with_the_time_of_the_check(tmp_path: Path) -> None:
    """And how many records were read."""
    watch = watch_database(a_file(tmp_path), FixedClock(NOW))
    watch.check()

    assert watch._known == JournalHealth(checked_at=NOW, records=2)


def test_a_changed_record_is_told_as_verify_tells_it(tmp_path: Path) -> None:
    """The place and the reason."""
    url = a_file(tmp_path)
    with sqlite3.connect(tmp_path / "sdelka.db") as database:
        database.execute("UPDATE events SET actor = 'tg:9' WHERE seq = 1")
    database.close()
    watch = watch_database(url, FixedClock(NOW))
    watch.check()

    assert any(fault.startswith("session:tg:1007: ") for fault in watch._known.faults)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:////nowhere/at/all.db"])
def test_a_database_that_cannot_be_read_from_here_is_no_fault(url: str) -> None:
    """In memory, or none at all."""
    watch = watch_database(url, FixedClock(NOW))
    watch.check()

    assert watch._known == JournalHealth(cannot=True)


async def test_a_look_never_waits_and_checks_at_most_once_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last result stands until the next check has ended; a check that fails is no result."""
    now = 0.0
    monkeypatch.setattr(journal_watch, "read_boottime", lambda: now)
    go_on, checks = Flag(), []

    def verify(_rest: object) -> JournalReport:
        checks.append(now)
        assert go_on.wait(30)
        if now > journal_watch.EVERY:
            raise RuntimeError
        return JournalReport(records=5)

    watch = JournalWatch(verify, FixedClock(NOW))
    assert watch.look() == JournalHealth(is_running=True)
    assert watch.look() == JournalHealth(is_running=True)
    go_on.set()
    whole = JournalHealth(checked_at=NOW, records=5)
    await until(lambda: watch._known == whole)
    now = journal_watch.EVERY - 1
    assert watch.look() == whole
    now = journal_watch.EVERY + 1
    watch.look()
    await until(lambda: watch._known == whole and len(checks) == 2)


async def test_the_audit_shows_a_red_line_when_the_journal_is_damaged(tmp_path: Path) -> None:
    """To everybody; the places only to administrators. A whole journal has a quiet line."""
    async with a_console(tmp_path) as made:
        finding = Finding(kind="damaged", place="session:tg:1007", why="another hash")
        watch = JournalWatch(lambda _: JournalReport(records=7), made.world.clock)
        made.console.services.__dict__["journal_watch"] = watch
        watch.check()
        watch._began = float("inf")
        page = await made.open("/audit", ANNA)
        assert page.has("и цел: 7 записей")

        watch._verify = lambda _: JournalReport(records=7, findings=[finding, Finding(kind="note", place="x", why="y")])
        watch.check()
        await made.tell_change()

        chief = await made.open("/audit", OLGA)
        for one in (page, chief):
            assert one.has("Журнал не такой, каким его записали: 1 нарушение")
            assert any("red-line" in element._classes for element in one.elements)
        assert chief.has("session:tg:1007: another hash")
        assert not page.has("another hash")
