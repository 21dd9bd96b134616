"""The stretches of time of a report, to the second."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.analytics.stretches import Clock, Stretch, UnclearStretch, find_compared, list_keys, list_offsets, read_stretch

MOSCOW = Clock(datetime(2026, 11, 28, 15, 0, tzinfo=UTC), "Europe/Moscow")


def show(stretch: Stretch) -> tuple[str, str]:
    assert stretch.start is not None
    assert stretch.end is not None
    return stretch.start.strftime("%Y-%m-%d %H:%M:%S"), stretch.end.strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("words", "how", "first", "stop"),
    [
        ("этот квартал", "previous", "2026-07-01 00:00:00", "2026-08-28 18:00:01"),
        ("этот месяц", "previous", "2026-10-01 00:00:00", "2026-10-28 18:00:01"),
        ("этот месяц", "year_ago", "2025-11-01 00:00:00", "2025-11-28 18:00:01"),
        ("этот год", "previous", "2025-01-01 00:00:00", "2025-11-28 18:00:01"),
        ("прошлый месяц", "previous", "2026-09-01 00:00:00", "2026-10-01 00:00:00"),
        ("прошлый квартал", "year_ago", "2025-07-01 00:00:00", "2025-10-01 00:00:00"),
        ("эта неделя", "previous", "2026-11-16 00:00:00", "2026-11-21 18:00:01"),
        ("прошлая неделя", "previous", "2026-11-09 00:00:00", "2026-11-16 00:00:00"),
        ("прошлая неделя", "year_ago", "2025-11-17 00:00:00", "2025-11-24 00:00:00"),
        ("сегодня", "previous", "2026-11-27 00:00:00", "2026-11-27 18:00:01"),
        ("с 1 по 15 ноября", "previous", "2026-10-17 00:00:00", "2026-11-01 00:00:00"),
        ("с 1 по 14 ноября", "year_ago", "2025-11-01 00:00:00", "2025-11-15 00:00:00"),
        ("с 28 по 28 февраля 2024", "year_ago", "2023-02-28 00:00:00", "2023-03-01 00:00:00"),
        ("с 10 по 29 февраля 2024", "year_ago", "2023-02-10 00:00:00", "2023-03-01 00:00:00"),
        ("февраль 2025", "year_ago", "2024-02-01 00:00:00", "2024-03-01 00:00:00"),
        ("февраль 2024", "year_ago", "2023-02-01 00:00:00", "2023-03-01 00:00:00"),
        ("март 2026", "previous", "2026-02-01 00:00:00", "2026-03-01 00:00:00"),
    ],
)
def test_as_much_of_the_other_period_as_has_passed_of_this_one(words: str, how: Any, first: str, stop: str) -> None:
    assert show(find_compared(read_stretch(f"@date:{words}", MOSCOW, "back"), how, MOSCOW)) == (first, stop)


def test_a_longer_month_never_reaches_into_the_next() -> None:
    clock = Clock(datetime(2026, 3, 30, 12, 0, tzinfo=UTC), "Europe/Moscow")
    assert show(find_compared(read_stretch("этот месяц", clock, "back"), "previous", clock)) == (
        "2026-02-01 00:00:00",
        "2026-03-01 00:00:00",
    )


def test_days_have_23_and_25_hours_where_clocks_change() -> None:
    assert list_offsets("Europe/Berlin", 2026, 2026)[1:] == ((1774746000, 7200), (1792890000, 3600))
    assert len(set(list_offsets("Europe/Moscow", 2015, 2026))) == 1
    assert list_keys("week", datetime(2026, 11, 28, tzinfo=UTC).date(), datetime(2026, 12, 1, tzinfo=UTC).date()) == (
        "2026-11-23",
        "2026-11-30",
    )


def test_the_present_second_belongs_to_what_is_counted_up_to_now() -> None:
    stretch = read_stretch("этот месяц", MOSCOW, "back")
    assert stretch.find_bounds(MOSCOW, is_cut=True)[1] == MOSCOW.second + 1
    assert stretch.is_unfinished(MOSCOW)


@pytest.mark.parametrize(
    "words",
    ["@date:", "", 5, None, [], {"from": "x"}, {"from": "2026-11-02", "to": "2026-11-01"}, {}, {"since": "2026-01-01"}, "когда-нибудь"],
)
def test_what_is_no_period_says_what_is(words: Any) -> None:
    with pytest.raises(UnclearStretch):
        read_stretch(words, MOSCOW, "back")
