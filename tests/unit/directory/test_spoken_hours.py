"""An hour that a person speaks is read or asked about; it is never dropped for the end of the day."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from orchestrator.language.date_parser import Choice, Unclear, When, parse_when

NOON = datetime(2026, 11, 26, 12, tzinfo=ZoneInfo("Europe/Moscow"))  # a Thursday
SATURDAY = datetime(2026, 11, 28, 18, 24, tzinfo=ZoneInfo("Europe/Moscow"))

TABLE = """
завтра в три                       15:00 | 03:00
послезавтра в девять               09:00
завтра к двенадцати                12:00
в понедельник в десять тридцать    10:30
завтра в девять сорок пять         09:45
завтра в пять вечера               17:00
завтра в пол одиннадцатого         10:30
завтра в пол-одиннадцатого         10:30
завтра в полодиннадцатого          10:30
завтра в половину одиннадцатого    10:30
завтра в половине первого          12:30
пол третьего завтра                14:30 | 02:30
завтра в полпятого                 16:30 | 04:30
завтра в полшестого вечера         17:30
завтра в 15-30                     15:30
завтра в 9-00                      09:00
завтра в 10-15                     which_hour
завтра без пятнадцати пять         which_hour
завтра без четверти пять           which_hour
завтра в четверть шестого          which_hour
завтра в пятнадцать минут шестого  which_hour
завтра после 15                    15:00
завтра около трех                  15:00 | 03:00
завтра не позже шести вечера       18:00
к десяти часам завтра              10:00
завтра после трёх часов            15:00 | 03:00
завтра в 9 30                      09:30
завтра 15 00                       15:00
15 30 завтра                       15:30
завтра с 10 до 11                  several
завтра с 10:00 до 11:30            several
завтра утречком                    10:00
half past ten tomorrow             10:30
tomorrow around three              15:00 | 03:00
tomorrow after lunch               15:00
half past five tomorrow            17:30 | 05:30
tomorrow at three                  15:00 | 03:00
tomorrow at nine thirty            09:30
quarter to five tomorrow           which_hour
"""


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_a_spoken_hour_is_read_or_asked_about(line: str) -> None:
    words, _, wanted = line.partition("  ")
    assert read_hours(words) == wanted.strip()


@pytest.mark.parametrize(
    "words",
    ["завтра", "через три дня", "в пятницу, в три раза больше", "завтра в двух экземплярах", "завтра в пяти компаниях", "in two days"],
)
def test_a_number_that_is_no_hour_stays_none(words: str) -> None:
    found = parse_when(words, now=NOON, zone="Europe/Moscow")
    assert isinstance(found, When)
    assert not found.has_time


SPANS = """
через минут двадцать       26.11 12:20
минут через двадцать       26.11 12:20
через 20 минут             26.11 12:20
часа через два             26.11 14:00
через полтора часа         26.11 13:30
через час с половиной      26.11 13:30
in an hour and a half      26.11 13:30
недели через две           10.12 18:00
дня через три              29.11 18:00
через час двадцать         several
через час 20               several
на той неделе в среду      02.12 18:00
в среду на той неделе      02.12 18:00
"""


@pytest.mark.parametrize("line", SPANS.strip().splitlines())
def test_a_spoken_span_is_as_long_as_it_was_said(line: str) -> None:
    """The number may stand behind the unit; a part of it is never dropped."""
    words, _, wanted = line.partition("  ")
    found = parse_when(words, now=NOON, zone="Europe/Moscow")
    assert (f"{found.at:%d.%m %H:%M}" if isinstance(found, When) else getattr(found, "reason", found)) == wanted.strip()


NOTHING_DROPPED = """
завтра в 1730                     29.11 17:30
послезавтра к 0930                30.11 09:30
завтра 1730                       which_hour
завтра в 2030                     which_hour
завтра с 10                       29.11 10:00
завтра с 10 до 11                 several
завтра к 9:00-10:00               several
завтра, часов в 10                29.11 10:00
завтро в 19                       which_day
в понидельник в 10                which_day
3 дикабря                         which_day
tomorow at 5 pm                   which_day
tmrw at 7 pm                      which_day
через неделю в это же время       05.12 18:24
через неделю в 10 в это же время  several
не раньше понедельника            which_day
not before monday                 which_day
завтра не раньше 12               29.11 12:00
не позже 5 декабря                05.12 18:00
в ближайшие три дня               which_day
за три дня                        which_day
раз в три дня                     which_day
в течение двух недель             which_day
завтра на 3 часа                  which_day
завтра пораньше                   which_day
завтра первым делом               which_hour
завтра с утра                     29.11 10:00
через 3 рабочих дня               02.12 18:00
через рабочий день                30.11 18:00
через 30 рабочих дней             19.01 18:00
in 5 business days                04.12 18:00
через 900 рабочих дней            too_far
через 1,5 часа                    28.11 19:54
через 1,5 дня                     which_day
до конца дня пятницы              04.12 18:00
в пятницу до конца дня            04.12 18:00
до конца рабочего дня 3 декабря   03.12 18:00
by end of day friday              04.12 18:00
в последний день декабря          31.12 18:00
к последнему дню квартала         31.12 18:00
в последний рабочий день ноября   30.11 18:00
10:00+05:00 завтра                29.11 08:00
завтра в 10:00+19:00              impossible
после праздников                  which_day
"""


@pytest.mark.parametrize("line", NOTHING_DROPPED.strip().splitlines())
def test_no_word_of_a_time_is_dropped_unread(line: str) -> None:
    """It is a Saturday, 18:24: what is not read is asked about, and never becomes another hour or day in silence."""
    words, _, wanted = line.partition("  ")
    found = parse_when(words, now=SATURDAY, zone="Europe/Moscow")
    assert (f"{found.at:%d.%m %H:%M}" if isinstance(found, When) else getattr(found, "reason", found)) == wanted.strip()


def read_hours(words: str) -> str:
    """The hours that the words may mean, or the reason why they are asked about."""
    match parse_when(words, now=NOON, zone="Europe/Moscow"):
        case When(at=at, has_time=True):
            return f"{at:%H:%M}"
        case Choice(options):
            return " | ".join(f"{one.at:%H:%M}" for one in options)
        case Unclear(reason):
            return reason
        case found:
            return f"dropped: {found}"
