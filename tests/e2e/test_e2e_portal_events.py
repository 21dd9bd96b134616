"""Somebody changes a deal in the portal, and whoever answers for it reads of it: an outgoing webhook, the receiver, the look, the message."""

import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from bot.access.access import load_access
from bot.settings.settings import Settings
from tests.e2e.e2e_kit import World
from tests.e2e.e2e_people import Person, Shown, until
from tests.e2e.e2e_servers import TOKEN

EVENTS = ["ONCRMDEALADD", "ONCRMDEALUPDATE", "ONCRMDEALDELETE"]


@asynccontextmanager
async def listening_bot(world: World) -> AsyncIterator[str]:
    """`sdelka run` with its receiver, and an outgoing webhook of the portal to it; the address of the receiver."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    made = (await world.portal.post("/sandbox/outgoing", json={"handler": f"{address}/bitrix/events", "events": EVENTS})).json()
    over = {"bitrix_event_token": made["application_token"], "http_port": port}
    async with world.process("run", **over), httpx.AsyncClient(base_url=address, trust_env=False) as http:

        async def lives() -> bool:
            try:
                return (await http.get("/healthz")).is_success
            except httpx.TransportError:
                return False

        await until(lives, "the receiver")
        await until(lambda: world.calls("crm.deal.list"), "the look at the open deals")
        yield address


async def news(person: Person, *, after: int = 0, count: int = 1) -> list[Shown]:
    """What the person was told without asking, once there is so much."""

    async def enough() -> list[Shown] | None:
        found = [message for message in await person.seen(after) if message.text.startswith("🔔")]
        return found if len(found) >= count else None

    found: list[Shown] = await until(enough, f"{count} message(s) about the portal to {person.name}")
    return found


@pytest.mark.long
async def test_a_change_in_the_portal_reaches_the_person_who_answers_for_the_deal(world: World) -> None:
    """Was → is with the name of the colleague and a link to the card; nobody else hears of it, and without the token nothing is taken."""
    async with listening_bot(world) as address:
        await world.edit("deal", 481, OPPORTUNITY="1500000", STAGE_ID="FINAL_INVOICE", MODIFY_BY_ID=8)
        (told,) = await news(world.boris)
        async with httpx.AsyncClient(trust_env=False) as http:
            forged = await http.post(f"{address}/bitrix/events", data={"event": "ONCRMDEALUPDATE", "ts": "1", "data[FIELDS][ID]": "481"})
        seen = {person.name: await person.seen() for person in (world.anna, world.vera, world.olga)}

    lines = told.text.splitlines()
    assert re.fullmatch(r"🔔 Сделка «Ромашка[^»]*» · изменено: Вера Лебедева", lines[0])
    assert lines[1:] == ["Стадия: В работе → Финальный счёт", "Сумма: 120 000 ₽ → 1 500 000 ₽"]
    assert told.links == [f"{world.servers.portal}/crm/deal/details/481/"]
    assert forged.status_code == 403
    assert seen == {person.name: [] for person in (world.anna, world.vera, world.olga)}


def test_the_access_file_of_the_demo_lets_everybody_be_told(world: World) -> None:
    """Nobody has to be switched on."""
    access = load_access(world.folder / "access.yaml")
    assert [len(access.find_subscribers(number)) for number in (1, 6, 7, 8, 9)] == [1, 1, 1, 1, 0]
    assert Settings(_env_file=None, bitrix_event_token=f" a ,{TOKEN},, ").event_tokens[1].get_secret_value() == TOKEN
