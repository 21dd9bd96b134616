"""Working days and due moments, in every zone and on the nights when the clocks change."""

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.composition.installation import DATA
from orchestrator.domain.errors import SettingsError
from orchestrator.language.work_calendar import LATEST, MORNING, Workdays, find_next_slot, is_quiet, load_workdays, to_utc

ALL = Workdays(on=frozenset())
ZONES = ("Europe/Moscow", "Europe/Berlin", "America/New_York", "Asia/Vladivostok", "Pacific/Apia", "Asia/Kathmandu", "America/Santiago")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("day", "works"),
    [
        ("2026-11-20", True),  # a Friday
        ("2026-11-21", False),
        ("2026-11-22", False),
        ("2026-11-04", False),  # a holiday of every year
        ("2027-11-04", False),
        ("2026-01-09", False),  # moved by the government
        ("2026-12-31", False),
        ("2027-12-31", False),
        ("2027-02-20", True),  # a Saturday that the decree gives back
        ("2028-12-29", True),
        ("2026-05-11", False),
        ("2026-03-09", False),
    ],
)
def test_the_shipped_calendar_knows_russias_working_days(day: str, *, works: bool) -> None:
    assert (date.fromisoformat(day) in load_workdays(DATA / "holidays.yaml")) is works


def test_a_weekend_that_is_worked_is_a_working_day() -> None:
    saturday = date(2026, 11, 28)
    assert saturday in Workdays(on=frozenset({saturday}))


@pytest.mark.parametrize(
    ("text", "why"),
    [("yearly: ['13-01']", "month"), ("yearly: [1]", "MM-DD"), ("yearly_moving: ['02-30']", "day"), ("days: []", "no such key: days"), ("days_off: [tomorrow]", "isoformat"), ("- x", "key"), ("a: [", "")],
)  # fmt: skip
def test_a_wrong_calendar_is_one_sentence(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "holidays.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"^holidays.yaml: .*{why}"):
        load_workdays(path)


@pytest.mark.parametrize(
    ("now", "zone", "last", "day", "at"),
    [
        ("2026-11-23 05:59", "Europe/Moscow", "", "2026-11-23", "2026-11-23 06:00"),
        ("2026-11-23 08:59", "Europe/Moscow", "", "2026-11-23", "2026-11-23 06:00"),  # late, and still worth it
        ("2026-11-23 09:00", "Europe/Moscow", "", "2026-11-24", "2026-11-24 06:00"),  # three hours late: skipped
        ("2026-11-23 06:00", "Europe/Moscow", "2026-11-23", "2026-11-24", "2026-11-24 06:00"),  # sent already
        ("2026-11-20 10:00", "Europe/Moscow", "", "2026-11-23", "2026-11-23 06:00"),  # over the weekend
        ("2026-11-23 02:00", "Asia/Vladivostok", "2026-11-23", "2026-11-24", "2026-11-23 23:00"),
        ("2026-11-23 02:00", "Europe/Moscow", "2026-11-23", "2026-11-24", "2026-11-24 06:00"),  # moved west on the same day
        ("2026-10-23 07:00", "Europe/Berlin", "2026-10-23", "2026-10-26", "2026-10-26 08:00"),  # summer time ended on Sunday
        ("2026-03-27 08:00", "Europe/Berlin", "2026-03-27", "2026-03-30", "2026-03-30 07:00"),  # and began
    ],
)
def test_the_next_digest_is_at_nine_of_the_persons_clock(now: str, zone: str, last: str, day: str, at: str) -> None:
    known = date.fromisoformat(last).toordinal() if last else 0
    slot = find_next_slot(utc(now), MORNING, zone, workdays=ALL, last=known)
    assert (slot.day, slot.at) == (date.fromisoformat(day), utc(at))


def test_a_calendar_without_working_days_gives_none() -> None:
    whole = frozenset((day.month, day.day) for n in range(366) for day in [date(2024, 1, 1) + timedelta(days=n)])
    for never in (Workdays(yearly=whole), Workdays(moving=whole)):
        assert find_next_slot(utc("2026-11-23 06:00"), MORNING, "Europe/Moscow", workdays=never, last=0) is None


@settings(max_examples=150, deadline=None)
@given(st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1)), st.sampled_from(ZONES), st.lists(st.sampled_from(ZONES), max_size=6))  # noqa: DTZ001 - made aware below
def test_no_day_comes_twice_and_none_too_late_however_somebody_moves(start: datetime, zone: str, moves: list[str]) -> None:
    """Days only grow; what is due is never older than LATEST; without moving no working day is left out."""
    now, last, first = start.replace(tzinfo=UTC), 0, True
    for place in [zone, *moves, zone]:
        slot = find_next_slot(now, MORNING, place, workdays=ALL, last=last)
        assert slot.day.toordinal() > last
        assert slot.at + LATEST > now
        assert slot.day in ALL
        if not first and not moves:
            assert slot.day.toordinal() - last <= 3
        last, first = slot.day.toordinal(), False
        now = max(now, slot.at)


def test_an_hour_that_summer_time_skips_is_moved_not_lost() -> None:
    assert to_utc(date(2026, 3, 29), time(2, 30), "Europe/Berlin") == utc("2026-03-29 01:30")


@pytest.mark.parametrize(("at", "quiet"), [("18:00", True), ("04:59", True), ("05:00", False), ("17:59", False)])
def test_nights_are_quiet_in_the_persons_zone(at: str, *, quiet: bool) -> None:
    assert is_quiet(utc(f"2026-11-23 {at}"), "Europe/Moscow") is quiet


