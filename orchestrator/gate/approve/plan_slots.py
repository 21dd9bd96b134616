"""Which step of which plan a card belongs to, also if a person edited its values or it was asked again."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from state.model.card import Card

_STEP: Final = re.compile(r"(?P<plan>[^:/]+/[0-9]+)/(?P<number>[0-9]+)", re.ASCII)


def find_origin_slot(card: Card, cards: Mapping[str, Card]) -> str:
    """The step's "<turn>/<iteration>/<step>", also if a person edited the values since."""
    return follow_back(card, index_replaced(cards)).slot


def find_origin_slots(cards: Mapping[str, Card]) -> dict[str, str]:
    """Each `find_origin_slot`, by the cards' ids."""
    replaced = index_replaced(cards)
    return {card.confirmation_id: follow_back(card, replaced).slot for card in cards.values()}


def parse_step(slot: str) -> tuple[str, int]:
    """(plan, number of the step); ("", 0) for a call of no plan."""
    place = _STEP.fullmatch(slot)
    return (place["plan"], int(place["number"])) if place is not None else ("", 0)


def list_plan_cards(plan: str, cards: Mapping[str, Card]) -> Sequence[tuple[int, Card]]:
    """Every version of every card of the plan, with the number of its step."""
    places = ((parse_step(slot), cards[key]) for key, slot in find_origin_slots(cards).items())
    return [(number, card) for (own_plan, number), card in places if own_plan == plan]


def select_current(versions: Sequence[Card]) -> Card:
    return max(versions, key=lambda version: (version.status != "superseded", version.requested_at))


def index_replaced(cards: Mapping[str, Card]) -> dict[str, Card]:
    return {card.by: card for card in cards.values() if card.by}


def follow_back(card: Card, replaced: Mapping[str, Card]) -> Card:
    seen = {card.confirmation_id}
    while (older := replaced.get(card.confirmation_id)) is not None and older.confirmation_id not in seen:
        seen.add(older.confirmation_id)
        card = older
    return card
