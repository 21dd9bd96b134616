"""A workflow on a record while the portal does not answer: nobody is told that there is no such record (S003-53)."""

from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.engines.workflows.test_record_runs import answers, change, codes, on_deal, started_in_chat
from tests.unit.engines.workflows.workflow_kit import tuum, workflow
from tests.unit.runs.runs_kit import RUN
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import message, press
from tests.unit.spine_portal import Fault, html, says, unreachable


@pytest.mark.req("S003-53", "S003-54")
@pytest.mark.parametrize("fault", [unreachable, html, says(500, {"error": "INTERNAL_SERVER_ERROR"})], ids=["no route", "html", "500"])
async def test_a_record_that_the_portal_does_not_show_is_not_called_missing(tmp_path: Path, fault: Fault) -> None:
    """The run fails with words that say so, and a retry goes on as soon as the portal answers."""
    async with a_workflow_world(tmp_path, on_deal()) as world:
        world.model.will("итог")
        world.portal.will("crm.deal.get", *[fault] * 10)
        await world.work(start(deal="481"))
        assert codes(answers(world)) == ["run-ended", "workflow-record-away"]
        world.portal.faults.clear()
        await world.work(order("retry"))
        assert result(world)["rawText"] == "итог"


@pytest.mark.req("S003-53")
async def test_a_name_that_could_not_be_looked_up_is_not_called_unknown(tmp_path: Path) -> None:
    """The person is told that the portal does not answer, and the next answer is looked up again."""
    async with a_workflow_world(tmp_path, on_deal(change("COMMENTS", "звонил"))) as world:
        world.model.will("итог")
        world.portal.will("crm.deal.list", *[unreachable] * 10)
        await world.work(started_in_chat("Вектор"))
        assert codes(answers(world)) == ["workflow-records-away", "workflow-record-which"]
        world.portal.faults.clear()
        await world.work(message("Вектор"))
        assert world.model.prompts[-1][-1]["content"] == "О сделке 482"


@pytest.mark.req("S003-18", "S003-19")
@pytest.mark.parametrize("method", ["crm.deal.get", "crm.deal.update"])
async def test_changes_that_the_portal_did_not_take_can_be_retried(tmp_path: Path, method: str) -> None:
    """Whoever has agreed is not told that all is done; a retry asks once more, asks no model again, and makes the change once."""
    async with a_workflow_world(tmp_path, on_deal(change("OPPORTUNITY", 120000))) as world:
        world.model.will("Сумма изменена")
        await world.work(start(deal="481"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        world.portal.will(method, *[unreachable] * 10)
        await world.work(press(card.body, key=RUN))
        told = answers(world)
        assert (codes(told), "Сумма изменена" in repr(told)) == (["run-ended", "workflow-operations-away"], False)
        world.portal.faults.clear()
        await world.work(order("retry"))
        (card,) = [row for row in world.outbox() if row.kind == "card"]
        await world.work(press(card.body, key=RUN))
        assert world.portal.written() == [("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": 120000}})]
        assert result(world)["rawText"] == "Сумма изменена"


READING = {"runeType": "query", "method": "crm.deal.get", "params": {"id": 481}, "output": "row"}
SCRIPT = {"source": 'await get_entity("deal", 481)', "consumes": [], "produces": []}


@pytest.mark.req("S003-53")
@pytest.mark.parametrize(
    "only", [tuum("only", READING), tuum("only", mainScript=SCRIPT), tuum("only", {**change("COMMENTS", "!", "+="), "entityId": "481"})]
)
async def test_in_shadow_mode_a_workflow_that_reads_says_why_it_stops(tmp_path: Path, only: dict[str, Any]) -> None:
    """Neither that a part of it has failed, nor that there is no such record."""
    async with a_workflow_world(tmp_path, workflow(only), mode="shadow") as world:
        await world.work(start())
        assert codes(answers(world)) == ["run-ended", "workflow-shadow-unread"]
