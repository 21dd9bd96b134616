"""Over HTTP, too, a long text is not lost unseen, and a change can be taken back: by the token that its answer names, or in words."""

import re
from typing import Any

import pytest

from tests.unit.bot.http_api.chat_kit import CHIEF, SHOP, SITE, Door
from tests.unit.spine_kit import raise_sum, reply, step

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
