"""A package adds types of steps by an entry point, and the engine, its checks and its documentation know them like their own."""

import logging
import sys
from datetime import date
from pathlib import Path

import pytest

from engines.scenarios.core.checks import check_scenario
from engines.scenarios.core.registry import build_step_types, load_plugins
from orchestrator.documents.document import Document
from tests.unit.engines.scenarios.scenario_kit import TYPES, a_scenario_world, say, scenario, start, texts

EXAMPLE = Path(__file__).parents[4] / "examples" / "scenario_steps"


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, points: str) -> None:
    """Put a package with these entry points on the path, as pip does."""
    info = folder / "sdelka_example-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sdelka-example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[sdelka.scenario_steps]\n{points}\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    monkeypatch.delitem(sys.modules, "working_days", raising=False)


@pytest.mark.req("S000-55")
async def test_a_type_of_a_package_plays_and_is_checked_like_the_program_s_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of the documentation: its parameters are validated, and its variable is known to later steps."""
    install(monkeypatch, tmp_path / "site", "working_day = working_days:WORKING_DAY")
    types = build_step_types(load_plugins())
    plan = scenario({"type": "working_day", "params": {"days": 1, "output_var": "deadline"}}, say("Срок: {deadline}"))
    assert list(check_scenario(Document.from_data(plan), types)) == []
    (wrong,) = check_scenario(Document.from_data(scenario({"type": "working_day", "params": {"days": 300}})), types)
    assert (wrong.code, wrong.path) == ("finding-value-most", "steps[0].params.days")
    monkeypatch.setattr("tests.unit.engines.scenarios.scenario_kit.TYPES", types)
    async with a_scenario_world(tmp_path / "world", plan) as world:
        await world.work(start())
        day = next(text for text in texts(world) if text.startswith("Срок: ")).removeprefix("Срок: ")
    assert date.fromisoformat(day).weekday() < 5
    assert date.fromisoformat(day) > date.min


@pytest.mark.parametrize(("today", "days", "free", "day"), [
    ("2026-11-27", 0, (), "2026-11-27"), ("2026-11-27", 1, (), "2026-11-30"), ("2026-11-28", 0, (), "2026-11-30"),
    ("2026-11-28", 1, (), "2026-12-01"), ("2026-11-27", 1, ("2026-11-30",), "2026-12-01"), ("2026-11-27", 5, (), "2026-12-04"),
])  # fmt: skip
def test_working_days_are_counted(monkeypatch: pytest.MonkeyPatch, today: str, days: int, free: tuple[str, ...], day: str) -> None:
    """Weekends and further free days do not count; 0 is today, or the first working day after it."""
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import working_days  # noqa: PLC0415 - a package of its own, which is not installed here

    assert working_days.count_days(date.fromisoformat(today), days, frozenset(free)).isoformat() == day


def test_a_package_that_cannot_be_loaded_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named in the log; the other types are there, and its own count as unknown."""
    install(monkeypatch, tmp_path, "broken = nowhere_at_all:STEP\nodd = working_days:_SATURDAY\nworking_day = working_days:WORKING_DAY")
    with caplog.at_level(logging.ERROR):
        found = load_plugins()
    assert [one.name for one in found] == ["working_day"]
    assert {"broken", "odd"} == {name for name in ("broken", "odd") if name in caplog.text}


def test_two_types_of_one_name_are_refused() -> None:
    """A package cannot quietly replace what a step of the program does."""
    with pytest.raises(ValueError, match="message"):
        build_step_types([TYPES["message"]])
