"""The flows of the demo: offered from the first minute, and played as the tour says."""

from pathlib import Path

from tests.e2e.demo_kit import running_demo


async def test_a_flow_of_the_tour_asks_shows_its_steps_and_ends_with_the_proposal(tmp_path: Path) -> None:
    """Four questions, two agents, the text with what is to be asked of the client; after «start over» the flow is offered once more."""
    async with running_demo(tmp_path) as demo:
        boris = demo.person(1007)
        offered = await demo.ask(boris, "/flow", "Черновик предложения")
        await demo.ask(boris, "/flow proposal", "Для кого предложение?")
        await demo.ask(boris, "ООО «Ромашка»", "Что предлагаем и что входит?")
        await demo.ask(boris, "Насосы для котельной с доставкой", "На какую сумму")
        tone = await demo.ask(boris, "450 000", "В каком тоне?")
        await boris.press(tone.number, tone.data("деловой"))
        told = await demo.told(boris, tone.number, "Что уточнить у клиента")
        await demo.post("/demo/restart")
        again = await demo.ask(boris, "/flow", "Черновик предложения")

    assert "Мастерская решений" in offered.text
    assert "ООО «Ромашка», здравствуйте!" in told.text
    assert "450 000 ₽" in told.text.replace("\N{NO-BREAK SPACE}", " ")
    assert again.number > told.number
