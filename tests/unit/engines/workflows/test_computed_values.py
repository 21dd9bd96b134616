"""What a workflow computes from a record is never written over what people change while the card waits (S003-X10)."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.engines.workflows.test_record_runs import answers, change, codes, on_deal
from tests.unit.engines.workflows.workflow_kit import tuum, workflow
from tests.unit.features.cards.cards_kit import pressing
from tests.unit.runs.runs_kit import RUN
from tests.unit.runs.test_runs_wait import order
from tests.unit.spine_kit import World, press

ADD: dict[str, Any] = {**change("OPPORTUNITY", 500, "+="), "entityId": "481"}


def take_card(world: World) -> dict[str, Any]:
    """The card that was shown last."""
    return dict([row for row in world.outbox() if row.kind == "card"][-1].body)


@pytest.mark.req("S003-X10", "S003-19")
@pytest.mark.parametrize("document", [on_deal(change("OPPORTUNITY", 500, "+=")), workflow(tuum("only", ADD))], ids=["record", "none"])
async def test_a_sum_that_somebody_changed_behind_the_card_is_computed_anew(tmp_path: Path, document: dict[str, Any]) -> None:
    """The press changes nothing and offers no sum of the old record; a retry adds to what stands there now, and asks no model again."""
    async with a_workflow_world(tmp_path, document) as world:
        deal = world.portal.records["deal", 481]
        deal["OPPORTUNITY"] = "1000.00"
        if "record" in document:
            world.model.will("итог")
        await world.work(start(**({"deal": "481"} if "record" in document else {})))
        card = take_card(world)
        deal["OPPORTUNITY"] = "2000.00"
        await world.work(press(card, key=RUN))
        assert codes(answers(world)) == ["run-ended", "workflow-operations-moved"]
        assert world.portal.written() == []
        await world.work(order("retry"))
        await world.work(press(take_card(world), key=RUN))
        ((method, params),) = world.portal.written()
        assert (method, float(params["fields"]["OPPORTUNITY"])) == ("crm.deal.update", 2500.0)
        assert result(world)["applied"][0]["status"] == "succeeded"


async def test_a_value_that_was_not_computed_is_asked_about_again_as_ever(tmp_path: Path) -> None:
    """Whoever sets a value says what shall stand there, whatever stood there before: the new card shows both."""
    async with a_workflow_world(tmp_path, workflow(tuum("only", {**change("OPPORTUNITY", 500), "entityId": "481"}))) as world:
        await world.work(start())
        card = take_card(world)
        world.portal.records["deal", 481]["OPPORTUNITY"] = "2000.00"
        await world.work(press(card, key=RUN))
        again = take_card(world)
        assert (again["confirmation_id"] != card["confirmation_id"], world.portal.written()) == (True, [])
        await world.work(press(again, key=RUN))
        assert len(world.portal.written("crm.deal.update")) == 1


async def test_a_computed_value_that_nobody_decided_on_is_not_asked_for_once_more(tmp_path: Path) -> None:
    """Nobody would compute it anew: whoever presses reads why, and no card comes."""
    async with a_workflow_world(tmp_path, workflow(tuum("only", ADD))) as world:
        await world.work(start())
        card = take_card(world)
        world.clock.advance(timedelta(hours=24, seconds=1))
        await world.work()
        world.outbox()
        await world.work(pressing("again", card["confirmation_id"], key=RUN))
        rows = world.outbox()
        assert [(row.kind, row.body["notice"]["code"]) for row in rows] == [("toast", "computed-changed")]
