"""The digest and the evening summary come once a working day, at the person's hour, to those who want them, whatever happens between."""

from datetime import timedelta

import pytest

from bitrix.errors import OutcomeUnknown
from bitrix.limits.limiter import Priority
from orchestrator.features.daily.digests import AGAIN
from orchestrator.features.daily.message_bodies import DailyPreferences, to_daily_preferences
from orchestrator.runtime import dispatch
from orchestrator.sessions.session import Session
from state.journal.store import Commit, Timer
from tests.unit.features.daily.daily_kit import MONDAY, ON, Home
from tests.unit.spine_kit import ANNA, VERA

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


async def wanting(home: Home) -> Session:
    """Anna wants that, and the program has started on Sunday evening."""
    home.household.wishes[ANNA.key] = {"digest": "on"}
    home.set_clock(MONDAY - 12 * HOUR)
    session = await home.session()
    await home.plan()
    await home.work(session)
    return session


async def test_it_comes_at_nine_and_then_on_the_next_working_day(home: Home) -> None:
    """Monday, Tuesday, not on the holiday, not before the hour; Saturday is worked this week, Sunday is not."""
    session = await wanting(home)
    days = []
    for _ in range(8 * 24):
        home.world.clock.advance(HOUR)
        await home.work(session)
        days.extend(body["day"] for body in home.told("daily"))
    assert days == ["2026-11-23", "2026-11-24", "2026-11-26", "2026-11-27", "2026-11-28", "2026-11-30"]
    assert {priority for _, priority in home.asked} == {Priority.BULK}
    assert [event.data["outcome"] for event in home.world.events("DailySent")] == ["sent"] * 6


async def test_nobody_gets_what_nobody_asked_for(home: Home) -> None:
    """Off by default: no timer is set."""
    home.set_clock(MONDAY)
    session = await home.session()
    await home.plan()
    await home.work(session)
    assert home.timers() == []
    assert (
        to_daily_preferences({}) == to_daily_preferences({"digest": "off", "evening": ""}) == DailyPreferences(digest=False, evening=False)
    )
    assert to_daily_preferences(ON) == DailyPreferences(digest=True, evening=True)


@pytest.mark.parametrize(("late", "sent"), [(timedelta(0), 1), (179 * MINUTE, 1), (180 * MINUTE, 0), (12 * HOUR, 0), (DAY, 1)])
async def test_after_a_standstill_it_comes_late_or_not_at_all(home: Home, late: timedelta, sent: int) -> None:
    """More than three hours late is skipped; the timer outlived the process, and its plan is made anew at the start."""
    before = await wanting(home)
    await before.close()
    home.set_clock(MONDAY + late)
    session = await home.session(owner="two")
    home.planner._known.clear()
    await home.plan()
    await home.work(session)
    await home.work(session)
    assert len(home.told("daily")) == sent
    assert len(home.timers()) == 1


async def test_a_start_after_the_digest_sends_no_second_one(home: Home) -> None:
    """Neither does another process that looks at the same people, nor switching it off and on."""
    session = await wanting(home)
    home.set_clock(MONDAY)
    await home.work(session)
    assert len(home.told("daily")) == 1
    for wishes in ({}, ON, ON):
        home.household.wishes[ANNA.key] = wishes
        home.planner._known.clear()
        await home.plan()
        await home.work(session)
    home.world.clock.advance(HOUR)
    await home.work(session)
    assert home.told("daily") == []
    assert home.timers() == ["daily:digest:tg:1007 24.11 06:00"]


async def test_the_same_timer_seen_by_two_processes_is_one_digest(home: Home) -> None:
    """Both make the same input of it; a stale process may not commit any more."""
    session = await wanting(home)
    home.set_clock(MONDAY)
    first = await dispatch.collect_due_rows(home.world.store, home.world.clock.now())
    second = await dispatch.collect_due_rows(home.world.store, home.world.clock.now())
    assert (await home.world.store.put_inbox(first)).fresh == [True]
    assert (await home.world.store.put_inbox(second)).fresh == [False]
    await home.work(session)
    assert len(home.told("daily")) == 1


async def test_a_crash_between_reading_and_storing_sends_it_once(home: Home) -> None:
    """The message, the note of the day and the next timer are one commit: without it the same input is worked again."""
    session = await wanting(home)
    home.set_clock(MONDAY)
    commit, broken = home.world.sql.commit, [True]

    def failing(step: Commit) -> object:
        if broken and step.outbox:
            broken.pop()
            raise RuntimeError("the process died here")
        return commit(step)

    home.world.sql.commit = failing  # type: ignore[method-assign,assignment]
    with pytest.raises(RuntimeError):
        await home.work(session)
    assert home.told("daily") == []
    await home.work(session)
    await home.work(session)
    assert len(home.told("daily")) == 1


async def test_who_moves_gets_it_by_the_new_clock_and_once_a_day(home: Home) -> None:
    """From Vladivostok, where it came already, to Moscow: not again today; the next at nine in Moscow."""
    home.household.here[0] = ANNA.model_copy(update={"time_zone": "Asia/Vladivostok"})
    session = await wanting(home)
    assert home.timers() == ["daily:digest:tg:1007 22.11 23:00"]
    home.set_clock(MONDAY - 7 * HOUR)
    await home.work(session)
    assert len(home.told("daily")) == 1
    home.household.here[0] = ANNA
    await home.plan()
    await home.work(session)
    home.set_clock(MONDAY)
    await home.work(session)
    assert home.told("daily") == []
    assert home.timers() == ["daily:digest:tg:1007 24.11 06:00"]


