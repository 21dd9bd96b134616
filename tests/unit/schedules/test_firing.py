"""Schedules fire once for each moment: on time, late, by the zone's clock, and not while something is in the way."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.cli.chat import is_served
from orchestrator.domain.run_inputs import RunOrder
from orchestrator.engines.runs import RunFailed
from orchestrator.runs.stored_definitions import DAMAGED, OFF, UNPUBLISHED
from orchestrator.runtime.dispatch import collect_due_rows
from orchestrator.schedules import firing
from state.clock import generate_id
from state.journal.store import StoreUnwritable
from tests.unit.schedules.schedules_kit import ID, QUIET, SECOND, WAITING, Bench, a_bench, add, build_row, order
from tests.unit.spine_kit import ANNA, CHAT, NOW, VERA, until

DAILY = "0 9 * * *"
FIRST = datetime(2026, 11, 22, 6, 0, tzinfo=UTC)
"""Nine in the morning in Moscow, on the day after the tests begin."""
DAY = timedelta(days=1)


def moments(bench: Bench) -> list[str]:
    """The moments that have come, each with what was started or why nothing was."""
    return [f"{one.data['due'][:16]} {one.data['skipped'] or 'run'}" for one in bench.fired()]


async def test_a_daily_schedule_starts_a_run_each_day_at_its_time(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        assert bench.told() == ["🗓 Запуски «plan» по расписанию: каждый день в 9:00. Первый: вс, 22 ноября, 09:00."]
        await bench.until(FIRST - timedelta(seconds=2))
        assert bench.runs() == []
        for number in range(3):
            await bench.until(FIRST + number * DAY)
        assert moments(bench) == ["2026-11-22T06:00 run", "2026-11-23T06:00 run", "2026-11-24T06:00 run"]
        assert [(one.definition, one.owner, one.home, one.status) for one in bench.runs()] == [("plan", ANNA.key, CHAT, "done")] * 3
        assert bench.told() == ["Начинаю", "Готово."] * 3, "a run on time is not announced"
        assert [one.due_at.replace(microsecond=0) for one in bench.timers()] == [FIRST + 3 * DAY]
        assert bench.entry().started == 3


async def test_a_single_moment_starts_one_run_and_the_schedule_is_over(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(at="2026-11-22T09:00:00+03:00", args={"deal": {"data": 481, "origins": ["person"]}}))
        await bench.until(FIRST)
        assert [one.status for one in bench.runs()] == ["done"]
        (begun,) = bench.world.sql.read_events(f"run:{bench.runs()[0].run_id}", limit=1)
        assert begun.data["args"] == {"deal": {"data": 481, "origins": ["person"]}}
        assert (bench.state(), bench.timers()) == ({}, [])
        assert bench.world.types()[-2:] == ["ScheduleFired", "ScheduleEnded"]


async def test_after_a_week_without_the_bot_one_run_starts_late_and_the_chat_is_told(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        await bench.until(FIRST + 7 * DAY + timedelta(hours=1))
        assert moments(bench) == ["2026-11-22T06:00 run"]
        assert bench.told()[0] == (
            "⏰ «plan» нужно было запустить: вс, 22 ноября, 09:00. Бот тогда не работал, поэтому запускаю сейчас. "
            "За это время пропущено ещё 7 запусков."
        )
        assert bench.entry().missed == 7
        assert bench.entry().due == "2026-11-30T06:00:00.000000Z"
        await bench.until(FIRST + 8 * DAY)
        assert len(bench.runs()) == 2


async def test_a_minute_late_is_on_time(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        await bench.until(FIRST + timedelta(seconds=59))
        assert bench.told() == ["Начинаю", "Готово."]


async def test_no_run_starts_beside_its_own_unfinished_one_and_that_is_told_once_a_day(tmp_path: Path) -> None:
    async with a_bench(tmp_path, WAITING) as bench:
        await bench.world.work(add(cron="0 * * * *"))
        begin = datetime(2026, 11, 21, 13, 0, tzinfo=UTC)
        await bench.until(begin)
        bench.told()
        told = []
        for hour in range(1, 30):
            await bench.until(begin + timedelta(hours=hour))
            told += [(hour, text) for text in bench.told() if "по расписанию не начат" in text]
        assert [hour for hour, _ in told] == [1, 25]
        assert told[0][1] == (
            "⚠️ Запуск «plan» по расписанию не начат (сб, 21 ноября, 17:00): прошлый запуск ещё не закончился. "
            "Следующая попытка: сб, 21 ноября, 18:00."
        )
        assert len(bench.runs()) == 1
        assert (bench.entry().skipped, bench.entry().missed) == (29, 29)


async def test_once_the_run_is_over_the_next_moment_starts_again(tmp_path: Path) -> None:
    async with a_bench(tmp_path, WAITING) as bench:
        await bench.world.work(add(cron=DAILY))
        await bench.until(FIRST)
        await bench.until(FIRST + DAY)
        bench.documents.documents = dict(QUIET)
        run = f"run:{bench.runs()[0].run_id}"
        await bench.world.work(build_row(RunOrder(order="cancel"), ANNA, run))
        await bench.until(FIRST + 2 * DAY)
        assert moments(bench) == ["2026-11-22T06:00 run", "2026-11-23T06:00 unfinished", "2026-11-24T06:00 run"]
        assert (bench.entry().skipped, bench.entry().skip_why, bench.entry().missed) == (0, "", 1)


async def test_a_clock_that_is_set_back_starts_nothing_twice(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        await bench.until(FIRST)
        bench.world.clock.set_by(-timedelta(hours=3))
        await bench.world.work()
        await bench.until(FIRST + timedelta(seconds=29))
        assert moments(bench) == ["2026-11-22T06:00 run"]
        await bench.until(FIRST + DAY)
        assert len(bench.runs()) == 2


async def test_a_clock_that_is_set_forward_and_back_again_leaves_the_next_moment_as_it_was(tmp_path: Path) -> None:
    """Set a week ahead by mistake: one run, late as it seems; put right again: the schedule goes on after that week."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.world.clock.set_by(timedelta(days=7))
        await bench.world.work()
        bench.world.clock.set_by(-timedelta(days=7))
        await bench.world.work()
        assert moments(bench) == ["2026-11-22T06:00 run"]
        assert bench.entry().due == "2026-11-29T06:00:00.000000Z"


