"""The flows of the demo: offered from the first minute, and played as the tour says."""

from pathlib import Path

import pytest

from tests.e2e.demo_kit import running_demo


@pytest.mark.long
async def test_the_two_flows_of_the_tour_are_played_to_their_ends(tmp_path: Path) -> None:
    """A proposal after four questions; a review of the pipeline with one card of to-dos; after «start over» flows are offered once more."""
    async with running_demo(tmp_path) as demo:
        boris = demo.person(1007)
        offered = await demo.ask(boris, "/flow", "Черновик предложения")
        await demo.ask(boris, "/flow proposal", "Для кого предложение?")
        await demo.ask(boris, "ООО «Ромашка»", "Что предлагаем и что входит?")
        await demo.ask(boris, "Насосы для котельной с доставкой", "На какую сумму")
        tone = await demo.ask(boris, "450 000", "В каком тоне?")
        await boris.press(tone.number, tone.data("деловой"))
        told = await demo.told(boris, tone.number, "Что уточнить у клиента")
        card = await demo.ask(boris, "/flow pipeline_review", "Уточнить срок")
        await demo.approve(boris, card, "Выполнить")
        review = await demo.told(boris, card.number, "Требуют внимания")
        await demo.post("/demo/restart")
        again = await demo.ask(boris, "/flow", "Черновик предложения")

    assert "Мастерская решений" in offered.text
    assert "ООО «Ромашка», здравствуйте!" in told.text
    assert "450 000 ₽" in told.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "Открытых сделок:" in review.text
    assert again.number > told.number
