"""Working days and due moments, in every zone and on the nights when the clocks change."""

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.bootstrap import DATA
from orchestrator.daily.hours import LATEST, MORNING, Workdays, is_quiet, load_workdays, moment, next_slot
from orchestrator.errors import SettingsError

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
        ("2027-12-31", True),
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
    [("yearly: ['13-01']", "month"), ("yearly: [1]", "MM-DD"), ("days: []", "no such key: days"), ("days_off: [tomorrow]", "isoformat"), ("- x", "key"), ("a: [", "")],
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
    slot = next_slot(utc(now), MORNING, zone, workdays=ALL, last=known)
    assert slot is not None
    assert (slot.day, slot.at) == (date.fromisoformat(day), utc(at))


def test_a_calendar_without_working_days_gives_none() -> None:
    never = Workdays(yearly=frozenset((day.month, day.day) for n in range(366) for day in [date(2024, 1, 1) + timedelta(days=n)]))
    assert next_slot(utc("2026-11-23 06:00"), MORNING, "Europe/Moscow", workdays=never, last=0) is None


@settings(max_examples=150, deadline=None)
@given(st.datetimes(datetime(2025, 1, 1), datetime(2028, 1, 1)), st.sampled_from(ZONES), st.lists(st.sampled_from(ZONES), max_size=6))  # noqa: DTZ001 - made aware below
def test_no_day_comes_twice_and_none_too_late_however_somebody_moves(start: datetime, zone: str, moves: list[str]) -> None:
    """Days only grow; what is due is never older than LATEST; without moving no working day is left out."""
    now, last, first = start.replace(tzinfo=UTC), 0, True
    for place in [zone, *moves, zone]:
        slot = next_slot(now, MORNING, place, workdays=ALL, last=last)
        assert slot is not None
        assert slot.day.toordinal() > last
        assert slot.at + LATEST > now
        assert slot.day in ALL
        if not first and not moves:
            assert slot.day.toordinal() - last <= 3
        last, first = slot.day.toordinal(), False
        now = max(now, slot.at)


def test_an_hour_that_summer_time_skips_is_moved_not_lost() -> None:
    assert moment(date(2026, 3, 29), time(2, 30), "Europe/Berlin") == utc("2026-03-29 01:30")


@pytest.mark.parametrize(("at", "quiet"), [("18:00", True), ("04:59", True), ("05:00", False), ("17:59", False)])
def test_nights_are_quiet_in_the_persons_zone(at: str, *, quiet: bool) -> None:
    assert is_quiet(utc(f"2026-11-23 {at}"), "Europe/Moscow") is quiet


def test_weekends_are_quiet_by_the_persons_own_calendar() -> None:
    """Sunday evening in Moscow is Monday morning in Vladivostok."""
    assert is_quiet(utc("2026-11-21 09:00"), "Europe/Moscow")
    assert is_quiet(utc("2026-11-22 23:30"), "Europe/Moscow")
    assert not is_quiet(utc("2026-11-22 23:30"), "Asia/Vladivostok")


SHIPPED = load_workdays(Path(__file__).parents[3] / "data" / "holidays.yaml")


@pytest.mark.parametrize(
    ("day", "lacks"),
    [("2026-11-23", 0), ("2026-12-01", 0), ("2026-12-02", 2027), ("2027-01-11", 2027), ("2027-06-01", 2027), ("2028-03-01", 2028)],
)
def test_a_year_that_nobody_has_listed_is_noticed_a_month_before(day: str, lacks: int) -> None:
    assert SHIPPED.lacks(date.fromisoformat(day)) == lacks
    assert Workdays(yearly=frozenset({(1, 1)})).lacks(date.fromisoformat(day)) == 0


@pytest.mark.parametrize(
    ("day", "worked"),
    [
        ("2027-01-01", False),
        ("2027-01-08", False),
        ("2027-01-11", True),
        ("2027-02-23", False),
        ("2027-03-06", False),
        ("2027-05-10", True),
    ],
)
def test_without_its_list_a_year_has_weekends_and_yearly_holidays(day: str, *, worked: bool) -> None:
    """2027 falls back to what every year has; nothing breaks, and nobody is left without a digest for weeks."""
    assert (date.fromisoformat(day) in SHIPPED) is worked