@pytest.mark.parametrize(
    ("zone", "cron", "begin", "due"),
    [
        # Berlin has no 02:30 on 28 March 2027 and two of them on 31 October.
        ("Europe/Berlin", "30 2 * * *", datetime(2027, 3, 27, 12, tzinfo=UTC), ["2027-03-28T01:00", "2027-03-29T00:30"]),
        ("Europe/Berlin", "30 2 * * *", datetime(2027, 10, 30, 12, tzinfo=UTC), ["2027-10-31T00:30", "2027-11-01T01:30"]),
        ("Europe/Berlin", "0 9 * * *", datetime(2027, 3, 27, 12, tzinfo=UTC), ["2027-03-28T07:00", "2027-03-29T07:00"]),
        # Brazil has no summer time any more.
        ("America/Sao_Paulo", "0 9 * * *", datetime(2027, 2, 20, 13, tzinfo=UTC), ["2027-02-21T12:00", "2027-02-22T12:00"]),
        ("Asia/Kathmandu", "0 9 * * *", datetime(2027, 1, 1, 12, tzinfo=UTC), ["2027-01-02T03:15", "2027-01-03T03:15"]),
        ("UTC", "0 9 31 * *", datetime(2027, 1, 31, 12, tzinfo=UTC), ["2027-03-31T09:00", "2027-05-31T09:00"]),
        ("UTC", "0 9 29 2 *", datetime(2027, 1, 31, 12, tzinfo=UTC), ["2028-02-29T09:00", "2032-02-29T09:00"]),
    ],
)
async def test_the_clock_of_the_zone_decides(tmp_path: Path, zone: str, cron: str, begin: datetime, due: list[str]) -> None:
    """The first two moments after `begin`, each reached without having worked before."""
    async with a_bench(tmp_path, QUIET) as bench:
        bench.world.clock.advance(begin - NOW)
        await bench.world.work(add(cron=cron, zone=zone))
        for one in due:
            await bench.until(datetime.fromisoformat(f"{one}:00+00:00"))
        assert moments(bench) == [f"{one} run" for one in due]
        assert [one.data["late"] for one in bench.fired()] == [1, 1]


async def test_what_the_owner_may_not_do_any_more_pauses_the_schedule_and_a_lead_hears_of_it(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        del bench.people.actors[ANNA.key]
        await bench.until(FIRST + 3 * DAY)
        assert (bench.runs(), bench.entry().status, bench.entry().why) == ([], "paused", "owner_left")
        said = (
            "⏸ Запуски «plan» (Анна) по расписанию остановлены: у того, чьи это запуски, больше нет доступа к боту. "
            "Отменить или продолжить их можно в /schedules."
        )
        assert bench.all_told() == [(VERA.key, said)]
        await bench.until(FIRST + 9 * DAY)
        assert bench.all_told() == [], "said once"


async def test_in_a_group_the_others_hear_that_the_owner_has_left(tmp_path: Path) -> None:
    group = "tg:-100200300"
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY, home=group))
        bench.all_told()
        del bench.people.actors[ANNA.key]
        await bench.until(FIRST)
        assert [session for session, _ in bench.all_told()] == [group, VERA.key]


