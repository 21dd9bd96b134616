"""A card with no room for everything is approved only by somebody who opened the rest of it."""

from pathlib import Path
from typing import Any

import pytest

from bot.telegram.intake.callbacks import ActionClick, CardClick, unpack
from bot.telegram.view.keyboards import build_card_keyboard
from orchestrator.domain.card_view import CARD_ROOM, CardView
from state.model.card import Card
from tests.unit.features.cards.cards_kit import RU, asked, pressing, shown
from tests.unit.features.leads.leads_kit import a_department
from tests.unit.spine_kit import ANNA, VERA, World, command, message, press, reply, step

END = "а скидка 90 процентов"
LONG = step("crm.deal.update", {"id": 481, "fields": {"COMMENTS": "я" * CARD_ROOM + END, "OPPORTUNITY": 2_500_000}})


def list_clicks(body: Any) -> list[Any]:
    markup = build_card_keyboard(CardView.from_body(body), RU)
    return [unpack(button.callback_data or "") for line in markup.inline_keyboard for button in line] if markup else []


def has_approval(body: Any) -> bool:
    return any(isinstance(click, CardClick) and click.approve for click in list_clicks(body))


@pytest.mark.req("S004-26", "S004-9")
async def test_a_press_before_the_rest_was_read_writes_nothing(world: World) -> None:
    """Neither a forged press nor a typed yes counts; after «Подробнее» the card stands below the text with its button."""
    body = await asked(world, LONG)
    assert not has_approval(body)
    for via in ("button", "typed"):
        await world.work(press(body, via=via))
        assert "toast:card-open-first" in world.codes()
    assert world.portal.ledger == []
    await world.work(command("details", confirmation_id=body["confirmation_id"]))
    details, card = world.outbox()
    assert END in shown(details)
    assert (card.kind, card.body["anew"], has_approval(card.body)) == ("card", True, True)
    await world.work(press(card.body))
    assert len(world.portal.ledger) == 1
    assert world.portal.records["deal", 481]["COMMENTS"].endswith(END)
    assert len(world.events("CardOpened")) == 1


async def test_opening_again_shows_the_text_and_records_nothing(world: World) -> None:
    body = await asked(world, LONG)
    for _ in range(2):
        await world.work(command("details", confirmation_id=body["confirmation_id"]))
    assert [row.kind for row in world.outbox()] == ["details", "card", "details"]
    assert len(world.events("CardOpened")) == 1


async def test_that_one_person_read_it_is_no_approval_by_another(world: World) -> None:
    """In a group the lead who presses must have opened the rest, too."""
    world.model.will(reply(LONG))
    await world.work(message("поставь комментарий в сделке 481", key="tg:-100"))
    body = next(row.body for row in world.outbox() if row.kind == "card")
    await world.work(command("details", confirmation_id=body["confirmation_id"], key="tg:-100"))
    world.outbox()
    await world.work(press(body, actor=VERA, key="tg:-100"))
    assert "toast:card-open-first" in world.codes()
    assert world.portal.ledger == []
    await world.work(
        command("details", confirmation_id=body["confirmation_id"], actor=VERA, key="tg:-100"), press(body, actor=VERA, key="tg:-100")
    )
    assert len(world.portal.ledger) == 1


async def test_who_denies_needs_not_read_on(world: World) -> None:
    body = await asked(world, LONG)
    await world.work(press(body, approve=False))
    (row,) = world.events("ConfirmationDenied")
    assert row.data["denied_by"] == ANNA.key


async def test_over_the_api_every_value_was_shown(world: World) -> None:
    """The API hands out whole values and takes back the card's fingerprint."""
    body = await asked(world, LONG)
    await world.work(press(body, via="http"))
    assert len(world.portal.ledger) == 1


async def test_a_lead_who_presses_in_a_chat_has_read_on_wherever_the_card_belongs(tmp_path: Path) -> None:
    """Seen: a press from a lead's chat about a card of the API counted as if the API had shown them everything."""
    async with a_department(tmp_path) as world:
        world.model.will(reply(LONG))
        await world.work(message("поставь комментарий в сделке 481", key="http:site"))
        copy = next(row.body for row in world.outbox() if row.kind == "card" and row.session == VERA.key)
        await world.work(press(copy, actor=VERA, key="http:site"))
        assert world.portal.ledger == []
        await world.work(press(copy, actor=VERA, key="http:site", via="http"))
        assert len(world.portal.ledger) == 1


async def test_a_lead_opens_the_rest_in_their_own_chat(tmp_path: Path) -> None:
    """The copy gets its button there, and the requester's card stays as it is."""
    async with a_department(tmp_path) as world:
        world.model.will(reply(LONG))
        await world.work(message("поставь комментарий в сделке 481"))
        copy = next(row.body for row in world.outbox() if row.kind == "card" and row.session == VERA.key)
        assert not has_approval(copy)
        words = next(click.words for click in list_clicks(copy) if isinstance(click, ActionClick) and click.words[0] == "details")
        await world.work(press(copy, actor=VERA))
        assert world.portal.ledger == []
        world.outbox()
        await world.work(pressing(*words, actor=VERA, key=VERA.key))
        rows = world.outbox()
        assert [(row.kind, row.session.removesuffix(":toast")) for row in rows] == [
            ("toast", VERA.key),
            ("details", VERA.key),
            ("card", VERA.key),
        ]
        assert has_approval(rows[-1].body)
        await world.work(press(Card.from_stored(rows[-1].body), actor=VERA))
        assert len(world.portal.ledger) == 1
