"""A report of one department, which people call by its name."""

from pathlib import Path
from typing import Any, cast

import pytest

from orchestrator.domain.report import ReportAnswer, ReportTrouble
from tests.unit.gate.sandbox_kit import Desk, a_desk


async def _ask(desk: Desk, conditions: dict[str, Any]) -> ReportAnswer | ReportTrouble:
    reports = cast("Any", desk.world.gate.deps.performers["knowledge"]).reports
    found = await reports.answer({"of": "deals", "where": "open", "filter": conditions}, sees=None, zone="Europe/Moscow", locale="ru")
    return cast("ReportAnswer | ReportTrouble", found)


@pytest.mark.parametrize(
    ("by_name", "by_number"),
    [
        ({"department": "тендерный отдел"}, {"department": 5}),
        ({"!department": ["Тендерный отдел", 3]}, {"!department": [5, 3]}),
    ],
)
async def test_a_department_in_a_filter_may_be_called_by_its_name(
    tmp_path: Path, by_name: dict[str, Any], by_number: dict[str, Any]
) -> None:
    """The numbers are those of its id, and later questions hold the id."""
    async with a_desk(tmp_path) as desk:
        named, numbered = await _ask(desk, by_name), await _ask(desk, by_number)
        assert isinstance(named, ReportAnswer)
        assert named == numbered


async def test_a_department_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """No other one is counted in its place."""
    async with a_desk(tmp_path) as desk:
        refused = await _ask(desk, {"department": "Отдел снабжения"})
        assert isinstance(refused, ReportTrouble)
        assert "department" in refused.detail
