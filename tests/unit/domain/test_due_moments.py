"""When a cron line is due: clock changes, many zones, and moments that were missed."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.cron_lines import MOST_COUNTED, Firing, find_next, list_moments, parse_cron, plan_firing

BERLIN, NEW_YORK, MOSCOW = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York"), ZoneInfo("Europe/Moscow")
ZONES = [
    "UTC",
    "Europe/Moscow",
    "Europe/Berlin",
    "America/New_York",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Asia/Vladivostok",
]
LINES = ["0 9 * * 1-5", "30 2 * * *", "*/5 * * * *", "0 * * * *", "0 0 * * *", "50 1-3 * * *", "*/10 2 * * *", "0 0 1 * *", "15 0 L * *"]


def _list(text: str, zone: ZoneInfo, after: datetime, count: int) -> list[str]:
    found = islice(list_moments(parse_cron(text), zone, after), count)
    return [moment.isoformat(timespec="minutes").removesuffix("+00:00") for moment in found]


def test_a_time_in_the_missing_hour_is_due_at_the_first_minute_after_it() -> None:
    """Berlin skips 02:00-03:00 on 29 March 2026, New York on 8 March."""
    berlin = _list("30 2 * * *", BERLIN, datetime(2026, 3, 28, 12, tzinfo=UTC), 2)
    york = _list("30 2 * * *", NEW_YORK, datetime(2026, 3, 7, 12, tzinfo=UTC), 2)
    assert berlin == ["2026-03-29T01:00", "2026-03-30T00:30"]
    assert york == ["2026-03-08T07:00", "2026-03-09T06:30"]


def test_several_times_in_the_missing_hour_are_due_once_together() -> None:
    assert _list("0,30 2 * * *", BERLIN, datetime(2026, 3, 28, 12, tzinfo=UTC), 2) == ["2026-03-29T01:00", "2026-03-30T00:00"]


def test_a_time_in_the_double_hour_is_due_once_in_the_first_of_the_two() -> None:
    """Berlin has 02:00-03:00 twice on 25 October 2026, New York 01:00-02:00 on 1 November."""
    berlin = _list("30 2 * * *", BERLIN, datetime(2026, 10, 24, 12, tzinfo=UTC), 2)
    york = _list("30 1 * * *", NEW_YORK, datetime(2026, 10, 31, 12, tzinfo=UTC), 2)
    assert berlin == ["2026-10-25T00:30", "2026-10-26T01:30"]
    assert york == ["2026-11-01T05:30", "2026-11-02T06:30"]


def test_asked_inside_the_second_of_two_equal_hours_the_next_moment_is_not_one_that_is_over() -> None:
    second = datetime(2026, 10, 25, 1, 40, tzinfo=UTC)  # 02:40 in Berlin for the second time
    assert _list("50 2 * * *", BERLIN, second, 1) == ["2026-10-26T01:50"]


def test_an_hourly_line_is_due_in_both_of_the_equal_hours() -> None:
    expected = ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"]
    assert _list("0 * * * *", BERLIN, datetime(2026, 10, 24, 23, 30, tzinfo=UTC), 3) == expected


def test_moscow_keeps_its_time_all_year() -> None:
    found = islice(list_moments(parse_cron("30 2 * * *"), MOSCOW, datetime(2026, 1, 1, tzinfo=UTC)), 365)
    assert {moment.strftime("%H:%M") for moment in found} == {"23:30"}


@settings(max_examples=150, deadline=None)
@given(
    text=st.sampled_from(LINES),
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    after=st.integers(0, 6 * 365 * 86_400).map(lambda seconds: datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)),
)
def test_moments_only_go_forward_and_none_lies_between_a_moment_and_the_one_before_it(text: str, zone: ZoneInfo, after: datetime) -> None:
    line = parse_cron(text)
    first, second = islice(list_moments(line, zone, after), 2)
    assert after < first < second
    between = first + (second - first) / 2
    assert find_next(line, zone, between) == second


def test_nothing_happens_before_the_moment_also_when_the_clock_was_set_back() -> None:
    line, due = parse_cron("0 9 * * *"), datetime(2026, 5, 4, 6, tzinfo=UTC)
    fired = plan_firing(line, MOSCOW, due, due)
    assert fired == Firing(due=due, missed=0, following=due + timedelta(days=1))
    assert fired.following is not None
    assert plan_firing(line, MOSCOW, fired.following, due - timedelta(hours=2)) is None
    assert plan_firing(line, MOSCOW, fired.following, due) is None


def test_after_a_long_stop_there_is_one_run_for_the_moment_awaited_and_the_later_ones_are_counted() -> None:
    due = datetime(2026, 5, 4, 6, tzinfo=UTC)
    fired = plan_firing(parse_cron("0 9 * * *"), MOSCOW, due, due + timedelta(days=3, hours=1))
    assert fired == Firing(due=due, missed=3, following=due + timedelta(days=4))


@given(first=st.integers(0, 10_000), later=st.integers(0, 10_000))
def test_a_plan_made_again_later_after_a_crash_names_the_same_run(first: int, later: int) -> None:
    line, due = parse_cron("0 9 * * 1-5"), datetime(2026, 5, 4, 6, tzinfo=UTC)
    plans = [plan_firing(line, BERLIN, due, due + timedelta(minutes=minutes)) for minutes in (first, first + later)]
    assert [plan.due for plan in plans if plan is not None] == [due, due]


@pytest.mark.parametrize("days", [30, 3650])
def test_after_a_very_long_stop_counting_ends_and_the_next_moment_is_still_after_now(days: int) -> None:
    due = datetime(2026, 5, 4, 6, tzinfo=UTC)
    now = due + timedelta(days=days, minutes=1)
    fired = plan_firing(parse_cron("*/5 * * * *"), MOSCOW, due, now)
    assert (fired.missed, fired.following) == (MOST_COUNTED, now + timedelta(minutes=4))
