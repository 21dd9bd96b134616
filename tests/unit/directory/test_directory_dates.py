"""A person's «when» becomes one moment, a choice, or a question; bare dates never move."""

from datetime import UTC, date, datetime, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.directory.value_references import format_date_question
from orchestrator.language.date_format import WhenReason
from orchestrator.language.date_parser import (
    Choice,
    Past,
    PastRule,
    Unclear,
    When,
    WhenPurpose,
    format_calendar,
    format_day,
    format_when,
    parse_portal_date,
    parse_when,
    to_bitrix_date,
    to_bitrix_datetime,
)

MOSCOW = "Europe/Moscow"
NOON = datetime(2026, 11, 26, 12, tzinfo=ZoneInfo(MOSCOW))  # a Thursday


def said(text: str, now: datetime = NOON, zone: str = MOSCOW, wanted: WhenPurpose = "deadline", past: PastRule = "refused") -> str:
    """The answer as one comparable string; «~» marks an hour that is ours."""
    match parse_when(text, now=now, zone=zone, purpose=wanted, past=past):
        case When() as when:
            return written(when)
        case Choice(options):
            return " | ".join(map(written, options))
        case Past(value):
            return f"past {written(value)}"
        case Unclear(reason):
            return reason


def written(when: When) -> str:
    """A moment as text, checked to lie on its own day."""
    assert when.at.date() == when.day
    return f"{when.at:%Y-%m-%d %H:%M}{'' if when.has_time else '~'}"