def test_weekends_are_quiet_by_the_persons_own_calendar() -> None:
    """Sunday evening in Moscow is Monday morning in Vladivostok."""
    assert is_quiet(utc("2026-11-21 09:00"), "Europe/Moscow")
    assert is_quiet(utc("2026-11-22 23:30"), "Europe/Moscow")
    assert not is_quiet(utc("2026-11-22 23:30"), "Asia/Vladivostok")


SHIPPED = load_workdays(Path(__file__).parents[4] / "data" / "holidays.yaml")


@pytest.mark.parametrize(
    ("day", "lacks"),
    [("2026-12-31", 0), ("2027-10-31", 0), ("2027-11-01", 2028), ("2027-12-31", 2028), ("2028-03-01", 2028), ("2028-11-01", 2028)],
)
def test_a_year_that_nobody_has_listed_is_missed_from_november_on(day: str, lacks: int) -> None:
    """The decree is of September or October."""
    assert SHIPPED.find_unlisted_year(date.fromisoformat(day)) == lacks
    assert Workdays(yearly=frozenset({(1, 1)})).find_unlisted_year(date.fromisoformat(day)) == 0


def days(year: int, *numbers: str) -> frozenset[date]:
    return frozenset(date.fromisoformat(f"{year}-{number}") for number in numbers)


DECREED = {
    2023: (days(2023, "02-24", "05-08"), days(2023)),
    2024: (days(2024, "04-29", "04-30", "05-10", "12-30", "12-31"), days(2024, "04-27", "11-02", "12-28")),
    2025: (days(2025, "05-02", "05-08", "06-13", "11-03", "12-31"), days(2025, "02-24", "03-10", "11-01")),
    2026: (days(2026, "01-09", "12-31"), days(2026)),
    2027: (days(2027, "02-22", "11-05", "12-31"), days(2027, "02-20")),
}
"""What the government moved: days off, and days worked all the same (No. 1505 of 2022, 1314 of 2023, 1335 of 2024, 1466 of 2025, 1187 of 2026)."""


@pytest.mark.parametrize(
    ("year", "free", "worked", "count"),
    [  # the days off from Monday to Friday outside of 1 to 8 January, the weekends that are worked, and how many days are worked in all
        (2023, "02-23 02-24 03-08 05-01 05-08 05-09 06-12 11-06", "", 247),
        (2024, "02-23 03-08 04-29 04-30 05-01 05-09 05-10 06-12 11-04 12-30 12-31", "04-27 11-02 12-28", 248),
        (2025, "05-01 05-02 05-08 05-09 06-12 06-13 11-03 11-04 12-31", "11-01", 247),
        (2026, "01-09 02-23 03-09 05-01 05-11 06-12 11-04 12-31", "", 247),
        (2027, "02-22 02-23 03-08 05-03 05-10 06-14 11-04 11-05 12-31", "02-20", 247),
    ],
)
def test_the_law_and_the_decree_make_the_known_calendar_of_a_year(year: int, free: str, worked: str, count: int) -> None:
    """Article 112 is computed, and the decree's differences are data: together they are the official calendar to the day."""
    off, on = DECREED[year]
    calendar = Workdays(yearly=SHIPPED.yearly, moving=SHIPPED.moving, off=off, on=on)
    whole = [date(year, 1, 1) + timedelta(days=ahead) for ahead in range(366 if year == 2024 else 365)]
    assert {day for day in whole if day not in calendar and day.weekday() < 5 and (day.month, day.day) not in SHIPPED.yearly} == days(
        year, *free.split()
    )
    assert {day for day in whole if day in calendar and day.weekday() >= 5} == days(year, *worked.split())
    assert sum(day in calendar for day in whole) == count


@pytest.mark.parametrize("year", [2026, 2027])
def test_the_shipped_days_are_those_of_the_decrees(year: int) -> None:
    off, on = DECREED[year]
    assert {day for day in SHIPPED.off if day.year == year} == off
    assert {day for day in SHIPPED.on if day.year == year} == on


@pytest.mark.parametrize(
    ("day", "worked"),
    [
        ("2028-01-07", False),
        ("2028-01-10", True),
        ("2028-02-23", False),
        ("2028-11-06", False),  # for Saturday the 4th
        ("2028-11-07", True),
        ("2033-01-10", True),  # the weekends of January stay where they are
        ("2033-03-08", False),
        ("2033-05-02", False),  # for Sunday the 1st
        ("2033-06-13", False),
    ],
)
def test_without_its_list_a_year_has_what_the_law_says_by_itself(day: str, *, worked: bool) -> None:
    """2028 and later fall back to it; nothing breaks, and nobody is left without a digest for weeks."""
    assert (date.fromisoformat(day) in SHIPPED) is worked


@pytest.mark.parametrize(
    ("moving", "day"),
    [
        ({(5, 8), (5, 9)}, "2027-05-11"),  # Saturday and Sunday: two days after
        ({(5, 9), (5, 10)}, "2027-05-11"),  # Sunday before a holiday
        ({(12, 31)}, "2023-01-02"),  # into the next year
        ({(2, 29)}, "2032-03-01"),
    ],
)
def test_a_holiday_moves_past_other_holidays_and_into_the_next_year(moving: set[tuple[int, int]], day: str) -> None:
    calendar = Workdays(moving=frozenset(moving))
    moved = date.fromisoformat(day)
    assert moved not in calendar
    assert moved + timedelta(days=1) in calendar
