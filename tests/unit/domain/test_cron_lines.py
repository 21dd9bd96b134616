"""Cron lines: what is accepted, and which error a wrong line gets."""

import pytest

from orchestrator.domain.cron_lines import LONGEST, CronError, parse_cron


@pytest.mark.parametrize("text", ["0 9 * * 1-5", "0 9 * * mon-fri", "*/5 * * * *", "0 0 29 2 *", "0 9 L * *", "0 9 * * MON#1"])
def test_a_line_that_fires_is_accepted(text: str) -> None:
    assert parse_cron(text).text == text.upper()


def test_a_line_is_kept_in_one_form() -> None:
    assert parse_cron("  0   9 * *\tmon ") == parse_cron("0 9 * * MON")


@pytest.mark.parametrize(
    ("text", "field", "written"),
    [
        ("61 * * * *", "minute", "61"),
        ("0 24 * * *", "hour", "24"),
        ("0 0 32 * *", "day", "32"),
        ("0 0 0 * *", "day", "0"),
        ("0 0 1 13 *", "month", "13"),
        ("0 0 * * FOO", "weekday", "FOO"),
        ("*/0 * * * *", "minute", "*/0"),
        ("5-1 * * * *", "minute", "5-1"),
        ("0 -1 * * *", "hour", "-1"),
        ("² 0 * * *", "minute", "²"),
        ("٣ 0 * * *", "minute", "٣"),
        ("0 0,,1 * * *", "hour", "0,,1"),
        ("0 999999999999999999999999 * * *", "hour", "999999999999999999999999"),
    ],
)
def test_a_wrong_field_is_named_with_what_stands_there(text: str, field: str, written: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    assert (caught.value.fault, caught.value.field, caught.value.written) == ("field", field, written)


@pytest.mark.parametrize("text", ["", "@daily", "0 9 * *", "0 0 9 * * *", "каждый день"])
def test_a_line_without_five_fields_is_refused_with_their_number(text: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    assert (caught.value.fault, caught.value.count) == ("fields", len(text.split()))


@pytest.mark.parametrize("text", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 */2"])
def test_a_line_that_never_fires_is_refused_with_that_reason(text: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    assert caught.value.fault == "never"


@pytest.mark.parametrize(("text", "count"), [("* * * * *", 1440), ("*/4 * * * *", 360), ("* 9-17 * * *", 540)])
def test_a_line_that_fires_too_often_is_refused_with_how_often_it_would(text: str, count: int) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(text)
    assert (caught.value.fault, caught.value.count) == ("often", count)


def test_a_line_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(CronError) as caught:
        parse_cron("0 9 * * " + "1," * LONGEST + "1")
    assert caught.value.fault == "length"
