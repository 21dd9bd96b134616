"""Standing orders that came back with a backup wait, and people decide which of them go on; those of an erased person are gone."""

from pathlib import Path
from typing import Any

from orchestrator.reports.erasure.erase import ErasureFiles, erase_person, inspect_person
from state.journal.order_index import TIMER
from state.sql import build_sqlite_url, open_store
from tests.unit.features.orders.orders_kit import a_bench
from tests.unit.features.orders.test_looking import SUM, add
from tests.unit.spine_kit import ANNA, BORIS, CHAT

WORDS = "сдать отчёт Синицыну"
WEEKLY = SUM.model_copy(update={"question": {}, "changes": (), "cron": "0 9 * * MON", "text": WORDS})


async def test_what_came_back_waits_and_the_person_decides(homes: Any, tmp_path: Path) -> None:
    """The journal and the timers fit together, too."""
    old, new, file = homes.home("old", "file"), homes.home("new", "file"), tmp_path / "one.backup"
    async with a_bench(old.folder, store=open_store(old.url)) as bench:
        await bench.world.work(add(SUM), add(WEEKLY))
        bench.told()
    old.back_up(file)
    report = new.restore(file)
    assert len(report.orders) == 2
    assert new.findings() == []
    async with a_bench(new.folder, store=open_store(new.url)) as bench:
        await bench.until(10)
        (told,) = bench.told()
        assert told.count("На паузе: бота восстановили из резервной копии") == 2
        order = next(key for key, entry in bench.orders().items() if entry.due)
        await bench.click("order", order, "resume")
        bench.told()
        await bench.until(7)
        assert any(WORDS in text for text in bench.told())


async def test_orders_of_an_erased_person_are_gone_with_their_words(tmp_path: Path) -> None:
    """Neither their timers nor what they were to say is left; those of others go on."""
    url = build_sqlite_url(tmp_path / "sdelka.db")
    async with a_bench(tmp_path, store=open_store(url)) as bench:
        await bench.world.work(add(WEEKLY), add(SUM), add(WEEKLY, BORIS))
        bench.all_told()
        place = ErasureFiles(logs=bench.world.logs, files=())
        sql = bench.world.sql
        result = erase_person(sql, inspect_person(sql, ANNA.key, place), place, now=bench.world.clock.now(), by="cli:ops")
        assert not result.remains
        assert {timer.session for timer in sql.list_timers(TIMER)} == {BORIS.key}
        assert bench.orders(CHAT) == {}
        assert len(bench.orders(BORIS.key)) == 1
        await bench.until(10)
        assert not any(WORDS in text for session, text in bench.all_told() if session == CHAT)
