"""A turn whose portal cannot be asked goes on: the person reads why a step was not run, and what was done is told."""

import pytest

from tests.unit.spine_kit import World, message, reply, step
from tests.unit.spine_portal import says, unreachable

_SEARCHES = ("crm.deal.list", "crm.item.list", "batch")


@pytest.mark.req("S004-36")
async def test_a_name_that_the_portal_cannot_look_up_is_a_step_that_was_not_run(world: World) -> None:
    """The person is told that the portal does not answer, the other step of the plan is run, and nothing is an error of the program."""
    for method in _SEARCHES:
        world.portal.will(method, *[says(503, {"error": "INTERNAL_SERVER_ERROR"})] * 40, holding="TITLE")
    world.model.will(reply(step("crm.deal.get", {"id": "@deal:Ромашка"}), step("crm.deal.get", {"id": 481})), reply(text="Готово"))
    await world.work(message("покажи Ромашку"))
    (end,) = world.events("TurnFinished")
    assert end.data["reason"] == "answered"
    assert "portal-unreadable" in world.codes()
    assert "crm.deal.get" in [method for method, _ in world.portal.requests]
    assert "INTERNAL_SERVER_ERROR" not in str(world.model.prompts[-1])


@pytest.mark.req("S004-36")
async def test_a_record_is_shown_also_without_the_names_of_its_stages(world: World) -> None:
    """The deal was read: that the list of stages does not come costs the name of its stage and nothing else."""
    world.portal.will("crm.status.list", *[unreachable] * 40)
    world.portal.will("crm.category.list", *[unreachable] * 40)
    world.model.will(reply(step("crm.deal.get", {"id": 481})), reply(text="Вот она"))
    await world.work(message("покажи сделку 481"))
    (end,) = world.events("TurnFinished")
    assert (end.data["reason"], world.codes()) == ("answered", ["reply"])
