"""Loads the cards that a person may see: those that wait, those of the last days, and one."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bot.console.approvals.shown_cards import CardBundle, ShownCard, build_shown_card
from bot.console.visit import Visit
from bot.http_api.approvals.decisions import build_not_found
from orchestrator.reports.cards import FoundCard, list_plan_cards, load_cards_page, load_recent_cards

DAYS: Final = 7
"""How far back decided cards are listed; older ones stand in the audit."""
MOST: Final = 20
"""Cards on one page of the list."""
_MOST_READ: Final = 200
WAITING: Final = "requested"


@dataclass(frozen=True, kw_only=True)
class CardList:
    """The list of one filter."""

    bundles: tuple[CardBundle, ...]
    has_more: bool
    """Whether there are more cards than the page shows."""


@dataclass(frozen=True, kw_only=True)
class CardPage:
    """One card, with the other steps of its plan."""

    shown: ShownCard
    others: tuple[ShownCard, ...]
    may_read_chat: bool
    """Whether the person may read the conversation in which it was asked for."""


@dataclass(frozen=True, kw_only=True)
class WaitingCards:
    """The cards that wait and that the person may see, none of them drawn yet; what ends soonest comes first."""

    mine: tuple[FoundCard, ...]
    """Those that the person may approve."""
    others: tuple[FoundCard, ...]
    has_more: bool
    """Whether there are more than were read."""


async def load_waiting(visit: Visit) -> WaitingCards:
    """Return the cards that wait and that the person may see. Raises StoreError."""
    viewer = visit.viewer
    page = await load_cards_page(visit.services.store, viewer, session="", state=WAITING, after=None, limit=_MOST_READ)
    cards = sorted(page.cards, key=lambda card: (card.entry.expires_at, card.place))
    mine: list[FoundCard] = []
    others: list[FoundCard] = []
    for card in cards:
        (mine if viewer.find_objection(card.entry, approve=True) is None else others).append(card)
    return WaitingCards(mine=tuple(mine), others=tuple(others), has_more=page.after is not None)


async def load_list(visit: Visit, state: str, whole: AbstractSet[str]) -> CardList:
    """Return the cards in this state: all that wait, or those asked for in the last days, the newest first. Raises StoreError.

    `whole` are the ids of the cards that the person asked to see in full.
    """
    viewer = visit.viewer
    if state == WAITING:
        waiting_cards = await load_waiting(visit)
        bundles = _bundle_cards([*waiting_cards.mine, *waiting_cards.others])
        has_more = waiting_cards.has_more or len(bundles) > MOST
    else:
        since = visit.services.clock.now() - timedelta(days=DAYS)
        cards = await load_recent_cards(visit.services.store, viewer, state=state, since=since, limit=MOST + 1)
        bundles, has_more = [[card] for card in cards], len(cards) > MOST

    def build(one: FoundCard) -> ShownCard:
        return build_shown_card(one, viewer, visit.tr, is_whole=one.entry.confirmation_id in whole)

    return CardList(bundles=tuple(CardBundle(cards=tuple(map(build, members))) for members in bundles[:MOST]), has_more=has_more)


def _bundle_cards(cards: list[FoundCard]) -> list[list[FoundCard]]:
    """Return the cards with those of one plan together, in the order of its steps; a plan stands where its first card stood."""
    waiting = {card.entry.confirmation_id: card for card in cards}
    bundles = []
    for card in cards:
        if card.entry.confirmation_id in waiting:
            members = [waiting.pop(key) for card in (card, *list_plan_cards(card)) if (key := card.entry.confirmation_id) in waiting]
            bundles.append(sorted(members, key=lambda card: card.place))
    return bundles


async def load_card(visit: Visit, confirmation_id: str, whole: AbstractSet[str]) -> CardPage:
    """Return one card; raises ApiError 404 if there is none that the person may see, and StoreError."""
    card = await visit.services.desk.find_card(visit.caller, confirmation_id)
    if card is None:
        raise build_not_found()
    viewer = visit.viewer
    shown = build_shown_card(card, viewer, visit.tr, is_whole=confirmation_id in whole)
    others = [build_shown_card(one, viewer, visit.tr) for one in list_plan_cards(card) if viewer.may_see_card(one.session, one.entry)]
    return CardPage(shown=shown, others=tuple(others), may_read_chat=viewer.may_see_session(card.session))
