"""Words for periods of time become exactly the days and times they mean, looking back or ahead, or are asked about."""

import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import get_args
from zoneinfo import ZoneInfo

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from orchestrator.domain.errors import SettingsError
from orchestrator.language.calendar_units import (
    PLACE,
    Unit,
    add_units,
    fill_date_forms,
    find_unit,
    format_bounds,
    list_day_forms,
    list_period_forms,
)
from orchestrator.language.date_format import Choice, Unclear, WhenReason
from orchestrator.language.date_parser import When, parse_when
from orchestrator.language.day_phrase import Anchor, Look
from orchestrator.language.day_words import build_recognisers, find_days
from orchestrator.language.periods import Period, Side, build_forms, parse_period

MOSCOW = "Europe/Moscow"
NOON = datetime(2026, 11, 26, 12, tzinfo=ZoneInfo(MOSCOW))  # a Thursday
PHRASES = [
    (look, *map(str.strip, row.split(" | ")))
    for look, rows in yaml.safe_load((Path(__file__).parents[2] / "corpus" / "date_phrases.yaml").read_text(encoding="utf-8")).items()
    for row in rows
]


def said(text: str, look: Look = "back", now: datetime = NOON, zone: str = MOSCOW, side: Side = "whole") -> str:
    """What the words mean, in the spelling of tests/corpus/date_phrases.yaml."""
    match parse_period(text, now=now, zone=zone, look=look, side=side):
        case Unclear(reason):
            return f"? {reason}"
        case Choice(options):
            assert len(options) == 2
            return "? which_week"
        case Period() as period:
            return written(period)


def written(period: Period) -> str:
    """A moment, a day, or both bounds; the last day of whole days stands there inclusive."""
    if period.has_time:
        start, end = (f"@{bound:%Y-%m-%d %H:%M}" if bound else "" for bound in (period.start, period.end))
    else:
        start = f"{period.start:%Y-%m-%d}" if period.start else ""
        end = f"{period.end.date() - timedelta(days=1)}" if period.end else ""
    return start if start == end else f"{start}..{end}"


@pytest.mark.parametrize(("look", "words", "meaning"), PHRASES, ids=[f"{look}: {words}" for look, words, _ in PHRASES])
def test_words_of_a_sales_day_mean_what_people_mean(look: Look, words: str, meaning: str) -> None:
    """Each phrase in both languages, on a Thursday noon."""
    assert said(words, look) == meaning


@pytest.mark.parametrize(
    ("words", "side", "meaning"),
    [
        ("до вчера", "end", "2026-11-25"),
        ("until yesterday", "end", "2026-11-25"),
        ("до конца недели", "end", "2026-11-29"),
        ("конец прошлого месяца", "end", "2026-10-31"),
        ("по 15 октября", "end", "..2026-10-15"),
        ("до вчера", "start", "? which_bound"),
        ("с понедельника", "end", "? which_bound"),
        ("с понедельника", "start", "2026-11-23..2026-11-26"),
        ("после 1 октября", "start", "2026-10-02..2026-11-26"),
        ("с утра", "start", "2026-11-26"),
        ("начало прошлого квартала", "start", "2026-07-01"),
        ("the beginning of the year", "start", "2026-01-01"),
        ("до 18:00", "end", "@2026-11-26 18:00"),
    ],
)
def test_where_one_bound_is_wanted_the_preposition_must_fit_it(words: str, side: Side, meaning: str) -> None:
    """«До вчера» names the day for an upper bound, and is nonsense for a lower one."""
    assert said(words, side=side) == meaning


