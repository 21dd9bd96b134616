"""Open cards once more: /pending, and after a stop that was longer than Telegram keeps a press."""

from datetime import timedelta
from typing import Any

import pytest

from bot.rendering.kinds import build_message_link
from orchestrator.features.cards.open_cards import LOST_AFTER, REFRESH, CardRefresher, build_fresh_card_row, build_pending_rows
from orchestrator.gate.approve.confirmations import add_card_copies
from state.model.card import Card
from tests.unit.features.cards.cards_kit import RU, asked, cards_of, shown
from tests.unit.spine_kit import CHAT, NOW, World, press, raise_sum
from tests.unit.spine_kit import message as typed
from tests.unit.spine_kit import reply as said

GROUP = "tg:-1001234567890:5"


async def test_pending_shows_the_cards_themselves_at_the_end_of_a_private_chat(world: World, entry: dict[str, Any]) -> None:
    """A card far above has scrolled away: it is sent anew, and what stood for it loses its buttons."""
    session = await world.session()
    told, card = await build_pending_rows(session, world.store)
    assert "Ждёт решения 1 запрос" in shown(told)
    assert (card.kind, card.body["anew"], card.body["confirmation_id"]) == ("card", True, entry["confirmation_id"])
    await session.close()


def test_leads_see_a_card_anew_only_after_a_stop() -> None:
    """Whoever asks for their own cards does not ring at the lead who was asked."""
    entry = Card.create(confirmation_id="0a1b2c3d4e", told=["tg:1006"], told_names=["Вера"], status="requested")
    own, both = build_fresh_card_row(CHAT, entry, NOW), build_fresh_card_row(CHAT, entry, NOW, leads="too")
    assert [row.session for row in add_card_copies([own])] == [CHAT]
    assert [row.session for row in add_card_copies([both])] == [CHAT, "tg:1006"]
    assert own.body["told_names"] == ["Вера"]


async def test_pending_with_nothing_open_says_so(world: World) -> None:
    session = await world.session()
    (told,) = await build_pending_rows(session, world.store)
    assert shown(told) == "Ничего не ждёт решения."


async def test_pending_in_a_group_gives_links_and_keeps_the_cards_where_they_are(world: World) -> None:
    """20 messages a minute are all a group has; a card that never arrived is shown."""
    world.model.will(said(raise_sum(1)), said(raise_sum(2)))
    await world.work(typed("подними сумму сделки 481", key=GROUP))
    await world.work(typed("нет, до двух", key=GROUP))
    for row in world.sql.list_due_outbox("tg", world.clock.now()):
        world.sql.mark_outbox_sent(row.id, "70")
    rows = world.sql.list_due_outbox("tg", world.clock.now())
    world.sql.mark_outbox_sent(rows[0].id, "71")  # the first card; the second did not get through
    session = await world.session(GROUP)
    listed, card = await build_pending_rows(session, world.store)
    text = shown(listed)
    assert "Ждут решения 2 запроса:" in text
    assert "«Ромашка» (https://t.me/c/1234567890/5/71) · Просит Анна" in text
    assert "… и ещё 1" in text
    assert card.body["anew"]


@pytest.mark.parametrize(
    ("session", "ref", "link"),
    [
        ("tg:-1001234567890", "7", "https://t.me/c/1234567890/7"),
        ("tg:-1001234567890:5", "7", "https://t.me/c/1234567890/5/7"),
        ("tg:-77", "7", ""),
        ("tg:-77", "7@-1001234567890", "https://t.me/c/1234567890/7"),
        ("tg:-77", "7@-78", ""),
        ("tg:1007", "7", ""),
        ("tg:-1001234567890", "", ""),
    ],
)
def test_only_messages_of_supergroups_have_addresses(session: str, ref: str, link: str) -> None:
    assert build_message_link(session, ref) == link


async def test_cards_are_shown_anew_once_after_a_stop_longer_than_a_press_is_kept(world: World, entry: dict[str, Any]) -> None:
    """facts/telegram §5: taps made while the bot is away longer than 150 s are gone. Once for each such stop, however often it dies at it."""
    await CardRefresher(world.store).run(world.orchestrator.receive, NOW)
    world.clock.advance(LOST_AFTER + timedelta(seconds=1))
    assert world.outbox() == []
    for _ in range(2):  # the first dies before it notes that it was there
        await _looked(world)
    rows = world.outbox()
    assert [row.kind for row in rows] == ["reply", "card"]
    assert "нажмите ещё раз" in shown(rows[0])
    assert rows[1].body["anew"]
    await world.work(press(entry))
    assert len(world.portal.ledger) == 1


async def _looked(world: World) -> None:
    before = await world.store.get_value("cards:alive")
    await CardRefresher(world.store).run(world.orchestrator.receive, world.clock.now())
    assert before is not None
    await world.store.set_value("cards:alive", before)
    await world.work()


@pytest.mark.parametrize("away", [timedelta(seconds=20), LOST_AFTER])
async def test_a_short_stop_shows_nothing_anew(world: World, away: timedelta) -> None:
    await asked(world)
    refresher = CardRefresher(world.store)
    await refresher.run(world.orchestrator.receive, world.clock.now())
    world.clock.advance(away)
    await refresher.run(world.orchestrator.receive, world.clock.now())
    await world.work()
    assert world.outbox() == []


async def test_a_card_decided_meanwhile_is_not_shown_anew(world: World, entry: dict[str, Any]) -> None:
    refresher = CardRefresher(world.store)
    await refresher.run(world.orchestrator.receive, world.clock.now())
    await world.work(press(entry))
    world.outbox()
    world.clock.advance(LOST_AFTER * 2)
    await refresher.run(world.orchestrator.receive, world.clock.now())
    await world.work()
    assert cards_of(world.outbox()) == []


def test_the_kind_of_the_input_is_worked(world: World) -> None:
    assert REFRESH in world.tools.features.inbox
    assert CHAT.startswith("tg:")
    assert RU.has_message("cards-again")