TABLE = """
сегодня                                 2026-11-26 18:00~
завтра                                  2026-11-27 18:00~
послезавтра                             2026-11-28 18:00~
ПОСЛЕЗАВТРА.                            2026-11-28 18:00~
в пятницу                               2026-11-27 18:00~
до пт                                   2026-11-27 18:00~
к понедельнику                          2026-11-30 18:00~
в ближайшую пятницу                     2026-11-27 18:00~
в следующую пятницу                     2026-12-04 18:00~
в пятницу на следующей неделе           2026-12-04 18:00~
на следующей неделе в среду             2026-12-02 18:00~
через неделю в среду                    2026-12-02 18:00~
в четверг                               2026-11-26 18:00~ | 2026-12-03 18:00~
в четверг в 15                          2026-11-26 15:00 | 2026-12-03 15:00
в четверг в 9                           2026-12-03 09:00
на этой неделе                          2026-11-26 18:00~ | 2026-11-27 18:00~
на следующей неделе                     2026-11-30 18:00~ | 2026-12-01 18:00~ | 2026-12-02 18:00~ | 2026-12-03 18:00~ | 2026-12-04 18:00~
через 3 дня                             2026-11-29 18:00~
через три дня                           2026-11-29 18:00~
через день                              2026-11-27 18:00~
через пару дней                         2026-11-28 18:00~
через неделю                            2026-12-03 18:00~
через две недели                        2026-12-10 18:00~
через месяц                             2026-12-26 18:00~
через полгода                           2027-05-26 18:00~
через год                               2027-11-26 18:00~
через полчаса                           2026-11-26 12:30
через час                               2026-11-26 13:00
через 12 часов                          2026-11-27 00:00
до конца дня                            2026-11-26 18:00~
до конца недели                         2026-11-27 18:00~
до конца месяца                         2026-11-30 18:00~
к концу следующего месяца               2026-12-31 18:00~
до конца квартала                       2026-12-31 18:00~
до конца следующего квартала            2027-03-31 18:00~
до конца года                           2026-12-31 18:00~
до конца февраля                        2027-02-28 18:00~
25 декабря                              2026-12-25 18:00~
25-го декабря                           2026-12-25 18:00~
двадцать пятого декабря                 2026-12-25 18:00~
первого декабря                         2026-12-01 18:00~
25 дек. 2027 г.                         2027-12-25 18:00~
25 декабря следующего года              2027-12-25 18:00~
в пятницу 25 декабря                    2026-12-25 18:00~
завтра, в пятницу                       2026-11-27 18:00~
25.12                                   2026-12-25 18:00~
до 25.12 в 15.30                        2026-12-25 15:30
25.12.2026                              2026-12-25 18:00~
25.12.26                                2026-12-25 18:00~
2026-12-25                              2026-12-25 18:00~
25 числа                                2026-12-25 18:00~
26 числа                                2026-11-26 18:00~
к 30-му числу                           2026-11-30 18:00~
15 января                               2027-01-15 18:00~
1 марта                                 2027-03-01 18:00~
в 13                                    2026-11-26 13:00
в 11                                    past 2026-11-26 11:00
в 5                                     2026-11-26 17:00
завтра в 5                              2026-11-27 17:00 | 2026-11-27 05:00
завтра в 5 вечера                       2026-11-27 17:00
вечером завтра в 7                      2026-11-27 19:00
завтра в 7 утра                         2026-11-27 07:00
завтра в 05:00                          2026-11-27 05:00
завтра в 11:30                          2026-11-27 11:30
завтра в 11.30                          2026-11-27 11:30
завтра в 15 часов                       2026-11-27 15:00
завтра в час дня                        2026-11-27 13:00
завтра в три часа дня                   2026-11-27 15:00
завтра на 15 часов                      2026-11-27 15:00
завтра на 3 часа                        which_day
завтра утром                            2026-11-27 10:00
завтра днём                             2026-11-27 15:00
завтра в полдень                        2026-11-27 12:00
завтра после обеда                      2026-11-27 15:00
сегодня вечером                         2026-11-26 19:00
утром                                   past 2026-11-26 10:00
вчера                                   past 2026-11-25 18:00~
25 ноября                               past 2026-11-25 18:00~
1 августа                               past 2026-08-01 18:00~
25.12.2025                              past 2025-12-25 18:00~
25 декабря прошлого года                past 2025-12-25 18:00~
в прошлый четверг                       past 2026-11-19 18:00~
в эту среду                             past 2026-11-25 18:00~
поставь 1,5 млн до пятницы              2026-11-27 18:00~
25 декабря 1500 руб                     2026-12-25 18:00~
перенеси на 25.12, сумма 1.12 млн       2026-12-25 18:00~
в 11 сделках до завтра                  2026-11-27 18:00~
завтра в 12 ночи                        which_hour
ночью                                   which_hour
завтра в половине первого               2026-11-27 12:30
31 февраля                              impossible
29 февраля                              impossible
31 числа                                impossible
завтра в 25:00                          impossible
завтра в 15 утра                        impossible
0000-01-01                              impossible
01.01.0001                              impossible
завтра или послезавтра                  several
завтра с 11:00 до 12:00                 several
с 1 по 5 декабря                        several
в пятницу или в субботу                 several
через 2 часа завтра                     several
в пятницу 24 декабря                    mismatch
каждую пятницу                          repeats
по пятницам                             repeats
в декабре                               which_day
в начале месяца                         which_day
на выходных                             which_day
05/06/2026                              which_day
25 декабря 2062                         too_far
через 100 лет                           too_far
привет                                  no_date
через 1,5 часа                          2026-11-26 13:30
150 000                                 no_date
today                                   2026-11-26 18:00~
tomorrow morning                        2026-11-27 10:00
the day after tomorrow                  2026-11-28 18:00~
on Friday at 3 pm                       2026-11-27 15:00
next Friday                             2026-12-04 18:00~
by Thursday                             2026-11-26 18:00~ | 2026-12-03 18:00~
in 3 days                               2026-11-29 18:00~
in a week                               2026-12-03 18:00~
in half an hour                         2026-11-26 12:30
in half a year                          2027-05-26 18:00~
by the end of the month                 2026-11-30 18:00~
eod                                     2026-11-26 18:00~
Dec 25                                  2026-12-25 18:00~
December 25th, 2026 at 10:15            2026-12-25 10:15
25th of December                        2026-12-25 18:00~
12/25/2026                              2026-12-25 18:00~
noon tomorrow                           2026-11-27 12:00
every Friday                            repeats
half past five tomorrow                 2026-11-27 17:30 | 2026-11-27 05:30
""".strip().splitlines()


@pytest.mark.parametrize("line", TABLE)
def test_words_become_the_moment_they_mean(line: str) -> None:
    """On a Thursday noon each phrase means exactly this, or is asked about for exactly this reason."""
    text, expected = line[:40].strip(), line[40:].strip()
    assert said(text) == expected