@pytest.mark.parametrize(
    ("words", "now", "meaning"),
    [
        ("прошлая неделя", "2027-01-04", "2026-12-28..2027-01-03"),
        ("прошлая неделя", "2027-01-03", "2026-12-21..2026-12-27"),
        ("эта неделя", "2027-01-01", "2026-12-28..2027-01-03"),
        ("2026-W53", "2027-01-04", "2026-12-28..2027-01-03"),
        ("2025-W53", "2026-01-04", "? impossible"),
        ("прошлый месяц", "2027-01-15", "2026-12-01..2026-12-31"),
        ("прошлый квартал", "2027-02-15", "2026-10-01..2026-12-31"),
        ("месяц назад", "2027-03-31", "2027-02-28"),
        ("месяц назад", "2028-03-31", "2028-02-29"),
        ("год назад", "2028-02-29", "2027-02-28"),
        ("февраль", "2028-03-01", "2028-02-01..2028-02-29"),
        ("29 февраля", "2028-02-29", "2028-02-29"),
        ("29 февраля", "2028-02-28", "2024-02-29"),
        ("30 числа", "2027-03-15", "2027-01-30"),
        ("с 28 по 29 февраля", "2027-03-01", "? order"),
        ("с 15 декабря по 15 января", "2027-01-20", "2026-12-15..2027-01-15"),
        ("с 15 декабря по 15 января", "2027-01-05", "2026-12-15..2027-01-15"),
        ("в понедельник", "2026-11-29", "2026-11-23"),
        ("в понедельник", "2026-11-30", "? which_week"),
        ("с начала года", "2027-01-01", "2027-01-01"),
        ("на выходных", "2026-11-29", "2026-11-28..2026-11-29"),
        ("на выходных", "2026-11-30", "2026-11-28..2026-11-29"),
        ("в декабре", "2026-12-01", "2026-12-01..2026-12-31"),
        ("четвёртый квартал", "2026-09-30", "2025-10-01..2025-12-31"),
    ],
)
def test_the_same_words_at_other_clocks(words: str, now: str, meaning: str) -> None:
    """Ends of years and months, leap days, Mondays and Sundays."""
    assert said(words, now=datetime.fromisoformat(f"{now}T09:00").replace(tzinfo=ZoneInfo(MOSCOW))) == meaning


def test_a_day_of_a_clock_change_has_its_own_midnights() -> None:
    """Summer time ends on 25 October 2026 in Berlin: that day has 25 hours. In Beirut midnight itself is skipped on 29 March 2026."""
    berlin = parse_period("25 октября", now=NOON, zone="Europe/Berlin", look="back")
    beirut = parse_period("29 марта", now=NOON, zone="Asia/Beirut", look="back")

    assert isinstance(berlin, Period)
    assert berlin.start is not None
    assert berlin.end is not None
    assert (berlin.start.isoformat(), berlin.end.isoformat()) == ("2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00")
    assert berlin.end.astimezone(UTC) - berlin.start.astimezone(UTC) == timedelta(hours=25)
    assert isinstance(beirut, Period)
    assert beirut.start is not None
    assert beirut.start.isoformat() == "2026-03-29T01:00:00+03:00"


def test_the_day_is_the_persons_and_not_the_servers() -> None:
    """Late in the evening in UTC it is already the next day in Vladivostok, and there the next week."""
    late = datetime(2026, 11, 29, 21, 30, tzinfo=UTC)  # a Sunday in London, Monday in Moscow and Vladivostok

    assert said("вчера", now=late, zone="Asia/Vladivostok") == "2026-11-29"
    assert said("вчера", now=late, zone="America/New_York") == "2026-11-28"
    assert said("прошлая неделя", now=late, zone="Asia/Vladivostok") == "2026-11-23..2026-11-29"
    assert said("прошлая неделя", now=late, zone="America/New_York") == "2026-11-16..2026-11-22"


def test_the_callers_mistakes_are_errors() -> None:
    """A clock without a zone and an unknown zone may not be answered with a guess."""
    with pytest.raises(ValueError, match="aware"):
        parse_period("вчера", now=NOON.replace(tzinfo=None), zone=MOSCOW, look="back")
    with pytest.raises(KeyError):
        parse_period("вчера", now=NOON, zone="Europe/Nowhere", look="back")


