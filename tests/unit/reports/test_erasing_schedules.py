"""Erasing a person who has schedules: nothing of them is left, and nothing starts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.reports.consistency import EffectChecker
from orchestrator.schedules.firing import LATE
from state.events.schedules import list_schedules
from state.journal.journal import load_state
from state.journal.schedule_index import TIMER, collect_schedules
from state.sql import open_store
from state.verify.journal import verify_journal
from tests.unit.reports.erasing_kit import LATER, Home, everything, opened, run
from tests.unit.reports.erasing_kit import a_home as a_home  # noqa: PLC0414 - the fixture
from tests.unit.schedules.schedules_kit import ID, QUIET, Bench, a_bench, add, order
from tests.unit.spine_kit import ANNA, BORIS, VERA

GROUP = "tg:-100200300"
NOTE, GIVEN = "обещал Синицын Пётр Аркадьевич", "адрес покупателя улица Лесная 7"
FIRST = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
OTHER, THIRD = "0190aaaa-0000-7000-8000-0000000000bb", "0190aaaa-0000-7000-8000-0000000000cc"


@asynccontextmanager
async def bot(home: Home) -> AsyncIterator[Bench]:
    """The bot on that database."""
    async with a_bench(home.folder, QUIET, store=open_store(home.url)) as bench:
        yield bench


async def live(home: Home) -> None:
    """Anna has a schedule in her chat and one in a group, in which Boris has one too."""
    async with bot(home) as bench:
        args = {"text": {"data": GIVEN, "origins": ["person"]}}
        await bench.world.work(
            add(cron="0 9 * * *", note=NOTE, args=args),
            add(cron="0 9 * * *", note=NOTE, args=args, home=GROUP, schedule=OTHER),
            add(cron="0 9 * * *", actor=BORIS, home=GROUP, schedule=THIRD),
        )
        for name in ("pause", "resume", "pause", "resume"):  # enough events for a snapshot
            await bench.world.work(order(name, home=GROUP, schedule=THIRD, actor=VERA))
        await bench.until(FIRST)
        bench.all_told()


@pytest.mark.req("G2")
@pytest.mark.parametrize("home", ["file", "postgresql"], indirect=True)
async def test_nothing_is_left_of_the_schedules_of_an_erased_person(home: Home) -> None:
    """Neither their words nor their timers, in their chat and in a group; what others have stays."""
    await live(home)
    before = everything(home)
    _, done = run(home, ANNA.key)
    after = everything(home)
    assert [text for text in (NOTE, GIVEN) if text.encode() in after or text.encode() not in before] == []
    assert (done.remains, done.unproven_reasons, done.removed["timers"]) == ((), (), 2)
    checked = verify_journal(home.url, judge=EffectChecker, anchors={}, progress=lambda _: None)
    assert checked.findings == []
    with opened(home) as store:
        assert [one.body["schedule"] for one in store.list_timers(TIMER)] == [THIRD]
        assert [one.schedule for one in collect_schedules(store)] == [THIRD]
        assert {key: list_schedules(load_state(store, f"session:{key}")[0]) for key in (ANNA.key, GROUP)}[ANNA.key] == {}


async def test_after_the_erasure_nothing_of_theirs_starts(home: Home) -> None:
    """Also in the group, where the schedule of a colleague goes on."""
    await live(home)
    run(home, ANNA.key)
    async with bot(home) as bench:
        await bench.until(LATER + timedelta(days=2) + LATE)
        assert {one.owner for one in bench.runs() if one.started_at > "2026-11-23"} == {BORIS.key}
        assert list(bench.state(GROUP)) == [THIRD]
        assert ID not in bench.state()
