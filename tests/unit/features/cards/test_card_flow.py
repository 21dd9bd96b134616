"""Cards as they come out of the gate, read as a person reads them."""

from pathlib import Path

from tests.unit.features.cards.cards_kit import asked, cards_of, shown
from tests.unit.spine_kit import World, a_world, press, step

ADD = step("crm.deal.add", {"fields": {"TITLE": "Лютик", "OPPORTUNITY": 500000}})


async def test_a_created_record_is_named_with_the_way_to_it_for_ever(world: World) -> None:
    """Also when a later press redraws the card."""
    entry = await asked(world, ADD, text="заведи сделку Лютик на 500 тысяч")
    await world.work(press(entry))
    (number,) = (
        number for kind, number in world.portal.records if kind == "deal" and world.portal.records[kind, number].get("TITLE") == "Лютик"
    )
    for _ in range(2):
        row = next(row for row in world.outbox() if row.kind == "card")
        assert f"Сделка №{number} (https://" in shown(row)
        assert f"/crm/deal/details/{number}/)" in shown(row)
        await world.work(press(entry))


async def test_the_careful_mode_stands_on_its_cards(tmp_path: Path) -> None:
    """facts/telegram §5: canary says so on the card."""
    async with a_world(tmp_path, mode="canary") as canary:
        await asked(canary, ADD, text="заведи сделку Лютик на 500 тысяч")
        session = await canary.session(owner="reader")
        (entry,) = session.state.agent.confirmations.values()
        assert entry.preview["mode"] == "canary"


async def test_in_full_mode_a_card_says_nothing_of_modes(world: World) -> None:
    entry = await asked(world)
    assert "mode" not in entry["preview"]
    await world.work(press(entry))
    (card,) = cards_of(world.outbox())
    assert card["status"] == "executed"
