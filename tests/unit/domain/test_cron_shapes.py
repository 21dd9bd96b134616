"""Which cron lines can be told in words, and that a shape says exactly when the line is due."""

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.cron_lines import CronError, CronShape, find_shape, list_moments, parse_cron


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("0 9 * * *", CronShape(kind="daily", times=((9, 0),))),
        ("30 9,18 * * *", CronShape(kind="daily", times=((9, 30), (18, 30)))),
        ("0 9 * * 0-7", CronShape(kind="daily", times=((9, 0),))),
        ("0 9 * * MON-FRI", CronShape(kind="workdays", times=((9, 0),), weekdays=(1, 2, 3, 4, 5))),
        ("0 9 * * 0,6", CronShape(kind="weekly", times=((9, 0),), weekdays=(6, 7))),
        ("0 9 1 * *", CronShape(kind="monthly", times=((9, 0),), days=(1,))),
        ("0 9 31 * *", CronShape(kind="monthly", times=((9, 0),), days=(31,))),
        ("0 9 L * *", CronShape(kind="month_end", times=((9, 0),))),
        ("5 * * * *", CronShape(kind="hours", every=1, minute=5)),
        ("30 */2 * * *", CronShape(kind="hours", every=2, minute=30)),
        ("*/15 * * * *", CronShape(kind="minutes", every=15)),
    ],
)
def test_usual_lines_have_a_shape(text: str, shape: CronShape) -> None:
    assert find_shape(parse_cron(text)) == shape


@pytest.mark.parametrize(
    "text",
    [
        "0 9 1 * 1",  # the first of the month and each Monday
        "0 9 1-31 * 1",
        "0 9 * * MON#1",
        "0 9 * * 5L",
        "0 9 LW * *",
        "0 9 1,L * *",
        "0 9 29 2 *",
        "0 9-18 * * 1-5",
        "15,45 * * * *",
        "0 9 */2 * *",
        "*/7 * * * *",
    ],
)
def test_other_lines_have_none(text: str) -> None:
    assert find_shape(parse_cron(text)) is None


FIELDS = (
    st.sampled_from(["0", "30", "*/5", "*/20", "0,30", "5-10"]),
    st.sampled_from(["9", "*", "*/2", "*/3", "9,18", "0-23", "1-5"]),
    st.sampled_from(["*", "1", "15", "L", "31", "1-31", "*/2", "1,15", "LW"]),
    st.sampled_from(["*", "1", "1-12", "*/2"]),
    st.sampled_from(["*", "1", "1-5", "0,6", "0-7", "MON#2", "*/2", "5L"]),
)


@settings(max_examples=200, deadline=None)
@given(fields=st.tuples(*FIELDS))
def test_a_shape_tells_every_moment_of_the_line_and_no_other(fields: tuple[str, ...]) -> None:
    """Compared over seventy days, with a second reading of what the shape says."""
    try:
        line = parse_cron(" ".join(fields))
    except CronError:
        return
    shape = find_shape(line)
    if shape is None:
        return
    begin = datetime(2027, 1, 1, tzinfo=UTC)
    end = begin + timedelta(days=70)
    due = list(takewhile(lambda moment: moment < end, list_moments(line, ZoneInfo("UTC"), begin)))
    minutes = (begin + timedelta(minutes=number) for number in range(1, 70 * 24 * 60))
    assert due == [moment for moment in minutes if _is_told(shape, moment)]


def _is_told(shape: CronShape, moment: datetime) -> bool:
    match shape.kind:
        case "minutes":
            return moment.minute % shape.every == 0
        case "hours":
            return moment.minute == shape.minute and moment.hour % shape.every == 0
        case "workdays" | "weekly":
            is_day = moment.isoweekday() in shape.weekdays
        case "monthly":
            is_day = moment.day in shape.days
        case "month_end":
            is_day = (moment + timedelta(days=1)).day == 1
        case "daily":
            is_day = True
    return is_day and (moment.hour, moment.minute) in shape.times
