"""A record that is called by its right name is found, whatever is its longest word and whether people write «ё»."""

from typing import Any

import pytest

from orchestrator.directory.answers import Ambiguous, Resolved
from orchestrator.domain.actor import Actor
from state.events.fold import create_state
from tests.unit.gate.sandbox_kit import Desk

BORIS = Actor(key="tg:1007", name="Борис", bitrix_user_id=7)


async def resolve(desk: Desk, reference: str) -> Any:
    """What a reference means for a manager."""
    given = {"params": {}, "state": create_state(), "text": reference, "actor": BORIS}
    return await desk.world.tools.queries["resolve"](reference=reference, method="crm.deal.update", **given)


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        ("@company:Тёплый дом", 27),
        ("@company:теплому дому", 27),
        ("@company:Теплый дом", 27),
        ("@deal:Тёплый дом: печать каталогов", 448),
        ("@contact:Дмитрий Попов", 61),
        ("@contact:Попову Дмитрию", 61),
        ("@contact:Светлана Морозова", 82),
        ("@contact:Елена Кузнецова", 46),
    ],
)
async def test_the_right_name_is_found_without_a_question(desk: Desk, reference: str, number: int) -> None:
    found = await resolve(desk, reference)
    assert isinstance(found, Resolved), found
    assert found.value == number


async def test_several_of_one_first_name_are_offered(desk: Desk) -> None:
    """A person says «Елене»; none of the two is taken by itself."""
    found = await resolve(desk, "@contact:Елене")
    assert isinstance(found, Ambiguous)
    assert [option.value for option in found.options] == [76, 46]


async def test_a_name_that_is_there_costs_one_search(desk: Desk) -> None:
    desk.wire.sent.clear()
    await resolve(desk, "@deal:Северный ветер")
    assert [method for method, _ in desk.wire.sent].count("crm.deal.list") == 1
