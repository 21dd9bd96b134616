"""Loads the cards that a person may see."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bot.console.approvals.shown_cards import CardBundle, ShownCard, build_shown_card
from bot.console.visit import Visit
from bot.http_api.approvals.confirmations import build_not_found
from orchestrator.reports.cards import FoundCard, list_plan_cards, load_cards_page, load_recent_cards

DAYS: Final = 7
"""Days of decided cards on the list; older ones stand in the audit."""
MOST: Final = 20
_MOST_READ: Final = 200
WAITING: Final = "requested"


@dataclass(frozen=True, kw_only=True)
class CardList:
    bundles: tuple[CardBundle, ...]
    has_more: bool


@dataclass(frozen=True, kw_only=True)
class CardPage:
    shown: ShownCard
    others: tuple[ShownCard, ...]
    may_read_chat: bool
    """The conversation in which it was asked for."""


@dataclass(frozen=True, kw_only=True)
class WaitingCards:
    """What ends soonest comes first."""

    mine: tuple[FoundCard, ...]
    others: tuple[FoundCard, ...]
    has_more: bool
    """More than were read."""


async def load_waiting(visit: Visit) -> WaitingCards:
    """Raises StoreError."""
    viewer = visit.viewer
    page = await load_cards_page(visit.services.store, viewer, session="", state=WAITING, after=None, limit=_MOST_READ)
    cards = sorted(page.cards, key=lambda card: (card.entry.expires_at, card.place))
    mine: list[FoundCard] = []
    others: list[FoundCard] = []
    for card in cards:
        (mine if viewer.find_objection(card.entry, approve=True) is None else others).append(card)
    return WaitingCards(mine=tuple(mine), others=tuple(others), has_more=page.after is not None)


async def load_list(visit: Visit, state: str, whole: AbstractSet[str]) -> CardList:
    """All that wait, or those of the last days, the newest first. `whole` are cards to show in full. Raises StoreError."""
    viewer = visit.viewer
    if state == WAITING:
        waiting_cards = await load_waiting(visit)
        bundles = _bundle_cards([*waiting_cards.mine, *waiting_cards.others])
        has_more = waiting_cards.has_more or len(bundles) > MOST
    else:
        since = visit.services.clock.now() - timedelta(days=DAYS)
        cards = await load_recent_cards(visit.services.store, viewer, state=state, since=since, limit=MOST + 1)
        bundles, has_more = [[card] for card in cards], len(cards) > MOST

    def build(found_card: FoundCard) -> ShownCard:
        return build_shown_card(found_card, viewer, visit.tr, is_whole=found_card.entry.confirmation_id in whole)

    return CardList(bundles=tuple(CardBundle(cards=tuple(map(build, members))) for members in bundles[:MOST]), has_more=has_more)


def _bundle_cards(cards: list[FoundCard]) -> list[list[FoundCard]]:
    """Those of one plan together, where its first card stood."""
    waiting = {card.entry.confirmation_id: card for card in cards}
    bundles = []
    for card in cards:
        if card.entry.confirmation_id in waiting:
            members = [waiting.pop(key) for card in (card, *list_plan_cards(card)) if (key := card.entry.confirmation_id) in waiting]
            bundles.append(sorted(members, key=lambda card: card.place))
    return bundles


async def load_card(visit: Visit, confirmation_id: str, whole: AbstractSet[str]) -> CardPage:
    """Raises ApiError 404 if there is none that the person may see, and StoreError."""
    card = await visit.services.desk.find_card(visit.caller, confirmation_id)
    if card is None:
        raise build_not_found()
    viewer = visit.viewer
    shown_card = build_shown_card(card, viewer, visit.tr, is_whole=confirmation_id in whole)
    others = [build_shown_card(one, viewer, visit.tr) for one in list_plan_cards(card) if viewer.may_see_card(one.session, one.entry)]
    return CardPage(shown=shown_card, others=tuple(others), may_read_chat=viewer.may_see_session(card.session))
