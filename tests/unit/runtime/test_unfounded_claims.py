"""«Я ничего не менял» stands only where the person ordered something, no step came and the reply asks nothing."""

import pytest

from tests.unit.spine_kit import World, message, press, raise_sum, reply, step

READ = step("crm.deal.get", {"id": 481})
COMMENT = step("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal", "COMMENT": "ждём"}})
TOLD = "nothing-changed"


@pytest.mark.parametrize("claim", ["✅ Готово, сумма теперь 500 000 ₽.", "Сумма большая."])
async def test_an_order_without_a_step_gets_the_notice(world: World, claim: str) -> None:
    """Whatever the answer says."""
    world.model.will(reply(text=claim))
    await world.work(message("поставь сделке 481 сумму 500 тысяч"))
    assert TOLD in world.codes()
    assert world.portal.written() == []


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("поставь сделке 481 сумму 500 тысяч", "500 тысяч рублей или долларов?"),
        ("какая сумма у сделки 481?", "Сумма теперь 500 000 ₽."),
        ("спасибо, что поставил сумму", "Всегда готов."),
    ],
    ids=["it asks", "a question", "no order"],
)
async def test_a_question_back_or_no_order_gets_none(world: World, said: str, answer: str) -> None:
    world.model.will(reply(text=answer))
    await world.work(message(said))
    assert TOLD not in world.codes()


async def test_an_order_with_a_step_gets_none(world: World) -> None:
    """A read shows its list, and lines of code tell of a change, a card or a refusal already."""
    world.model.will(reply(READ, text="Смотрю."), reply(text="Готово, поставил."))
    await world.work(message("поставь сделке 481 сумму 500 тысяч"))
    assert TOLD not in world.codes()
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
