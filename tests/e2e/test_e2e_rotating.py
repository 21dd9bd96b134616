"""Another webhook in the settings: docs/runbook.md says that a restart is enough, and that nothing which waits is lost."""

import pytest

from tests.e2e.e2e_kit import World


@pytest.mark.req("S004-67")
async def test_what_waits_survives_a_change_of_the_webhook(world: World) -> None:
    """A card asked for under the old webhook is approved under the new one, in whose name the call runs once; what was written between is answered."""
    async with world.bot():
        card = await world.boris.card("подними сумму сделки Ромашка до 150 000")
    number = await world.boris.say("/pending")
    async with world.bot(bitrix_webhook_url=world.servers.webhook.replace("/rest/1/", "/rest/6/")):
        await world.boris.answered(number)
        await world.boris.decide(card, "Выполнить")
    (call,) = await world.calls("crm.deal.update")
    assert (call["outcome"], (await world.record("deal", 481))["MODIFY_BY_ID"]) == ("ok", "6")
    assert await world.writes() == ["crm.deal.update"]
