"""Loads the cards that a person may see: those that wait, those of the last days, and one."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bot.console.approvals.shown_cards import CardBundle, ShownCard, build_shown_card, bundle_cards
from bot.console.visit import Visit
from bot.http_api.approvals.decisions import build_not_found
from orchestrator.reports.cards import list_plan_cards, load_cards_page, load_recent_cards

DAYS: Final = 7
"""How far back decided cards are listed; older ones stand in the audit."""
MOST: Final = 50
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


async def load_list(visit: Visit, state: str, whole: AbstractSet[str]) -> CardList:
    """Return the cards in this state: all that wait, or those asked for in the last days, the newest first. Raises StoreError.

    `whole` are the ids of the cards that the person asked to see in full.
    """
    if state == WAITING:
        cards, has_more = await load_waiting(visit, whole)
        bundles = bundle_cards(cards)
        return CardList(bundles=tuple(bundles[:MOST]), has_more=has_more or len(bundles) > MOST)
    since = visit.services.clock.now() - timedelta(days=DAYS)
    viewer = visit.viewer
    found = await load_recent_cards(visit.services.store, viewer, state=state, since=since, limit=MOST + 1)
    cards = [build_shown_card(one, viewer, visit.tr, is_whole=one.entry.confirmation_id in whole) for one in found[:MOST]]
    return CardList(bundles=tuple(CardBundle(cards=(one,)) for one in cards), has_more=len(found) > MOST)


async def load_waiting(visit: Visit, whole: AbstractSet[str] = frozenset()) -> tuple[list[ShownCard], bool]:
    """Return the cards that wait and that the person may see, and whether there are more than were read. Raises StoreError."""
    viewer = visit.viewer
    page = await load_cards_page(visit.services.store, viewer, session="", state=WAITING, after=None, limit=_MOST_READ)
    cards = [build_shown_card(one, viewer, visit.tr, is_whole=one.entry.confirmation_id in whole) for one in page.cards]
    return cards, page.after is not None


async def load_card(visit: Visit, confirmation_id: str, whole: AbstractSet[str]) -> CardPage:
    """Return one card; raises ApiError 404 if there is none that the person may see, and StoreError."""
    found = await visit.services.desk.find_card(visit.caller, confirmation_id)
    if found is None:
        raise build_not_found()
    viewer = visit.viewer
    shown = build_shown_card(found, viewer, visit.tr, is_whole=confirmation_id in whole)
    others = [build_shown_card(one, viewer, visit.tr) for one in list_plan_cards(found) if viewer.may_see_card(one.session, one.entry)]
    return CardPage(shown=shown, others=tuple(others), may_read_chat=viewer.may_see_session(found.session))
