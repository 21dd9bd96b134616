"""Asking for lists, names and commands: what a person reads in the chat, with the portal's ledger beside it."""

import json
from typing import Any

import pytest

from tests.e2e.e2e_kit import World, texts
from tests.e2e.e2e_people import until
from tests.e2e.e2e_servers import ROOT


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
    assert f"Всего {len(deals)} на {total:,.0f} ₽".replace(",", " ") in reply.text.replace("\xa0", " ")
    assert await world.writes() == []


def _mine_and_open(deal: dict[str, str]) -> bool:
    return deal["ASSIGNED_BY_ID"] == "7" and deal["CLOSED"] == "N"


@pytest.mark.req("S004-X1", "S004-42")
async def test_a_name_that_fits_several_records_is_asked_about_and_the_choice_is_no_consent(world: World) -> None:
    """Two deals are buttons with sum, stage and number; the pressed one gets a card, and the model is not asked again."""
    async with world.bot():
        (asked,) = await world.boris.ask("перенеси сделку Вектор на стадию В работе")
        assert asked.text == "Какая сделка «Вектор»?"
        assert [text.replace("\xa0", " ") for text in asked.buttons] == [
            "Вектор: сервисный договор · 85 000 ₽ · Новая · №413",
            "Вектор: поставка ста… · 640 000 ₽ · Подготовка документов · №412",
        ]
        prompts = len(await world.prompts())
        await world.boris.press(asked.number, asked.data("№412"))
        card = (await world.boris.answered(asked.number))[-1]
        assert card.is_card
        assert "Стадия: Подготовка документов → В работе" in card.text
        assert await world.writes() == []
        assert len(await world.prompts()) == prompts

        await world.boris.press(asked.number, asked.data("№413"))
        assert "уже не действует" in texts(await world.boris.answered(card.number))
        await world.boris.decide(card, "Выполнить")
        assert await world.writes() == ["crm.deal.update"]
        assert (await world.record("deal", 412))["STAGE_ID"] == "EXECUTING"
    everything = str(await world.prompts())
    assert world.servers.webhook not in everything
    assert "/rest/1/" not in everything


async def test_stop_ends_a_turn_while_the_model_is_silent(world: World) -> None:
    """/stop overtakes the running turn: the turn ends without a call, and the next request is served."""
    async with world.bot():
        await world.break_model("stall", seconds=60)
        sent = await world.boris.say("подними сумму сделки Ромашка до 150 000")

        async def asked() -> bool:
            return len(await world.prompts()) == 1

        await until(asked, "the model's first request")
        assert "работаю над вашим запросом" in texts(await world.boris.seen(await _said(world, "/status")))
        await world.boris.say("/stop")
        assert "Остановлено." in texts(await world.boris.answered(sent, 3))
        assert await world.writes() == []
        assert "Ваши открытые сделки" in texts(await world.boris.ask("покажи мои сделки"))


async def _said(world: World, text: str) -> int:
    """Write while a turn is running, and wait for one answer only."""
    sent = await world.boris.say(text)

    async def answered() -> bool:
        return bool(await world.boris.seen(sent))

    await until(answered, f"an answer to {text}")
    return sent


@pytest.mark.req("S004-2", "S004-3", "S004-4", "S004-5", "S004-13", "S004-14", "S004-19", "S004-33", "S004-34", "S004-57", "S004-X12")
async def test_the_prompt_has_rules_state_and_message_and_each_session_its_own_state(world: World) -> None:
    """Constitution, methods and mode first; the state, before the message, remembers the read deal and its links, a colleague's none."""
    async with world.bot():
        await world.boris.ask("покажи сделку Ромашка")
    async with world.bot():
        await world.boris.ask("а сумма у неё какая?")
        await world.vera.ask("привет")
    prompts = await world.prompts()
    system, *_, state, user = prompts[0]["messages"]
    constitution = (ROOT / "data" / "agent" / "constitution.md").read_text("utf-8")
    assert system["content"].startswith(constitution)
    assert "crm.deal.update" in system["content"]
    assert "Mode: full" in system["content"]
    assert user == {"role": "user", "content": "покажи сделку Ромашка"}
    assert not any(_read_current(state).values())

    later, *_, veras = (item for item in prompts[2:] if "OBSERVATION" not in item["messages"][-1]["content"])
    deal = await world.record("deal", 481)
    current = _read_current(later["messages"][-2])
    known = {name: number for name, number in current.items() if name.endswith("_id") and number}
    assert known == {
        "current_deal_id": 481,
        "current_contact_id": int(deal["CONTACT_ID"]),
        "current_company_id": int(deal["COMPANY_ID"]),
    }
    assert not any(_read_current(veras["messages"][-2]).values())


def _read_current(message: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(message["content"].removeprefix("STATE "))["current"]
    return found
