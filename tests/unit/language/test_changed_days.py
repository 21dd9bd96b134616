"""Words beside a day that make it another one are read, or the person is asked; they are never dropped."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from orchestrator.language.date_parser import Choice, Past, Unclear, When, parse_when
from orchestrator.language.period_scope import Period
from orchestrator.language.periods import parse_period
from orchestrator.language.request_words import strip_value_words

MOSCOW = "Europe/Moscow"
THURSDAY = datetime(2026, 11, 5, 12, tzinfo=ZoneInfo(MOSCOW))
SATURDAY = datetime(2026, 11, 28, 12, tzinfo=ZoneInfo(MOSCOW))


def read(words: str, now: datetime = THURSDAY, zone: str = MOSCOW) -> str:
    """What the words mean, as text."""
    match parse_when(words, now=now, zone=zone):
        case When(_, at, _):
            return f"{at:%Y-%m-%d %H:%M}"
        case Choice(options):
            return " | ".join(f"{one.at:%Y-%m-%d %H:%M}" for one in options)
        case Past(value):
            return f"past {value.at:%Y-%m-%d}"
        case Unclear(reason):
            return reason


IN_A_MONTH = """
в первый понедельник декабря      2026-12-07 18:00
во вторую пятницу декабря в 11    2026-12-11 11:00
1-й понедельник января            2027-01-04 18:00
в последнюю пятницу месяца        2026-11-27 18:00
в последнюю пятницу следующего месяца    2026-12-25 18:00
the last friday of december       2026-12-25 18:00
first monday of next month        2026-12-07 18:00
третий вторник                    which_day
15-го числа следующего месяца     2026-12-15 18:00
15 следующего месяца              2026-12-15 18:00
20 числа января                   2027-01-20 18:00
в пятницу, 13-го                  2026-11-13 18:00
в пятницу, 11-го                  mismatch
до 25-го                          2026-11-25 18:00
31-го                             impossible
"""


@pytest.mark.parametrize("line", IN_A_MONTH.strip().splitlines())
def test_a_day_is_found_by_its_place_in_a_month(line: str) -> None:
    words, _, wanted = line.partition("  ")
    assert read(words) == wanted.strip()


@pytest.mark.parametrize(
    "words",
    [
        "за день до пятницы",
        "за 2 дня до 10 декабря",
        "за неделю до конца года",
        "на следующий день после пятницы",
        "после пятницы",
        "после 5 декабря",
        "через 2 дня после оплаты",
        "через неделю с понедельника",
        "кроме пятницы",
        "не в пятницу, а в субботу",
        "через пятницу",
        "через одну пятницу",
        "в пятницу, через одну",
        "через неделю-две",
        "в пн-вт",
        "завтра между 10 и 11",
        "5 и 7 декабря",
        "через 2 недели и 3 дня",
        "через неделю и два дня",
        "a week from friday",
        "two days before friday",
        "friday after next",
    ],
)
def test_a_day_with_words_that_move_it_is_asked_about(words: str) -> None:
    assert isinstance(parse_when(words, now=THURSDAY, zone=MOSCOW), Unclear), read(words)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("не позже пятницы", "2026-11-06 18:00"),
        ("завтра после обеда", "2026-11-06 15:00"),
        ("завтра после 15", "2026-11-06 15:00"),
        ("завтра не раньше 12", "2026-11-06 12:00"),
        ("the day after tomorrow", "2026-11-07 18:00"),
        ("через час с половиной", "2026-11-05 13:30"),
        ("через 1 час 30 минут", "2026-11-05 13:30"),
        ("in 2 hours and 15 minutes", "2026-11-05 14:15"),
        ("поставь 1,5 млн до пятницы", "2026-11-06 18:00"),
    ],
)
def test_other_words_beside_a_day_leave_it(words: str, wanted: str) -> None:
    assert read(words) == wanted


def test_the_end_of_next_week_is_its_friday_on_a_saturday_too() -> None:
    assert read("в конце следующей недели", SATURDAY) == "2026-12-04 18:00"
    assert read("в конце следующей недели") == "2026-11-13 18:00"


@pytest.mark.parametrize(
    ("words", "moscow", "yekaterinburg"),
    [
        ("завтра в 10", "2026-11-06 10:00", "2026-11-06 10:00"),
        ("завтра в 10 по мск", "2026-11-06 10:00", "2026-11-06 12:00"),
        ("завтра в 10 (мск)", "2026-11-06 10:00", "2026-11-06 12:00"),
        ("tomorrow 10am Moscow time", "2026-11-06 10:00", "2026-11-06 12:00"),
        ("завтра в 10 по Владивостоку", "2026-11-06 03:00", "2026-11-06 05:00"),
        ("завтра в 10:00 UTC", "2026-11-06 13:00", "2026-11-06 15:00"),
        ("завтра в 10 GMT+5", "2026-11-06 08:00", "2026-11-06 10:00"),
        ("завтра в 10 мск+2", "2026-11-06 08:00", "2026-11-06 10:00"),
        ("завтра в 1 по мск", "2026-11-06 13:00 | 2026-11-06 01:00", "2026-11-06 15:00 | 2026-11-06 03:00"),
        ("сегодня в 23:30 по мск", "2026-11-05 23:30", "2026-11-06 01:30"),
        ("завтра в 10 по времени клиента", "which_hour", "which_hour"),
        ("завтра в 10 по местному", "which_hour", "which_hour"),
        ("завтра в 10 GMT+25", "impossible", "impossible"),
        ("завтра в 10 по проекту", "2026-11-06 10:00", "2026-11-06 10:00"),
    ],
)
def test_an_hour_counts_in_the_zone_that_was_named_with_it(words: str, moscow: str, yekaterinburg: str) -> None:
    """«Завтра» stays the person's own day."""
    assert read(words) == moscow
    assert read(words, zone="Asia/Yekaterinburg") == yekaterinburg


def test_the_hour_of_a_filter_counts_in_its_zone_too() -> None:
    found = parse_period("вчера в 10 по мск", now=THURSDAY, zone="Asia/Yekaterinburg", look="back")
    assert isinstance(found, Period)
    assert found.start is not None
    assert f"{found.start:%Y-%m-%d %H:%M %z}" == "2026-11-04 12:00 +0500"


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("не 5, а 50 тысяч", "50 тысяч"),
        ("нет, не 500, а 550", "550"),
        ("не в пятницу, а в субботу", "в субботу"),
        ("не Борис, а Вера", "Вера"),
        ("только 50 тысяч", "50 тысяч"),
        ("ок, но 10 тысяч", "10 тысяч"),
        ("не 5 и не 10", "не 5 и не 10"),
    ],
)
def test_the_new_value_of_a_correction_is_left(said: str, value: str) -> None:
    assert strip_value_words(said) == value