async def test_a_schedule_of_an_owner_who_is_back_can_be_resumed_and_not_before(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(at="2026-11-22T09:00:00+03:00"))
        bench.told()
        gone = bench.people.actors.pop(ANNA.key)
        await bench.until(FIRST)
        await bench.world.work(order("resume", actor=VERA))
        assert "нет доступа" in bench.told()[-1]
        bench.people.actors[ANNA.key] = gone
        bench.world.clock.advance(timedelta(hours=2))
        await bench.world.work(order("resume"))
        await bench.until(bench.world.clock.now())
        assert [one.status for one in bench.runs()] == ["done"]
        told = bench.told()
        assert "Расписание тогда было на паузе, поэтому запускаю сейчас" in " ".join(told)


async def test_an_owner_without_the_role_of_the_engine_starts_nothing(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        registered = bench.world.orchestrator.tools.features.timers["schedule"].__self__._engines.runs  # type: ignore[attr-defined]
        await bench.world.work(add(cron=DAILY))
        bench.all_told()
        registered["steps"] = replace(registered["steps"], roles=frozenset({"admin"}))
        await bench.until(FIRST)
        assert (bench.runs(), bench.entry().why) == ([], "not_allowed")
        assert [session for session, _ in bench.all_told()] == [CHAT, VERA.key]


async def test_a_definition_that_is_gone_is_told_and_the_next_moment_tries_again(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        bench.documents.documents = {}
        await bench.until(FIRST)
        (said,) = bench.told()
        assert said == (
            "⚠️ Запуск «plan» по расписанию не начат (вс, 22 ноября, 09:00): этого больше нет или оно выключено. "
            "Следующая попытка: пн, 23 ноября, 09:00."
        )
        bench.documents.documents = dict(QUIET)
        await bench.until(FIRST + DAY)
        assert moments(bench) == ["2026-11-22T06:00 definition_gone", "2026-11-23T06:00 run"]


async def test_a_single_moment_whose_definition_is_gone_waits_for_a_person(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(at="2026-11-22T09:00:00+03:00"))
        bench.told()
        bench.documents.documents = {}
        await bench.until(FIRST)
        assert (bench.entry().status, bench.entry().why) == ("paused", "definition_gone")
        assert "этого больше нет" in bench.told()[0]
        bench.documents.documents = dict(QUIET)
        await bench.world.work(order("resume"))
        await bench.until(bench.world.clock.now())
        assert [one.status for one in bench.runs()] == ["done"]


async def test_an_engine_that_is_gone_is_told_and_the_schedule_goes_on_when_it_is_back(tmp_path: Path) -> None:
    """The program is started without the engine, and then with it again; each day of the absence is told, and nobody has to do anything."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        store = bench.world.sql
        async with a_bench(tmp_path, QUIET, store=store, absent="steps") as away:
            store.expire_leases()
            for day in range(2):
                await away.until(FIRST + day * DAY)
                (said,) = away.told()
                assert "такое здесь больше не выполняется" in said
            assert (away.entry().status, away.entry().args, away.runs()) == ("waiting", bench.entry().args, [])
            async with a_bench(tmp_path, QUIET, store=store) as back:
                store.expire_leases()
                await back.until(FIRST + 2 * DAY)
                assert moments(back) == ["2026-11-22T06:00 engine_gone", "2026-11-23T06:00 engine_gone", "2026-11-24T06:00 run"]
                assert [one.status for one in back.runs()] == ["done"]


async def test_a_single_moment_of_an_engine_that_is_gone_waits_for_a_person(tmp_path: Path) -> None:
    """While the engine is away it cannot be resumed, which is said, and is kept."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(at="2026-11-22T09:00:00+03:00"))
        bench.told()
        registered = bench.world.orchestrator.tools.features.timers["schedule"].__self__._engines.runs  # type: ignore[attr-defined]
        engine = registered.pop("steps")
        await bench.until(FIRST)
        assert (bench.entry().status, bench.entry().why) == ("paused", "engine_gone")
        assert "такое здесь больше не выполняется" in bench.told()[0]
        await bench.world.work(order("resume"))
        assert (bench.entry().status, len(bench.told()), bench.runs()) == ("paused", 1, [])
        registered["steps"] = engine
        await bench.world.work(order("resume"))
        await bench.until(bench.world.clock.now())
        assert [one.status for one in bench.runs()] == ["done"]


async def test_a_start_that_fails_each_time_is_told_and_the_schedule_goes_on(tmp_path: Path) -> None:
    """What finds definitions raises something unforeseen; the next moment is tried again."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        bench.documents.error = RuntimeError("no idea")
        await bench.until(FIRST)
        assert moments(bench) == ["2026-11-22T06:00 failed"]
        assert "запустить не удалось из-за ошибки" in bench.told()[0]
        bench.documents.error = None
        await bench.until(FIRST + DAY)
        assert moments(bench)[1:] == ["2026-11-23T06:00 run"]


async def test_while_the_definitions_cannot_be_read_the_moment_waits_and_is_not_lost(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        bench.documents.error = StoreUnwritable("the database is away")
        bench.world.clock.advance(FIRST - NOW + SECOND)
        async with bench.world.working():
            await until(lambda: bool(bench.world.troubles))
            bench.documents.error = None
            await bench.world.idle()
        assert moments(bench) == ["2026-11-22T06:00 run"]


async def test_a_zone_that_is_gone_from_the_machine_pauses_the_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_name: str) -> None:
        raise KeyError("no such zone")

    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        monkeypatch.setattr(firing, "ZoneInfo", fail)
        await bench.until(FIRST)
        assert (bench.entry().status, bench.entry().why) == ("paused", "failed")
        assert "запустить не удалось" in bench.told()[0]


async def test_a_program_that_knows_no_rights_fires_nothing_and_puts_the_moment_off(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET, fires=False) as bench:
        await bench.world.work(add(cron=DAILY))
        await bench.until(FIRST)
        assert (bench.runs(), bench.entry().due) == ([], "2026-11-22T06:00:00.000000Z")
        assert [one.due_at for one in bench.timers()] == [FIRST + timedelta(minutes=1, seconds=1)]
        store = bench.world.sql
        async with a_bench(tmp_path, QUIET, store=store) as other:
            store.expire_leases()
            await other.until(FIRST + timedelta(minutes=1))
            assert moments(other) == ["2026-11-22T06:00 run"]


async def test_a_terminal_chat_leaves_the_schedules_of_other_conversations_to_the_bot(tmp_path: Path) -> None:
    """It does not know the rights of their people; it does not wait for them either."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        store = bench.world.sql
        store.expire_leases()
        bench.world.orchestrator.serves = is_served
        bench.world.clock.advance(FIRST - NOW + SECOND)
        async with bench.world.working() as orchestrator:
            await until(lambda: store.list_ready_sessions() == [(CHAT, "express")])
            assert await orchestrator.is_idle()
        assert (bench.runs(), bench.fired()) == ([], [])
        async with a_bench(tmp_path, QUIET, store=store) as other:
            await other.until(FIRST)
            assert moments(other) == ["2026-11-22T06:00 run"]


async def test_a_cancelled_schedule_whose_input_waits_already_starts_nothing(tmp_path: Path) -> None:
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.world.clock.advance(FIRST - NOW + SECOND)
        await bench.world.put(order("cancel"), *await collect_due_rows(bench.world.store, FIRST + SECOND))
        await bench.world.work()
        assert (bench.runs(), bench.timers(), bench.state()) == ([], [], {})


async def test_a_moment_whose_input_is_handed_in_twice_starts_one_run(tmp_path: Path) -> None:
    """Also under another source, as after a timer that was set again."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.world.clock.advance(FIRST - NOW + SECOND)
        (row,) = await collect_due_rows(bench.world.store, bench.world.clock.now())
        await bench.world.put(row, replace(row, id=generate_id(), source="again"))
        await bench.world.work()
        assert moments(bench) == ["2026-11-22T06:00 run"]
        assert len(bench.runs()) == 1
        assert ID in bench.state()


@pytest.mark.parametrize(("error", "why"), [(OFF, "definition_gone"), (UNPUBLISHED, "definition_gone"), (DAMAGED, "failed")])
async def test_a_definition_that_may_not_be_started_now_is_tried_again_at_the_next_moment(tmp_path: Path, error: str, why: str) -> None:
    """It is switched off, never published or damaged in the store of definitions; the schedule waits for nobody."""
    async with a_bench(tmp_path, QUIET) as bench:
        await bench.world.work(add(cron=DAILY))
        bench.told()
        bench.documents.error = RunFailed(error, "not now", definition="plan")
        await bench.until(FIRST)
        assert len(bench.told()) == 1
        bench.documents.error = None
        await bench.until(FIRST + DAY)
        assert moments(bench) == [f"2026-11-22T06:00 {why}", "2026-11-23T06:00 run"]
