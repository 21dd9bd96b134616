"""`/chat` beside the answer: what can be taken back, lists whose rows are remembered, and what `/help` offers over the API."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.bot.http_api.chat_kit import CHIEF, SHOP, SITE, Door, a_door
from tests.unit.spine_kit import raise_sum, reply, step
from tests.unit.spine_portal import deal

LONG = "История переговоров с марта: клиент просит рассрочку. " * 14 + "Созвониться через 3 дня."


async def decide(door: Door, card: dict[str, Any]) -> dict[str, Any]:
    """Approve the card; what came of it."""
    body = {"decision": "approve", "fingerprint": card["fingerprint"]}
    answer = await door.http.post(f"/confirmations/{card['id']}", json=body, headers={"X-API-Key": SITE})
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["confirmation"])


async def ask(door: Door, *steps: dict[str, Any], text: str = "измени сделку 481") -> dict[str, Any]:
    """The first card of a turn."""
    door.world.model.will(reply(*(steps or (raise_sum(),)), text="Подтвердите."))
    return dict((await door.chat(text)).json()["waiting"][0])


async def test_a_change_that_was_approved_is_taken_back_by_its_token(door: Door) -> None:
    was = dict(door.world.portal.records["deal", 481])
    card = await ask(door)
    assert card["undo"] == ""
    made = await decide(door, card)
    assert re.fullmatch("undo:[0-9a-f]{32}", made["undo"])
    [back] = (await door.chat(made["undo"])).json()["waiting"]
    assert len(door.world.portal.written()) == 1
    await decide(door, back)
    assert door.world.portal.records["deal", 481] == was
    shown = await door.http.get(f"/confirmations/{card['id']}", headers={"X-API-Key": SITE})
    assert shown.json()["undo"] == ""


async def test_a_change_that_needed_no_card_names_its_token_too(door: Door) -> None:
    """`done[].undo`, where it can be taken back."""
    door.world.portal.records["deal", 481]["COMMENTS"] = LONG
    door.world.model.will(reply(step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": f"{LONG}\nзвонил"}})), reply())
    body = (await door.chat("запиши в сделку 481: звонил")).json()
    door.world.model.script.clear()
    [made] = body["done"]
    [back] = (await door.chat(made["undo"])).json()["waiting"]
    await decide(door, back)
    assert door.world.portal.records["deal", 481]["COMMENTS"] == LONG


async def test_in_words(door: Door) -> None:
    was = dict(door.world.portal.records["deal", 481])
    await decide(door, await ask(door))
    [back] = (await door.chat("верни как было")).json()["waiting"]
    await decide(door, back)
    assert door.world.portal.records["deal", 481] == was


@pytest.mark.parametrize(("user", "token"), [("43", SITE), ("42", SHOP), ("42", CHIEF)])
async def test_another_conversation_takes_nothing_back(door: Door, user: str, token: str) -> None:
    """The token of a change counts in the conversation where it was made."""
    made = await decide(door, await ask(door))
    body = (await door.chat(made["undo"], user, token=token)).json()
    assert body["waiting"] == []
    assert len(door.world.portal.written()) == 1


@pytest.mark.parametrize("message", ["undo:00000000", f"undo:{'f' * 32}", f"addto:{'0' * 10}"])
async def test_a_token_that_was_never_offered_says_so(door: Door, message: str) -> None:
    body = (await door.chat(message)).json()
    assert body["assistant"]
    assert body["waiting"] == []
    assert door.world.portal.ledger == []


async def test_a_long_text_is_shown_and_can_be_added_to(door: Door) -> None:
    """The row has both texts whole and says how much goes; the token of the card asks for the call that keeps it."""
    door.world.portal.records["deal", 481]["COMMENTS"] = LONG
    card = await ask(door, step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "звонил"}}, requires_confirmation=True))
    assert [(row["before"], row["after"], row["lost"]) for row in card["rows"]] == [(LONG, "звонил", 780)]
    assert "Комментарий: удалит 780 знаков" in card["text"]
    [kept] = (await door.chat(card["add_text"])).json()["waiting"]
    assert ("lost" in kept["rows"][0], kept["add_text"]) == (False, "")
    await decide(door, kept)
    assert door.world.portal.records["deal", 481]["COMMENTS"] == f"{LONG}\nзвонил"


async def test_a_list_and_then_its_third_row(door: Door) -> None:
    """Thirty rows of many are shown and remembered; «третью» is the record that stood third, for this conversation only."""
    portal, model = door.world.portal, door.world.model
    portal.records |= {("deal", number): deal(number, f"Сделка {number}", "1000.00", owner=7) for number in range(1001, 1041)}
    model.will(reply(step("crm.deal.list", {"filter": {">ID": 1000}})), reply(text="Вот:\n[[list 1: OPPORTUNITY, NOPE]]"))
    shown = (await door.chat("покажи сделки")).json()["assistant"].splitlines()
    rows = [line for line in shown if line.split(".")[0].isdigit()]
    assert len(rows) == 30
    assert all("₽" in row for row in rows)
    third = rows[2]
    number = int(third.partition("/details/")[2].partition("/")[0])
    get = step("crm.deal.get", {"id": "@shown:3"})
    model.will(reply(get), reply(text="Она."))
    assert (await door.chat("что с третьей?")).json()["assistant"] == "Она."
    assert [params for method, params in portal.requests if method == "crm.deal.get"][-1] == {"id": number}
    assert "30 of" in str(model.prompts[-1])
    model.will(reply(get), reply(text="Не вышло."))
    assert "списка я ещё не показывал" in (await door.chat("что с третьей?", user="other")).text


@pytest.mark.parametrize("message", ["/help", "/nonsense"])
async def test_the_api_offers_no_screens_of_telegram_and_the_switch_to_administrators_only(tmp_path: Path, message: str) -> None:
    async with a_door(tmp_path) as door:
        for token, switch in ((SITE, False), (CHIEF, True)):
            said = (await door.chat(message, token=token)).json()["assistant"]
            assert ("/settings" in said, "/language" in said, "/new" in said) == (False, False, True), said
            assert ("/freeze" in said, "/unfreeze" in said) == (switch, switch), said