PAST_TABLE = """
вчера                     past 2026-11-25 18:00~   2026-11-25 18:00~                       2026-11-25 18:00~
вчера в 15                past 2026-11-25 15:00    2026-11-25 15:00                        2026-11-25 15:00
вчера в 5                 past 2026-11-25 17:00    2026-11-25 17:00 | 2026-11-25 05:00     2026-11-25 17:00 | 2026-11-25 05:00
неделю назад              past 2026-11-19 18:00~   2026-11-19 18:00~                       2026-11-19 18:00~
2 часа назад              past 2026-11-26 10:00    2026-11-26 10:00                        2026-11-26 10:00
в 11                      past 2026-11-26 11:00    past 2026-11-26 11:00                   2026-11-26 11:00
в 3                       2026-11-26 15:00         2026-11-26 15:00                        2026-11-26 03:00
сегодня                   2026-11-26 18:00~        2026-11-26 18:00~                       2026-11-26 12:00~
в пятницу                 2026-11-27 18:00~        2026-11-27 18:00~                       2026-11-20 18:00~
в прошлый вторник         past 2026-11-17 18:00~   2026-11-17 18:00~                       2026-11-17 18:00~
25 ноября                 past 2026-11-25 18:00~   2026-11-25 18:00~                       2026-11-25 18:00~
1 марта                   2027-03-01 18:00~        2027-03-01 18:00~                       2026-03-01 18:00~
завтра                    2026-11-27 18:00~        2026-11-27 18:00~                       2026-11-27 18:00~
2026-11-20T15:00          past 2026-11-20 15:00    2026-11-20 15:00                        2026-11-20 15:00
2026-12-20T12:00:00Z      2026-12-20 15:00         2026-12-20 15:00                        2026-12-20 15:00
2026-02-30T15:00          impossible               impossible                              impossible
""".strip().splitlines()


@pytest.mark.parametrize("line", PAST_TABLE)
def test_what_becomes_of_a_past_meaning_depends_on_what_it_is_for(line: str) -> None:
    """Refused for a deadline; taken where an earlier day was named; and for what took place, words look back themselves."""
    text = line[:26].strip()
    expected = [line[26:51].strip(), line[51:91].strip(), line[91:].strip()]
    assert [said(text, past=past) for past in get_args(PastRule)] == expected


FRIDAY = datetime(2026, 11, 27, 12, tzinfo=ZoneInfo(MOSCOW))
EVENING = FRIDAY.replace(hour=20)


@pytest.mark.parametrize(
    ("text", "now", "wanted", "expected"),
    [
        ("в пятницу", FRIDAY, "deadline", "2026-11-27 18:00~ | 2026-12-04 18:00~"),
        ("в пятницу", EVENING, "deadline", "2026-11-27 23:59~ | 2026-12-04 18:00~"),
        ("в пятницу в 15", EVENING, "deadline", "2026-12-04 15:00"),
        ("в эту пятницу", FRIDAY, "deadline", "2026-11-27 18:00~"),
        ("в следующую пятницу", FRIDAY, "deadline", "2026-12-04 18:00~"),
        ("сегодня", EVENING, "deadline", "past 2026-11-27 18:00~"),
        ("сегодня", EVENING, "day", "2026-11-27 18:00~"),
        ("до конца недели", FRIDAY, "deadline", "2026-11-27 18:00~"),
        ("до конца недели", FRIDAY + timedelta(days=1), "deadline", "2026-11-29 18:00~"),
        ("в следующий понедельник", FRIDAY + timedelta(days=2), "deadline", "2026-11-30 18:00~"),
        ("вчера", EVENING, "day", "past 2026-11-26 18:00~"),
        ("завтра в 5", EVENING, "day", "2026-11-28 17:00"),
    ],
)
def test_on_a_friday_friday_is_two_days(text: str, now: datetime, wanted: WhenPurpose, expected: str) -> None:
    """The own weekday is a choice even in the evening; hours that are over leave it, bare days are judged by the day."""
    assert said(text, now=now, wanted=wanted) == expected