MOMENTS = st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 — bounds are naive by contract
ZONES = st.sampled_from(
    [MOSCOW, "Europe/Berlin", "Asia/Vladivostok", "America/New_York", "Pacific/Kiritimati", "Asia/Beirut", "Pacific/Apia"]
)
LOOKS = st.sampled_from(get_args(Look))
SIDES = st.sampled_from(get_args(Side))


@given(st.sampled_from(PHRASES), MOMENTS, ZONES)
def test_a_period_never_ends_before_it_begins(phrase: tuple[Look, str, str], now: datetime, zone: str) -> None:
    """At any clock in any zone: whole days begin and end at a midnight, and what looks back does not begin in the future."""
    look, words, _ = phrase
    found = parse_period(words, now=now, zone=zone, look=look)
    if not isinstance(found, Period):
        assert not isinstance(found, Unclear) or found.reason in get_args(WhenReason)
        return
    if found.start is not None and found.end is not None:
        assert found.start < found.end or found.is_moment
    if not found.has_time:
        for bound in filter(None, (found.start, found.end)):
            # where the clocks skip midnight, the day begins an hour later
            assert (bound.hour, bound.minute) == (0, 0) or (bound - timedelta(hours=1, minutes=1)).date() < bound.date()


WORDS = [
    *("с", "по", "до", "за", "в", "1", "15", "31", "2026", "-", "..", "октября", "мая", "февраля", "понедельника", "вчера", "прошлый"),
    *("последние", "дней", "недели", "месяца", "квартал", "год", "года", "назад", "начала", "конец", "третий", "between", "and", "to"),
    *("from", "last", "past", "ago", "since", "week", "Q3", "29.02", "2026-02-29", "10:00", "999", "выходные", "не"),
]


@pytest.mark.long
@given(st.lists(st.sampled_from(WORDS), max_size=7), MOMENTS, ZONES, LOOKS, SIDES)
@example(["999", "года", "назад"], NOON, MOSCOW, "back", "whole")
def test_any_words_are_answered(words: list[str], now: datetime, zone: str, look: Look, side: Side) -> None:
    """No text raises, and no period is turned round."""
    found = parse_period(" ".join(words), now=now, zone=zone, look=look, side=side)
    if isinstance(found, Period) and found.start is not None and found.end is not None:
        assert found.start <= found.end


@pytest.mark.long
@given(MOMENTS, st.integers(min_value=0, max_value=3000), ZONES)
def test_written_days_are_read_as_these_days_in_either_direction(now: datetime, ago: int, zone: str) -> None:
    """A full date is that day, whichever way words look; without its year, looking back never finds a day to come."""
    day = now.astimezone(ZoneInfo(zone)).date() - timedelta(days=ago)
    for look in get_args(Look):
        assert said(day.isoformat(), look, now, zone) == said(f"{day:%d.%m.%Y}", look, now, zone) == day.isoformat()
    short = parse_period(f"{day:%d.%m}", now=now, zone=zone, look="back")
    assert isinstance(short, Period)
    assert short.start is not None
    assert short.start <= now


@given(st.dates(min_value=date(1990, 1, 1), max_value=date(2060, 1, 1)), st.sampled_from(get_args(Unit)), st.integers(-30, 30))
def test_units_follow_each_other_without_gap(day: date, unit: Unit, shift: int) -> None:
    """Each begins where the one before ends, and the present one has the day."""
    first, stop = find_unit(unit, day, shift)
    assert first < stop == find_unit(unit, day, shift + 1)[0]
    assert find_unit(unit, day)[0] <= day < find_unit(unit, day)[1]
    assert add_units(unit, first, 1) == stop


