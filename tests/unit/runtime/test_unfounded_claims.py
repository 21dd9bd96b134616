"""A model that says that something is done, and has proposed nothing, is contradicted by code."""

from typing import Any

import pytest

from tests.unit.spine_kit import World, message, press, raise_sum, reply, step

READ = step("crm.deal.get", {"id": 481})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "ждём"}})
TOLD = "nothing-changed"


@pytest.mark.parametrize("steps", [[], [READ]])
async def test_a_claim_without_a_change_is_contradicted(world: World, steps: list[dict[str, Any]]) -> None:
    world.model.will(*([reply(*steps, text="Смотрю.")] if steps else []), reply(text="✅ Готово, сумма теперь 500 000 ₽."))
    await world.work(message("поставь сделке 481 сумму 500 тысяч"))
    assert TOLD in world.codes()
    assert world.portal.written() == []


async def test_a_claim_beside_a_change_a_card_or_a_refusal_is_left(world: World) -> None:
    """Lines of code tell of these already."""
    world.model.will(reply(COMMENT, text="Пишу."), reply(text="Готово, записал."))
    await world.work(message("запиши в сделку 481: ждём"))
    assert TOLD not in world.codes()
    world.model.will(reply(raise_sum(), text="Готово, поднял сумму."))
    await world.work(message("подними сумму сделки 481"))
    assert TOLD not in world.codes()
    await world.work(press({**world.events("ConfirmationRequested")[-1].data, "status": "requested"}))
    assert TOLD not in world.codes()
    world.model.will(reply(step("crm.deal.delete", {"id": 481}), text="Удаляю."), reply(text="Удалил сделку."))
    await world.work(message("удали сделку 481"))
    assert TOLD not in world.codes()


async def test_an_answer_to_a_question_is_left(world: World) -> None:
    world.model.will(reply(READ, text="Смотрю."), reply(text="Поставил её Борис 5 ноября."))
    await world.work(message("кто поставил эту сумму"))
    assert TOLD not in world.codes()