async def test_a_timer_set_for_another_zone_asks_the_clock_of_now(home: Home) -> None:
    """The move was not noticed before the timer was due: it waits for nine there."""
    session = await wanting(home)
    home.household.here[0] = ANNA.model_copy(update={"time_zone": "Europe/London"})
    home.set_clock(MONDAY)
    await home.work(session)
    assert home.told("daily") == []
    assert home.timers() == ["daily:digest:tg:1007 23.11 09:00"]


async def test_who_has_lost_access_or_the_wish_gets_nothing(home: Home) -> None:
    """Rights and choices are those of the moment of sending."""
    session = await wanting(home)
    anna = home.household.here.pop(0)
    home.set_clock(MONDAY)
    await home.work(session)
    assert home.told("daily") == []
    assert home.timers() == ["daily:digest:tg:1007 24.11 06:00"], "unnoticed by the planner it is looked at again"
    await home.plan()
    await home.work(session)
    assert home.timers() == []
    home.household.here.insert(0, anna)
    home.world.clock.advance(MINUTE)
    await home.plan()
    await home.work(session)
    await home.work(session)
    assert len(home.told("daily")) == 1, "back within the hours: today's is due"


async def test_a_portal_that_is_down_is_asked_again_until_it_is_too_late(home: Home) -> None:
    """Ten minutes later it works; on a day without the portal one sentence comes at its end, and the next day is set."""
    session = await wanting(home)
    home.set_clock(MONDAY)
    home.faults.append(OutcomeUnknown("no answer"))
    await home.work(session)
    assert home.told("daily") == []
    home.world.clock.advance(AGAIN)
    await home.work(session)
    assert len(home.told("daily")) == 1
    home.set_clock(MONDAY + DAY)
    home.faults.extend([OutcomeUnknown("no answer")] * 18)
    for _ in range(20):
        await home.work(session)
        home.world.clock.advance(AGAIN)
    assert home.told("daily") == [{"what": "lost"}], "who waits for it is told once that none will come"
    assert home.faults == []
    assert home.timers() == ["daily:digest:tg:1007 26.11 06:00"]


async def test_a_fault_of_ours_costs_one_day_not_all(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, the day is noted as failed, the next one is set."""
    session = await wanting(home)
    home.set_clock(MONDAY)
    home.faults.append(ZeroDivisionError())  # type: ignore[arg-type]
    await home.work(session)
    assert [event.data["outcome"] for event in home.world.events("DailySent")] == ["failed"]
    assert home.timers() == ["daily:digest:tg:1007 24.11 06:00"]
    assert "a daily message cannot be made" in caplog.text


@pytest.mark.parametrize(("who", "sent"), [(VERA, 1), (ANNA, 0)])
async def test_the_evening_summary_is_for_leads(home: Home, who: object, sent: int) -> None:
    """At six, and only for who may see the team."""
    actor = VERA if who is VERA else ANNA
    home.household.wishes[actor.key] = ON
    home.set_clock(MONDAY + 8 * HOUR)
    session = await home.session(actor)
    await home.plan()
    await home.work(session)
    home.set_clock(MONDAY + 9 * HOUR)
    await home.work(session)
    assert [body["what"] for body in home.told("daily")] == ["evening"] * sent


async def test_the_planner_looks_at_everybody_once_and_then_at_what_changed(home: Home) -> None:
    """A choice, a zone, a role, a new person, one who is gone: each makes one input; a store that fails loses none."""
    put: list[str] = []

    async def receive(rows: object) -> None:
        put.extend(row.session for row in rows)  # type: ignore[attr-defined]

    async def failing(rows: object) -> None:
        del rows
        raise OSError("full")

    planner, now = home.planner, home.world.clock.now()
    with pytest.raises(OSError, match="full"):
        await planner.run(failing, now)
    await planner.run(receive, now)
    await planner.run(receive, now)
    assert sorted(put) == ["tg:1006", "tg:1007", "tg:1008"]
    put.clear()
    home.household.wishes["tg:1008"] = ON
    home.household.here[0] = ANNA.model_copy(update={"time_zone": "Europe/London"})
    home.household.here.pop()
    await planner.run(receive, now)
    assert sorted(put) == ["tg:1006", "tg:1007", "tg:1008"]


async def test_a_timer_carries_no_words(home: Home) -> None:
    """Timers are not sealed: only the kind stands in them."""
    await wanting(home)
    (timer,) = home.world.sql.list_due_timers(MONDAY)
    assert timer == Timer(id="daily:digest:tg:1007", due_at=MONDAY, session="tg:1007", kind="daily", body={"what": "digest"})


async def test_ops_hear_once_that_the_days_off_of_a_year_are_missing(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    """The file lists one year: in the next one digests go on by what holds in every year, and the log says what is missing."""
    session = await wanting(home)
    home.set_clock(MONDAY.replace(year=2027, month=1, day=11))
    for _ in range(3):
        home.world.clock.advance(DAY)
        await home.work(session)
    assert len(home.told("daily")) >= 1
    assert [record.message for record in caplog.records if getattr(record, "action", "") == "holidays_missing"] == [
        "data/holidays.yaml does not list yet which days off are moved in 2027: only the holidays of every year are left out"
    ]
