"""A card that no longer fits says which values changed; what the same plan changed with its own approved steps is no such change."""

from typing import Any

import pytest

from bot.i18n.translate import Locale, Translator
from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Notice
from orchestrator.sessions.session import Session
from state.model.card import Card
from tests.unit.gate.submit_kit import SUM, decide, yes
from tests.unit.spine_kit import World, card, effect
from tests.unit.spine_portal import says

STAGE = ("crm.deal.update", {"id": 481, "fields": {"STAGE_ID": "WON"}})
CURRENCY = ("crm.deal.update", {"id": 481, "fields": {"CURRENCY_ID": "USD", "OPPORTUNITY": 5000}})
MANY = (
    "crm.deal.update",
    {"id": 481, "fields": {"OPPORTUNITY": 7, "TITLE": "Мак", "STAGE_ID": "WON", "COMMENTS": "да", "PROBABILITY": 70, "OPENED": "N"}},
)


async def read_new_card(world: World, session: Session, entry: Card, locale: Locale = "ru") -> str:
    """Press, and return the first reason of the card that comes instead."""
    decided = await decide(world, session, yes(entry))
    new = card(session, decided.replaced_by.confirmation_id)
    return Translator(locale).translate_notice(Notice.model_validate(new.reasons[0]))


@pytest.mark.req("S004-31")
@pytest.mark.parametrize(
    ("asked", "changed", "said"),
    [
        (SUM, {"OPPORTUNITY": "1100000.00"}, "сумма изменилась: 1\u00a0000\u00a0000 → 1\u00a0100\u00a0000\u00a0₽"),
        (STAGE, {"TITLE": "Лютик"}, "поле «Название» изменилось: Ромашка → Лютик"),
        (STAGE, {"ASSIGNED_BY_ID": "8"}, None),
        (SUM, {"CURRENCY_ID": "USD"}, "валюта изменилась: "),
    ],
    ids=["sum", "title", "person", "currency"],
)
async def test_drift_names_the_field_and_both_values(
    world: World, session: Session, asked: tuple[str, Any], changed: dict[str, str], said: str | None
) -> None:
    """The new card tells what changed while the old one waited, in words."""
    entry = await world.asked(session, effect(*asked))
    world.portal.records["deal", 481].update(changed)
    if said is None:  # the deal is another person's now: there is nothing to ask Anna any more
        decided = await decide(world, session, yes(entry))
        assert decided.outcome.status == "refused"
        return
    found = await read_new_card(world, session, entry)
    assert said in found
    assert world.portal.ledger == []


async def test_the_old_card_says_the_same(world: World, session: Session) -> None:
    """The person who pressed reads on the card itself why nothing was sent; a field too many is counted."""
    entry = await world.asked(session, effect(*MANY))
    world.portal.records["deal", 481].update(
        {"OPPORTUNITY": "5.00", "TITLE": "Лютик", "CLOSEDATE": "2027-01-01", "COMMENTS": "нет", "PROBABILITY": "20"}
    )
    assert (await decide(world, session, yes(entry))).replaced_by is not None
    old = card(session, entry.confirmation_id)
    assert (old.status, old.why) == ("superseded", "changed-meanwhile")
    said = Translator("ru").translate("changed-values", **old.args)
    assert said.count(" → ") == 3
    assert said.startswith("Пока карточка ждала: сумма изменилась")
    assert said.endswith("; ещё 1 поле")


@pytest.mark.req("S004-31", "G2")
async def test_an_approved_step_of_the_same_plan_is_no_drift(world: World, session: Session) -> None:
    """Two cards about the same sum, both approved: the second runs, and its undo would bring back what the first one wrote."""
    first = await world.asked(session, effect(*SUM, slot="t1/1/1"))
    second = await world.asked(session, effect(*CURRENCY, slot="t1/1/2"))
    assert (await decide(world, session, yes(first))).replaced_by is None
    done = await decide(world, session, yes(second))
    assert done.outcome.status == "succeeded"
    row = world.sql.find_effect(second.effect_id)
    assert str(row.call["before"]["deal:481"]["OPPORTUNITY"]) == "1200000"


async def test_what_others_write_after_the_own_step_is_drift(world: World, session: Session) -> None:
    """Somebody raises the sum once more between the two presses: the second card is asked again, with that value."""
    first = await world.asked(session, effect(*SUM, slot="t1/1/1"))
    second = await world.asked(session, effect(*CURRENCY, slot="t1/1/2"))
    await decide(world, session, yes(first))
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1300000.00"
    assert "1\u00a0000\u00a0000 → 1\u00a0300\u00a0000" in await read_new_card(world, session, second)


async def test_an_approved_step_of_another_turn_is_drift(world: World, session: Session) -> None:
    """Only the plan that the person saw as one counts as one."""
    first = await world.asked(session, effect(*SUM, slot="t1/1/1"))
    result = await world.submit(session, effect(*CURRENCY, slot="t2/1/1"), turn_id="t2")
    assert not isinstance(result, Outcome)
    await decide(world, session, yes(first))
    assert "the amount changed: 1 000 000" in (await read_new_card(world, session, card(session, result.confirmation_id), "en")).replace(
        "\u00a0", " "
    ).replace(",", " ")


async def test_a_denied_or_failed_step_takes_nothing_over(world: World, session: Session) -> None:
    """The first step was refused by the portal, and somebody else wrote its very value: that is a change."""
    first = await world.asked(session, effect(*SUM, slot="t1/1/1"))
    second = await world.asked(session, effect(*CURRENCY, slot="t1/1/2"))
    world.portal.will("crm.deal.update", says(400, {"error": "ERROR_CORE", "error_description": "no"}))
    await decide(world, session, yes(first))
    world.portal.records["deal", 481]["OPPORTUNITY"] = "1200000.00"
    assert "сумма изменилась" in await read_new_card(world, session, second)


async def test_two_phones_of_one_plan_are_both_added(world: World) -> None:
    """The first new phone does not ask a second time for the second one."""
    world.portal.records["contact", 43]["PHONE"] = [{"ID": "156", "VALUE": "+79000000000", "VALUE_TYPE": "WORK"}]
    session = await world.session()
    phones = ["+79001111111", "+79002222222"]
    cards = [
        await world.asked(
            session,
            effect(
                "crm.contact.update",
                {"id": 43, "fields": {"PHONE": [{"VALUE": phone, "VALUE_TYPE": "WORK"}]}},
                slot=f"t1/1/{number}",
                requires_confirmation=True,
            ),
        )
        for number, phone in enumerate(phones)
    ]
    first = await decide(world, session, yes(cards[0]))
    assert first.outcome is not None
    world.portal.records["contact", 43]["PHONE"] = [
        {"ID": "156", "VALUE": "+79000000000", "VALUE_TYPE": "WORK"},
        {"ID": "157", "VALUE": phones[0], "VALUE_TYPE": "WORK"},
    ]
    second = await decide(world, session, yes(cards[1]))
    assert second.outcome.status == "succeeded"