def test_the_prompt_is_told_the_bounds_of_this_and_the_last_units() -> None:
    """Weeks begin on Monday; the last day belongs to the unit."""
    assert format_bounds(date(2026, 1, 2)) == {
        "this week": "2025-12-29..2026-01-04",
        "this month": "2026-01-01..2026-01-31",
        "this quarter": "2026-01-01..2026-03-31",
        "this year": "2026-01-01..2026-12-31",
        "last week": "2025-12-22..2025-12-28",
        "last month": "2025-12-01..2025-12-31",
        "last quarter": "2025-10-01..2025-12-31",
        "last year": "2025-01-01..2025-12-31",
    }


SHOWN = [
    (kind, one)
    for kind, forms in (("days", list_day_forms()), ("periods", list_period_forms()))
    for row in forms.values()
    for one in row.split(", ")
    if one
]


@pytest.mark.parametrize(("kind", "words"), SHOWN)
def test_every_form_that_the_prompt_lists_is_read(kind: str, words: str) -> None:
    """Days also in a deadline: as a day, or as one that is over."""
    sides: tuple[Side, ...] = get_args(Side)
    found = [parse_period(words, now=NOON, zone=MOSCOW, look="back", side=side) for side in sides]
    assert any(isinstance(one, Period) for one in found)
    if kind == "days":
        assert not isinstance(parse_when(words, now=NOON, zone=MOSCOW), Unclear)


def test_the_forms_have_their_place_in_the_prompt() -> None:
    """Once, and nothing of the place is left when they stand there."""
    protocol = (Path(__file__).parents[3] / "data" / "agent" / "protocol.md").read_text(encoding="utf-8")
    assert protocol.count(PLACE) == 1
    filled = fill_date_forms(protocol)
    assert PLACE not in filled
    assert all(words in filled for _, words in SHOWN)


@pytest.mark.parametrize(("form", "words"), [("month", "May 2025"), ("unit", "прошлый месяц"), ("quarter_sign", "Q3 2025")])
def test_a_form_struck_from_the_table_is_neither_read_nor_offered(form: str, words: str) -> None:
    """The parser and the prompt go by the same rows."""
    rows = {name: shown for name, shown in list_period_forms().items() if name != form}
    assert any(pattern.fullmatch(words.lower()) for pattern, _ in build_forms(list_period_forms()))
    assert not any(pattern.fullmatch(words.lower()) for pattern, _ in build_forms(rows))
    assert words in fill_date_forms(PLACE)
    assert words not in fill_date_forms(PLACE, periods=rows)


def test_a_form_of_days_struck_from_the_table_is_not_read() -> None:
    """And a name in the table that the program does not know is a mistake of the file."""
    rows = {name: shown for name, shown in list_day_forms().items() if name != "span_ago"}
    anchor = Anchor(NOON.date(), "back")
    assert find_days("неделю назад", anchor)[0]
    assert not find_days("неделю назад", anchor, build_recognisers(rows))[0]
    assert "неделю назад" not in fill_date_forms(PLACE, days=rows)
    for build in (build_forms, build_recognisers):
        with pytest.raises(SettingsError, match=r"date_forms\.yaml"):
            build(["nothing"])


HOSTILE = [
    *("с " * 99, "1 " * 99, "с 1 по " * 28, "1-" * 99, "a - " * 49, "прошлый " * 24, "начало " * 28, "между и " * 24, "." * 200, "9" * 200),
    *("с " * 100_000, "1.1." * 50, "двадцать " * 20, "за последние " * 15, "\u0301" * 100_000, "1 октября " * 20, "года " * 40),
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:12] for text in HOSTILE])
def test_hostile_text_is_answered_at_once(text: str) -> None:
    """Within 50 ms of computing time, in the best of three goes: what else the machine does is no part of it."""

    def measure() -> float:
        began = time.process_time()
        assert not isinstance(parse_period(text, now=NOON, zone=MOSCOW, look="back"), Choice)
        assert not isinstance(parse_when(text, now=NOON, zone=MOSCOW), When)
        return time.process_time() - began

    assert min(measure() for _ in range(3)) < 0.05
