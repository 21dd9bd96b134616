"""What a write of the portal gives reaches the scenario also if a person approved it on a card first."""

from pathlib import Path

import pytest

from orchestrator.runtime import worker
from tests.unit.engines.scenarios.scenario_kit import a_scenario_world, say, start, texts
from tests.unit.runs.runs_kit import RUN
from tests.unit.spine_kit import press


async def test_the_number_of_an_approved_record_is_in_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is played again after the card, and reads from the journal what the call gave."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    fields = {"TITLE": "Ромашка", "OPPORTUNITY": 150_000}
    create = {
        "id": "create",
        "type": "bitrix_call",
        "params": {"method": "crm.lead.add", "params": {"fields": fields}, "output_var": "lead"},
    }
    async with a_scenario_world(tmp_path, create, say("Лид {lead}")) as world:
        await world.work(start())
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
        (number,) = [number for kind, number in world.portal.records if kind == "lead" and number > 9000]
        assert texts(world)[-1] == f"Лид {number}"
