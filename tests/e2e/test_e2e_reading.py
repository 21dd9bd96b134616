"""Asking for lists, names and commands: what a person reads in the chat, with the portal's ledger beside it."""

import pytest
from e2e_kit import World, texts

pytestmark = pytest.mark.xdist_group("e2e")


@pytest.mark.req("S004-1", "S004-15")
async def test_my_deals_have_names_stages_sums_links_and_a_total(world: World) -> None:
    """«покажи мои сделки» lists title, sum and stage name of each deal as a link, and code counts and adds them up."""
    async with world.bot():
        (reply,) = await world.boris.ask("покажи мои сделки")

    deals = [deal for deal in (await world.portal.get("/sandbox/records/deal")).json() if _mine_and_open(deal)]
    total = sum(float(deal["OPPORTUNITY"]) for deal in deals)
    assert "Вектор: сервисный договор · 85 000 ₽ · Новая · №413" in reply.text
    assert len(reply.links) == len(deals)
    assert f"{world.servers.portal}/crm/deal/details/413/" in reply.links
    assert f"всего {len(deals)}, {total / 1_000_000:.3g}".replace(".", ",") in reply.text
    assert await world.writes() == []


def _mine_and_open(deal: dict[str, str]) -> bool:
    return deal["ASSIGNED_BY_ID"] == "7" and deal["CLOSED"] == "N"
