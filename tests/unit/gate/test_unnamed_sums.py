"""A card says that the sum on it is not the one that the person named; a sum that may follow from their words is left alone."""

from typing import Any

import pytest

from orchestrator.domain.effect import Provenance
from tests.unit.features.cards.cards_kit import answer, asked, cards_of, opened
from tests.unit.spine_kit import World, card, effect, message, raise_sum, reply

UNNAMED = "gate-sum-unnamed"


async def list_reasons(world: World, text: str, amount: Any) -> list[str]:
    """Why the card asks that writes this sum into deal 481, which has a million."""
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1000000"
    session = await world.session()
    provenance = Provenance(message=None, targets=frozenset({"deal:481"}), person_text=text)
    wanted = effect("crm.deal.update", {"id": 481, "fields": {"OPPORTUNITY": amount}}, provenance=provenance)
    result = await world.submit(session, wanted)
    return [str(reason["code"]) for reason in card(session, result.confirmation_id).reasons]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("поставь сделке 481 сумму 50 тысяч", 500_000),
        ("поставь сделке 481 сумму полтора миллиона", 15_000_000),
        ("сумма сделки 481 — 250 000 ₽", 25_000),
        ("set the amount of deal 481 to 500k", 5_000_000),
    ],
)
async def test_another_sum_than_the_named_one_is_told(world: World, text: str, amount: int) -> None:
    assert await list_reasons(world, text, amount) == ["gate-critical", UNNAMED]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("поставь сделке 481 сумму 50 тысяч", 50_000),
        ("подними сумму сделки 481 на 50 тысяч", 1_050_000),
        ("снизь сумму сделки 481 на 50 тысяч", 950_000),
        ("сделка 481: 3 штуки по 50 тысяч", 150_000),
        ("сделка 481: 50 тысяч плюс 20 тысяч за доставку", 70_000),
        ("сделка 481: 50 тысяч со скидкой 10%", 45_000),
        ("раздели 300 тысяч поровну на сделки 481 и 482", 150_000),
        ("подними сумму сделки 481", 1_200_000),
        ("поставь сделке 481 сумму миллион двести", 1_200_000),
        ("сумма сделки 481: сорок восемь тысяч пятьсот, дата завтра", 48_500),
        ("поставь 481 сумму миллион двести пятьдесят тысяч", 1_250_000),
        ("нет, не 500, а 550", 550),
    ],
)
async def test_a_sum_that_may_follow_from_the_words_is_not(world: World, text: str, amount: int) -> None:
    assert UNNAMED not in await list_reasons(world, text, amount)


async def test_a_value_that_the_person_typed_on_the_card_is_their_own(world: World) -> None:
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1000000"
    shown = await asked(world, text="подними сумму сделки 481 до 1 200 000")
    await world.work(answer(await opened(world, shown), "550"))
    (new,) = [body for body in cards_of(world.outbox()) if body["status"] == "requested"]
    assert UNNAMED not in [one["code"] for one in new["reasons"]]


async def test_a_turn_shows_it_on_the_card(world: World) -> None:
    world.model.will(reply(raise_sum(5_000_000), text="Прошу подтвердить."))
    await world.work(message("подними сумму сделки 481 до 50 тысяч"))
    (event,) = world.events("ConfirmationRequested")
    assert [one["code"] for one in event.data["reasons"]] == ["gate-critical", UNNAMED]
