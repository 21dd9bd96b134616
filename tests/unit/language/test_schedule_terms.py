"""When a schedule is due: what is accepted, and what a wrong request is told."""

from datetime import UTC, datetime, timedelta

import pytest

from orchestrator.language.schedule_terms import FARTHEST, TermsError, check_moment, parse_terms

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def refuse(at: str | None, cron: str | None, zone: str = "Europe/Moscow") -> TermsError:
    """The error of these terms."""
    with pytest.raises(TermsError) as caught:
        parse_terms(at, cron, zone)
    return caught.value


def test_a_moment_is_kept_in_utc_and_a_line_in_its_only_form() -> None:
    assert parse_terms("2026-12-01T09:00:00.5+03:00", None, "UTC").at == datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
    assert parse_terms(None, "  0   9 * * mon", "Asia/Kathmandu").cron == "0 9 * * MON"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "2026-13-01T09:00+03:00",
        "9999-12-31T23:59:59-23:59",
        "2026-12-01T09:00+99:00",
        "1" * 10_000,
        "２０２６-12-01T09:00Z",
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    assert (refuse(text, None).fault, refuse(text, None).param) == ("moment", "at")


def test_a_moment_without_its_offset_is_refused_because_it_may_mean_several() -> None:
    assert refuse("2026-12-01T09:00", None).fault == "naive"


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "../etc/passwd",
        "/etc/passwd",
        "Europe",
        "Europe/Moscow\0",
        "posix/Europe/Moscow",
        "right/UTC",
        "localtime",
        "Z" * 10_000,
        "Москва",
    ],
)
def test_only_plain_names_of_time_zones_are_accepted(zone: str) -> None:
    assert (refuse(None, "0 9 * * *", zone).fault, refuse(None, "0 9 * * *", zone).param) == ("zone", "zone")


def test_exactly_one_of_moment_and_line_is_needed() -> None:
    assert refuse("2026-12-01T09:00Z", "0 9 * * *").fault == "both"
    assert refuse(None, None).fault == "neither"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 9 * * * *", "five fields"),
        ("60 * * * *", "the field minute cannot be '60'"),
        ("*/0 * * * *", "the field minute cannot be '*/0'"),
        ("٣ 9 * * *", "the field minute cannot be '٣'"),
        ("0 0 31 2 *", "never due"),
        ("* * * * *", "1440 times a day"),
        ("1," * 5_000, "10000 characters"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong_with_it(line: str, said: str) -> None:
    error = refuse(None, line)
    assert (error.fault, error.param) == ("cron", "cron")
    assert said in error.detail
    assert error.cron is not None


@pytest.mark.parametrize(
    ("at", "fault"),
    [
        (NOW - timedelta(seconds=59), None),
        (NOW - timedelta(seconds=61), "past"),
        (NOW + FARTHEST, None),
        (NOW + FARTHEST + timedelta(seconds=1), "far"),
        (datetime(9999, 12, 31, tzinfo=UTC), "far"),
    ],
)
def test_a_moment_may_be_just_over_and_not_too_far_ahead(at: datetime, fault: str | None) -> None:
    terms = parse_terms(at.isoformat(), None, "UTC")
    if fault is None:
        check_moment(terms, NOW)
        return
    with pytest.raises(TermsError) as caught:
        check_moment(terms, NOW)
    assert caught.value.fault == fault


def test_the_next_moments_of_a_line_and_of_a_single_moment() -> None:
    daily = parse_terms(None, "0 9 * * *", "Europe/Moscow")
    assert [one.isoformat() for one in daily.list_moments(NOW, 2)] == ["2026-11-22T06:00:00+00:00", "2026-11-23T06:00:00+00:00"]
    once = parse_terms("2026-12-01T09:00Z", None, "UTC")
    assert once.list_moments(NOW) == [once.at] == [once.find_first(NOW)]
    assert once.list_moments(NOW + timedelta(days=30)) == []
    assert once.find_first(NOW + timedelta(days=30)) == once.at, "a moment that is over is late, not gone"