@pytest.mark.parametrize(
    ("text", "today", "expected"),
    [
        ("через месяц", "2027-01-31", "2027-02-28 18:00~"),
        ("через месяц", "2028-01-31", "2028-02-29 18:00~"),
        ("через год", "2028-02-29", "2029-02-28 18:00~"),
        ("29 февраля", "2027-11-20", "2028-02-29 18:00~"),
        ("29 февраля", "2028-02-01", "2028-02-29 18:00~"),
        ("до конца месяца", "2028-02-10", "2028-02-29 18:00~"),
        ("до конца месяца", "2026-12-31", "2026-12-31 18:00~"),
        ("до конца квартала", "2027-03-31", "2027-03-31 18:00~"),
        ("до конца следующего месяца", "2026-12-05", "2027-01-31 18:00~"),
        ("завтра", "2026-12-31", "2027-01-01 18:00~"),
        ("31 числа", "2026-12-05", "2026-12-31 18:00~"),
        ("30 числа", "2027-01-31", "impossible"),
        ("5 числа", "2026-12-31", "2027-01-05 18:00~"),
    ],
)
def test_months_end_where_the_calendar_says(text: str, today: str, expected: str) -> None:
    """Short months, leap days and year ends shift nothing into another month."""
    now = datetime.fromisoformat(f"{today}T09:00").replace(tzinfo=ZoneInfo(MOSCOW))
    assert said(text, now=now) == expected


BERLIN = ZoneInfo("Europe/Berlin")


def test_clock_changes_keep_wall_time_and_real_hours() -> None:
    """Summer time begins on 29 March 2026 and ends on 25 October 2026 in Berlin."""
    spring, autumn = datetime(2026, 3, 28, 23, tzinfo=BERLIN), datetime(2026, 10, 25, 0, tzinfo=BERLIN)
    after = [
        parse_when("завтра в 02:30", now=spring, zone="Europe/Berlin"),  # this time does not exist
        parse_when("завтра", now=spring, zone="Europe/Berlin"),
        parse_when("через 4 часа", now=spring, zone="Europe/Berlin"),
        parse_when("через 4 часа", now=autumn, zone="Europe/Berlin"),
    ]
    assert [to_bitrix_datetime(when.at) for when in after if isinstance(when, When)] == [
        "2026-03-29T03:30:00+02:00",
        "2026-03-29T18:00:00+02:00",
        "2026-03-29T04:00:00+02:00",
        "2026-10-25T03:00:00+01:00",
    ]


def test_the_day_is_the_persons_and_not_the_servers() -> None:
    """«Завтра» counts from the person's date, not from the date in UTC."""
    late = datetime(2026, 11, 26, 21, 30, tzinfo=UTC)  # already Friday in Moscow and in Vladivostok
    assert said("завтра", now=late) == "2026-11-28 18:00~"
    assert said("завтра", now=late, zone="America/New_York") == "2026-11-27 18:00~"
    assert said("завтра", now=late, zone="Asia/Vladivostok") == "2026-11-28 18:00~"


def test_a_naive_now_and_an_unknown_zone_are_the_callers_mistake() -> None:
    """Neither may be answered with a guess."""
    with pytest.raises(ValueError, match="aware"):
        parse_when("завтра", now=NOON.replace(tzinfo=None), zone=MOSCOW)
    with pytest.raises(KeyError):
        parse_when("завтра", now=NOON, zone="Europe/Nowhere")


@pytest.mark.parametrize(
    ("value", "day"),
    [
        ("2026-12-01T03:00:00+03:00", date(2026, 12, 1)),
        ("2026-12-01T02:00:00+02:00", date(2026, 12, 1)),
        ("2026-12-01T23:30:00-08:00", date(2026, 12, 1)),
        ("2026-12-01 00:00:00", date(2026, 12, 1)),
        (" 2026-12-01 ", date(2026, 12, 1)),
    ],
)
def test_a_bare_date_is_its_date_part_whatever_the_offset(value: str, day: date) -> None:
    """CLOSEDATE is never moved by a zone."""
    assert parse_portal_date(value) == day
    assert to_bitrix_date(parse_portal_date(value)) == "2026-12-01"


@pytest.mark.parametrize("value", ["", "01.12.2026", "2026-13-01", "2026-12-01x", "20261201"])
def test_what_is_no_date_is_refused(value: str) -> None:
    """Only a value that begins with an ISO date has a day."""
    with pytest.raises(ValueError, match=r"date|month"):
        parse_portal_date(value)


