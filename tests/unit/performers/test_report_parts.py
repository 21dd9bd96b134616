"""Which parts of the mirror a report needs: over a part that is still being loaded it would have half numbers."""

from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from orchestrator.domain.report import ReportAnswer, ReportTrouble
from orchestrator.performers import numbers
from tests.unit.gate.sandbox_kit import Desk, a_desk


def _find_reports(desk: Desk) -> numbers.Numbers:
    return cast("Any", desk.world.gate.deps.performers["knowledge"]).reports


async def _ask(desk: Desk, question: dict[str, Any]) -> ReportAnswer | ReportTrouble:
    return await _find_reports(desk).answer(question, sees=None, zone="Europe/Moscow", locale="ru")


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ({"of": "deals", "where": "won"}, {"deals"}),
        ({"of": "Lead"}, {"leads"}),
        ({"of": "invoices"}, {"invoices"}),
        ({"of": "deals", "where": ["without_activity"]}, {"deals", "activities"}),
        ({"of": "deals", "measures": ["forecast"]}, {"deals", "history"}),
        ({"of": "deals", "filter": {"!lost_from": "NEW"}}, {"deals", "history"}),
        ({"of": "leads", "measures": "median_hours_to_first_call"}, {"leads", "calls"}),
        ({"of": "calls", "per": {"of": "deals", "where": "no_activity"}}, {"calls", "deals", "activities"}),
    ],
)
def test_a_report_needs_every_part_that_it_counts_in(question: dict[str, Any], parts: set[str]) -> None:
    """In the words of the grammar or in those that are taken for them, of a second report too."""
    assert set(numbers.list_parts(question)) == parts


async def test_deals_without_activity_are_not_counted_while_activities_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All open deals would look like deals without a next step."""
    async with a_desk(tmp_path) as desk:
        assert isinstance(await _ask(desk, {"of": "deals", "where": "no_activity"}), ReportAnswer)
        reports = _find_reports(desk)
        await reports.keeper.write(lambda writer: writer.set_marks({"part.activities": "loading", "total.activities": 100}))
        monkeypatch.setattr(numbers, "WAIT", 0)
        trouble = await _ask(desk, {"of": "deals", "where": "no_activity"})
        assert isinstance(trouble, ReportTrouble)
        assert trouble.code == "loading"


async def test_without_telephony_calls_are_counted_by_activities(tmp_path: Path) -> None:
    """How many of them were answered activities do not tell."""
    async with a_desk(tmp_path) as desk:
        async with httpx.AsyncClient(transport=desk.wire.transport, base_url="http://127.0.0.1") as http:
            assert (await http.post("/sandbox/rights", json={"without_scopes": ["telephony"]})).status_code == 200
        call = {"OWNER_TYPE_ID": 2, "OWNER_ID": 1, "TYPE_ID": 2, "DIRECTION": 2, "SUBJECT": "Звонок", "RESPONSIBLE_ID": 7}
        call["COMMUNICATIONS"] = [{"VALUE": "+79990000000", "ENTITY_ID": 43, "ENTITY_TYPE_ID": 3}]
        await desk.ask("crm.activity.add", fields=call)
        answer = await _ask(desk, {"of": "calls", "measures": ["outgoing"]})
        assert isinstance(answer, ReportAnswer), answer
        assert answer.total[0].value == 1
        assert "дела типа «звонок»" in answer.definition
        trouble = await _ask(desk, {"of": "calls", "measures": ["missed"]})
        assert isinstance(trouble, ReportTrouble)
        assert trouble.code == "question"
