"""`sdelka run` is told to stop while a request is worked on: its answer still comes, nothing new is begun, and nothing is lost."""

import signal

import pytest

from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import until

pytestmark = pytest.mark.long  # processes of its own

READ = "crm.deal.get"
START = 90.0


@pytest.mark.req("S004-36")
async def test_a_stop_lets_the_turn_end_and_its_answer_go(world: World) -> None:
    """SIGTERM in the middle of a turn: the card comes, the process ends by itself; what was said after it is answered by the next."""
    boris = world.boris
    await world.break_portal("delay", READ, seconds=2)
    async with world.process("run") as bot:
        sent = await boris.say("подними сумму сделки Ромашка до 150 000")

        async def reading() -> bool:
            return bool(await world.calls(READ))

        await until(reading, "the read that is slow", START)
        bot.send_signal(signal.SIGTERM)
        late = await boris.say("Что у меня сегодня?")
        assert await bot.wait() == 0
        seen = await boris.seen(sent)
        assert [message.is_card for message in seen if message.number < late or message.is_card].count(True) == 1
        asked = len(await world.prompts())

    async with world.process("run"):

        async def answered() -> bool:
            return any(not message.is_card for message in await boris.seen(late))

        await until(answered, "the answer to what was said after the stop", START)
        assert len(await world.prompts()) <= asked + 2
