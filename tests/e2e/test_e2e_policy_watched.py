"""A policy file that becomes faulty while nobody asks for anything: the administrator is told at once, and once."""

import os
import time

from tests.e2e.e2e_kit import World


async def test_a_faulty_policy_is_told_before_anybody_needs_it(world: World) -> None:
    """The last good rules hold; one message, however often the file is looked at."""
    path = world.folder / "rules.yaml"
    path.write_text("refuse_methods: []\n", encoding="utf-8")
    async with world.bot(POLICY_FILE=str(path)):
        last = await world.olga.say("/status")
        await world.olga.answered(last)
        begun = time.monotonic()
        path.write_text("refuse_methods: [crm.deal.ad]\n", encoding="utf-8")
        os.utime(path, (time.time() - 5,) * 2)
        (_, told) = await world.olga.answered(last, 2)
        took = time.monotonic() - begun
        assert "В файле правил ошибки: 1. Действуют прежние правила." in told.text
        assert took < 60, f"told after {took:.0f} s"
        await world.olga.ask("покажи мои сделки")  # a decision under the old rules
        os.utime(path, (time.time() - 4,) * 2)
        seen = await world.olga.seen(last)
        assert sum("В файле правил" in message.text for message in seen) == 1
