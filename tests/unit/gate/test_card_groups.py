"""Which cards stand on one card, under which rules, and what a press on it proves."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.i18n.translate import Translator
from bot.rendering.kinds import render_plan_card
from bot.rendering.spans import to_plain_text
from orchestrator.domain.actor import Actor
from orchestrator.domain.card_view import BULK_SEEN, BULK_VERB, CardView, is_shown_in_part
from orchestrator.gate.approve.card_groups import CardGroup, find_group, find_shown_card, is_merged, list_loose_cards
from orchestrator.gate.approve.confirmations import Decision, calculate_second_nonce
from orchestrator.gate.approve.plan_slots import find_origin_slot
from state.model.card import Card, CardStatus
from state.model.session_state import SessionState

TURN = "01a20e61-1c9a-74aa-b115-5ff9ddb978f3"
STATUSES: tuple[CardStatus, ...] = ("requested", "approved", "executed", "refused", "denied", "expired", "unknown")


def a_card(number: int, **more: Any) -> Card:
    """The card of the step `number` of one plan."""
    line = {"field": "OPPORTUNITY", "name": "Сумма", "before": "1", "after": "2"}
    values = {
        "confirmation_id": f"{number:010x}",
        "status": "requested",
        "effect_id": f"e{number}",
        "method": "crm.deal.update",
        "call_class": "W",
        "slot": f"{TURN}/1/{number}",
        "nonce": f"{number:08x}",
        "taps": 1,
        "four_eyes": False,
        "requested_at": f"2026-11-21T12:00:{number:02}.000000Z",
        "expires_at": f"2026-11-22T12:00:{number:02}.000000Z",
        "preview": {"verb": "update", "entity": "deal", "title": f"Сделка {number}", "lines": [line], "items": [], "count": 1},
        "reasons": [{"code": "gate-critical", "args": {"field": "OPPORTUNITY"}}],
    }
    return Card.from_stored(values | more)


def by_id(*cards: Card) -> dict[str, Card]:
    return {card.confirmation_id: card for card in cards}


def the_group(*cards: Card) -> CardGroup:
    found = find_group(cards[0], by_id(*cards))
    assert found is not None
    return found


def numbers(group: CardGroup) -> list[int]:
    return [int(card.confirmation_id, 16) for card in group.members]


def decision(group: CardGroup, **more: Any) -> Decision:
    return Decision(
        confirmation_id=group.anchor, nonce=group.nonce, approve=True, actor=Actor(key="tg:1", name="Анна"), via="button", **more
    )


def test_cards_of_one_plan_are_a_group_in_the_order_of_its_steps() -> None:
    """Whatever the order in which they were decided or are stored."""
    assert numbers(the_group(a_card(3), a_card(1, status="executed"), a_card(2))) == [1, 2, 3]


@pytest.mark.parametrize("slot", [f"{TURN}/2/2", "other/1/2", "undo:e1", "again:0000000001", ""])
def test_other_cards_do_not_belong_to_it(slot: str) -> None:
    """Of another answer of the model, of another turn, or of no plan."""
    assert find_group(a_card(1), by_id(a_card(1), a_card(2, slot=slot))) is None


def test_a_card_that_replaced_another_takes_its_place() -> None:
    """After a drift, and after an edit, whose slot names no plan; the id of the group stays."""
    drifted = a_card(1, status="superseded"), a_card(7, slot=f"{TURN}/1/1")
    edited = a_card(2, status="superseded", by=f"{8:010x}"), a_card(8, slot="edit:press:1")
    group = the_group(*drifted, *edited, a_card(3))
    assert numbers(group) == [7, 8, 3]
    assert group.anchor == a_card(1).confirmation_id
    assert find_origin_slot(edited[1], by_id(*edited)) == f"{TURN}/1/2"


def test_cards_that_replace_one_another_in_a_circle_end_no_search() -> None:
    one, two = a_card(1, by=f"{2:010x}", slot="edit:1"), a_card(2, by=f"{1:010x}", slot="edit:2")
    assert find_group(one, by_id(one, two)) is None


def test_a_step_closed_without_a_successor_is_still_shown() -> None:
    """Such as those of a person who lost access: the message is drawn a last time, without buttons."""
    group = the_group(a_card(1, status="superseded", why="no-access"), a_card(2, status="superseded", why="no-access"))
    assert (group.waiting, group.merge().status, group.merge().why) == ([], "superseded", "no-access")


def test_the_strictest_rule_of_a_waiting_step_holds_for_all() -> None:
    """Taps, four eyes and leads; a step that is decided asks for nothing more, and its leads still see the message."""
    plain, twice = a_card(1), a_card(2, taps=2, call_class="D")
    led = a_card(3, lead=True, four_eyes=True, told=["tg:6", "tg:5"], told_names=["Вера"])
    merged = the_group(plain, twice, led).merge()
    assert (merged.taps, merged.lead, merged.four_eyes, merged.call_class) == (2, True, True, "WD")
    assert (merged.told, merged.told_names) == (["tg:6", "tg:5"], ["Вера"])
    merged = the_group(plain, twice.with_values(status="denied"), led.with_values(status="denied")).merge()
    assert (merged.taps, merged.lead, merged.four_eyes, merged.call_class) == (1, False, False, "W")
    assert (merged.told, merged.told_names) == (["tg:6", "tg:5"], [])


def test_the_earliest_deadline_and_each_reason_once() -> None:
    merged = the_group(a_card(2), a_card(1)).merge()
    assert merged.expires_at == a_card(1).expires_at
    assert len(merged.reasons) == 1
    assert is_merged(merged)
    assert not is_merged(a_card(1))


@pytest.mark.parametrize("status", STATUSES)
def test_the_nonce_changes_when_a_step_turns_for_the_worse(status: CardStatus) -> None:
    """A second click, or the same input after a crash, goes on behind steps that ran, and behind no other."""
    before, after = the_group(a_card(1), a_card(2)), the_group(a_card(1, status=status), a_card(2))
    assert (before.nonce == after.nonce) is (status in {"requested", "approved", "executed"})


def test_a_decision_is_about_the_group_by_its_nonce_and_its_id() -> None:
    group = the_group(a_card(1), a_card(2))
    assert group.is_meant_by(decision(group))
    second = Decision(
        confirmation_id=group.anchor, nonce=calculate_second_nonce(group.nonce), approve=True, actor=Actor(key="a", name=""), via=""
    )
    assert group.is_meant_by(second)
    single = Decision(confirmation_id=group.anchor, nonce=a_card(1).nonce, approve=True, actor=Actor(key="a", name=""), via="")
    other = Decision(confirmation_id=a_card(2).confirmation_id, nonce=group.nonce, approve=True, actor=Actor(key="a", name=""), via="")
    assert (group.is_meant_by(single), group.is_meant_by(other)) == (False, False)


@given(st.lists(st.sampled_from(STATUSES), min_size=2, max_size=8), st.data())
def test_no_two_sets_of_cards_have_the_same_nonce(statuses: list[CardStatus], data: st.DataObject) -> None:
    """Replacing any one card by another gives another nonce."""
    cards = [a_card(number, status=status) for number, status in enumerate(statuses, start=1)]
    where = data.draw(st.integers(0, len(cards) - 1))
    others = [*cards]
    others[where] = a_card(where + 1, confirmation_id="ffffffffff", nonce="ffffffff", status=statuses[where])
    assert the_group(*cards).nonce != the_group(*others).nonce


def test_what_one_message_cannot_hold_is_shown_one_by_one() -> None:
    """Too many steps, or too long values; also if a step was long only once, so that no card is shown twice."""
    many = [a_card(number, preview={"verb": "update"}) for number in range(1, 52)]
    assert find_group(many[0], by_id(*many)) is None
    batch = {"verb": "batch", "items": [{"title": "Сделка " + "я" * 50, "lines": [{"name": "Сумма", "after": f"{n}"}]} for n in range(50)]}
    assert find_group(a_card(1), by_id(a_card(1), a_card(2, preview=batch))) is None
    long = {
        "verb": "update",
        "title": "Сделка",
        "lines": [{"name": "Комментарий", "before": "", "after": "я" * 3000}],
        "items": [],
        "count": 1,
    }
    was_long = a_card(1, preview=long, status="superseded", by=f"{9:010x}"), a_card(9, slot="edit:1")
    cards = by_id(*was_long, a_card(2))
    assert find_group(was_long[1], cards) is None
    assert [int(card.confirmation_id, 16) for card in list_loose_cards(was_long[1], cards)] == [1, 9, 2]
    assert list_loose_cards(a_card(1), by_id(a_card(1), a_card(2))) == []


def test_a_plan_of_twenty_steps_is_one_card_with_nothing_to_open_first() -> None:
    """Failed before: above fifteen steps each had a card of its own. The card shows all of them, so it may be approved at once."""
    group = the_group(*[a_card(number) for number in range(1, 21)])
    assert numbers(group) == list(range(1, 21))
    assert not is_shown_in_part(group.merge())


def test_a_long_batch_stands_on_the_card_of_its_plan() -> None:
    """Failed before above fifteen commands. Those that do the same share a line, in which each record is named; nothing is to be opened."""
    stage = {"field": "STAGE_ID", "name": "Стадия", "before": "Новая", "after": "Успех"}
    items = [{"verb": "update", "entity": "deal", "title": f"Заказ на сайте {n}", "lines": [stage]} for n in range(50)]
    items[7] = {**items[7], "lines": [{**stage, "before": "Переговоры"}]}
    group = the_group(a_card(1), a_card(2, method="batch", preview={"verb": "batch", "items": items}))
    assert not is_shown_in_part(group.merge())
    view = replace(CardView.from_card(group.merge()), members=tuple(group.draw()))
    text = to_plain_text(render_plan_card(view, Translator("ru")))
    assert len(text) < 4096
    assert "× 49 — Стадия: Новая → Успех: Заказ на сайте 0, Заказ на сайте 1, " in text
    assert text.count("Заказ на сайте") == 50
    assert "• Изменить сделку «Заказ на сайте 7» — Стадия: Переговоры → Успех" in text


def test_a_change_of_many_records_that_must_be_opened_stands_alone() -> None:
    """A plan's card never asks to be opened first, so nothing that must be is on it."""
    alone, seen = ({"verb": BULK_VERB, "count": count, "items": []} for count in (BULK_SEEN + 1, BULK_SEEN))
    assert find_group(a_card(1), by_id(a_card(1), a_card(2, preview=alone))) is None
    assert find_group(a_card(1), by_id(a_card(1), a_card(2, preview=seen))) is not None


@pytest.mark.parametrize(("key", "whole"), [("tg:1007", True), ("cli:7", True), ("http:site:42", False)])
def test_a_client_that_fetches_its_messages_decides_cards_one_by_one(key: str, *, whole: bool) -> None:
    state = SessionState()
    state.agent.confirmations.update(by_id(a_card(1), a_card(2)))
    shown = find_shown_card(a_card(2).confirmation_id, state, key)
    assert shown is not None
    assert is_merged(shown) is whole