def test_moments_for_the_portal_carry_their_offset() -> None:
    """The portal never has to guess a zone."""
    assert to_bitrix_datetime(NOON) == "2026-11-26T12:00:00+03:00"
    assert to_bitrix_date(NOON) == "2026-11-26"
    with pytest.raises(ValueError, match="offset"):
        to_bitrix_datetime(NOON.replace(tzinfo=None))


def test_moments_for_people_and_for_the_prompt() -> None:
    """The year stands only where it is not this year; both languages are there."""
    deadline = parse_when("25 декабря", now=NOON, zone=MOSCOW)
    january = parse_when("15 января в 9:05", now=NOON, zone=MOSCOW)
    assert isinstance(deadline, When)
    assert isinstance(january, When)

    assert format_when(deadline, now=NOON) == "пт, 25 декабря, 18:00"
    assert format_when(deadline, now=NOON, locale="en") == "Fri, 25 December, 18:00"
    assert format_when(january, now=NOON) == "пт, 15 января 2027, 09:05"
    assert format_day(january.day, today=NOON.date(), locale="en") == "Fri, 15 January 2027"
    assert format_calendar(NOON, MOSCOW, days=3) == [
        "чт 26.11 (2026-11-26) — сегодня",
        "пт 27.11 (2026-11-27) — завтра",
        "сб 28.11 (2026-11-28)",
    ]
    assert format_calendar(NOON, MOSCOW, locale="en")[0] == "Thu 26.11 (2026-11-26) — today"
    assert len(format_calendar(NOON, MOSCOW)) == 14


def test_every_reason_has_its_question() -> None:
    """The person is asked in the own language."""
    for reason in get_args(WhenReason):
        assert format_date_question(Unclear(reason)) != format_date_question(Unclear(reason), locale="en")


MOMENTS = st.datetimes(min_value=datetime(2026, 1, 1), max_value=datetime(2030, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 — bounds are naive by contract
ZONES = st.sampled_from([MOSCOW, "Europe/Berlin", "Asia/Vladivostok", "America/New_York", "Pacific/Kiritimati"])


@pytest.mark.long
@given(MOMENTS, ZONES, st.integers(min_value=1, max_value=3000))
def test_a_shown_day_reads_back_as_the_same_day(now: datetime, zone: str, ahead: int) -> None:
    """Both written forms with a year mean the same day at 18:00, in every zone and on every day of a clock change."""
    today = now.astimezone(ZoneInfo(zone)).date()
    day = today + timedelta(days=ahead)
    shown = format_day(day, today=today) if day.year != today.year else f"{format_day(day, today=today)} {day.year}"
    for text in (shown, f"{day:%d.%m.%Y}", to_bitrix_date(day), format_day(day, today=date(2000, 1, 1), locale="en")):
        when = parse_when(text, now=now, zone=zone)
        assert isinstance(when, When)
        assert (when.day, when.at.hour, when.has_time) == (day, 18, False)
        assert parse_portal_date(to_bitrix_datetime(when.at)) == day


WORDS = [
    *("в", "до", "на", "через", "2", "31", "25", "12", ".", ":", "-", "/", "пятницу", "завтра", "недели", "месяца", "конца"),
    *("декабря", "2026", "час", "утра", "Friday", "in", "at", "next", "99", "года", "половине", "0"),
]


@pytest.mark.long
@given(st.lists(st.sampled_from(WORDS), max_size=8), st.sampled_from([" ", ""]), MOMENTS, ZONES)
def test_any_words_are_answered(words: list[str], gap: str, now: datetime, zone: str) -> None:
    """No text raises; a When is ahead, a Choice has two to six options ahead, a Past is over."""
    match parse_when(gap.join(words), now=now, zone=zone):
        case When(at=at):
            assert at.astimezone(UTC) >= now.replace(second=0, microsecond=0)
        case Choice(options):
            assert 2 <= len(set(options)) <= 6
            assert all(option.at.astimezone(UTC) >= now for option in options)
        case Past(value):
            assert value.at.astimezone(UTC) < now
        case Unclear(reason):
            assert reason in get_args(WhenReason)
