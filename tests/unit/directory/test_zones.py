"""Time zones: a person's own, else the portal's, and moments without a zone are the portal's."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from orchestrator.language.time_zones import DEFAULT_ZONE, find_zone, is_zone, parse_moment
from tests.unit.directory.reference_kit import desk


@pytest.mark.parametrize(
    ("hours", "zone"),
    [
        (3, "Europe/Moscow"),
        (5, "Asia/Yekaterinburg"),
        (5.5, "Asia/Kolkata"),
        (0, "Etc/GMT+0"),
        (2, "Etc/GMT-2"),
        (-5, "Etc/GMT+5"),
        (0.1, DEFAULT_ZONE),
    ],
)
def test_an_offset_becomes_a_zone_that_has_it(hours: float, zone: str) -> None:
    """All year; one that no zone has becomes the default."""
    assert find_zone(timedelta(hours=hours)) == zone
    assert find_zone(None) == DEFAULT_ZONE


@pytest.mark.parametrize("name", ["", "Europe", "../etc", "/etc/passwd", "Moon/Base", "Europe/Moscow\0"])
def test_what_is_no_zone_is_refused(name: str) -> None:
    """A folder, a path and nonsense."""
    assert not is_zone(name)


@pytest.mark.parametrize(
    ("text", "hour"),
    [("2024-08-29T10:30:11+03:00", 7), ("2024-08-29 10:30:11", 5), ("2024-08-29T10:30", 5), ("29.08.2024 10:30:11", 5), ("29.08.2024", 19)],
)
def test_a_moment_without_a_zone_is_the_portals(text: str, hour: int) -> None:
    """One with an offset keeps it."""
    found = parse_moment(text, zone="Asia/Yekaterinburg")
    assert found.astimezone(UTC).hour == hour
    assert parse_moment("вчера", zone=DEFAULT_ZONE) is None


@pytest.mark.parametrize(
    ("server", "own", "zone"),
    [
        ("2026-11-21T17:00:00+05:00", "Asia/Yekaterinburg", "Asia/Yekaterinburg"),
        ("2026-11-21T17:00:00+05:00", "Europe/Moscow", "Asia/Yekaterinburg"),
        ("2026-07-21T17:00:00+02:00", "Europe/Berlin", "Europe/Berlin"),
        ("2026-11-21T17:00:00+02:00", "", "Etc/GMT-2"),
        ("2026-11-21T17:00:00+03:00", "Moon/Base", "Europe/Moscow"),
    ],
)
async def test_the_portals_zone_is_that_of_its_server(server: str, own: str, zone: str) -> None:
    """The zone of the webhook's owner gives it a name where it agrees with the server's clock."""
    people = [{"ID": "7", "TIME_ZONE": "Asia/Omsk"}, {"ID": "8", "TIME_ZONE": ""}, {"ID": "9", "TIME_ZONE": "Nowhere"}, {"ID": "6"}]
    answers: dict[str, Any] = {"server.time": server, "profile": {"TIME_ZONE": own}, "user.get": {"result": people, "total": 4}}
    async with desk(answers) as here:
        assert await here.naming.load_portal_zone() == zone
        assert [await here.naming.find_zone(number) for number in (7, 8, 9, 6, None)] == ["Asia/Omsk", zone, zone, zone, zone]
        here.portal.down = True
        here.clock.advance(timedelta(days=1))
        assert await here.naming.find_zone(7) == "Asia/Omsk"
    async with desk({}) as here:
        assert await here.naming.find_zone(7) == DEFAULT_ZONE


def test_the_default_is_a_zone() -> None:
    """And has an offset."""
    assert is_zone(DEFAULT_ZONE)
    assert parse_moment("2026-11-21", zone=DEFAULT_ZONE) == datetime(2026, 11, 20, 21, tzinfo=UTC)
