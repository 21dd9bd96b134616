"""Loads the cards that a person may see, each as in Telegram, cut into the parts that a page lays out."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from bot.console.visit import Visit
from bot.console.widgets import LONGEST
from bot.http_api.approvals.card_models import Confirmation, to_confirmation
from bot.http_api.approvals.confirmations import build_not_found
from bot.i18n.translate import Translator
from bot.rendering.card_reasons import evaluate_risk, list_reasons
from bot.rendering.cards import describe_loss, is_undo, render_following, render_state
from bot.rendering.headings import render_heading
from bot.rendering.spans import Spans
from orchestrator.domain.card_view import BULK_SEEN, CardView, PreviewPart
from orchestrator.reports.cards import FoundCard, list_plan_cards, load_cards_page, load_recent_cards
from orchestrator.reports.viewer import Viewer

DAYS: Final = 7
"""Days of decided cards on the list; older ones stand in the audit."""
MOST: Final = 20
_MOST_READ: Final = 200
WAITING: Final = "requested"


MOST_COMMANDS: Final = 100
"""Commands of a batch until the person asks for all of them."""
_OUTWARD: Final = "N"


@dataclass(frozen=True, kw_only=True)
class CardRow:
    """`before` is "" for a record that is to be made."""

    name: str
    before: str
    after: str
    loss: str = ""
    """What becomes of a lost text, in words; "" if none is."""


@dataclass(frozen=True, kw_only=True)
class CardCommand:
    """`outcome` is "" until it has run."""

    heading: Spans
    rows: tuple[CardRow, ...]
    outcome: str
    error: str


@dataclass(frozen=True, kw_only=True)
class ShownCard:
    card: Confirmation
    effect_id: str
    heading: Spans
    url: str
    """In Bitrix24; "" if there is none."""
    risk: str
    mode: str
    rows: tuple[CardRow, ...]
    commands: tuple[CardCommand, ...]
    following: Spans
    reasons: tuple[str, ...]
    deciders: str
    state: Spans
    """How it was decided and what came of it; empty while it waits."""
    is_outward: bool
    """It sends a text out of the company: never folded."""
    is_undo: bool
    is_own: bool
    is_whole: bool = False

    @property
    def is_cut(self) -> bool:
        """A part of what will be sent is missing, so that it cannot be approved yet."""
        if self.is_whole:
            return False
        if self.card.count > max(BULK_SEEN, len(self.commands)):
            return True
        rows = [*self.rows, *(row for command in self.commands for row in command.rows)]
        longest = max((len(text) for row in rows for text in (row.name, row.before, row.after)), default=0)
        return longest > LONGEST or len(self.commands) > MOST_COMMANDS or sum(len(span.text) for span in self.following) > LONGEST


@dataclass(frozen=True, kw_only=True)
class CardBundle:
    """One card, or those of a plan in order: each is decided by itself."""

    cards: tuple[ShownCard, ...]

    @property
    def is_plan(self) -> bool:
        return len(self.cards) > 1


def build_shown_card(found_card: FoundCard, viewer: Viewer, tr: Translator, *, is_whole: bool = False) -> ShownCard:
    """`is_whole`: the person asked to see all of it."""
    view = CardView.from_card(found_card.entry)
    card = to_confirmation(found_card, viewer, tr, has_text=False)
    outcomes = {command.key: command for command in card.commands}
    waits, is_done = found_card.entry.is_waiting, found_card.entry.status == "executed"
    return ShownCard(
        card=card,
        effect_id=found_card.entry.effect_id,
        heading=render_heading(view.preview, found_card.entry.method, tr),
        url=view.preview.url,
        risk=evaluate_risk(view),
        mode=view.preview.mode,
        rows=_to_rows(view.preview, tr, is_done=is_done),
        commands=tuple(
            CardCommand(
                heading=render_heading(item, item.method, tr),
                rows=_to_rows(item, tr, is_done=is_done),
                outcome=outcomes[item.key].outcome,
                error=outcomes[item.key].error,
            )
            for item in view.preview.items
        ),
        following=render_following(found_card.entry, tr),
        reasons=tuple(list_reasons(view, tr)) if waits else tuple(card.reasons),
        deciders=", ".join(found_card.entry.told_names),
        state=() if waits else render_state(view, tr),
        is_outward=_OUTWARD in found_card.entry.call_class,
        is_undo=is_undo(found_card.entry),
        is_own=found_card.entry.requested_by == viewer.actor.key,
        is_whole=is_whole,
    )


def _to_rows(part: PreviewPart, tr: Translator, *, is_done: bool) -> tuple[CardRow, ...]:
    return tuple(
        CardRow(name=line.name or line.field, before=line.before, after=line.after, loss=describe_loss(line, tr, is_done=is_done))
        for line in part.lines
    )


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

    shown = [CardBundle(cards=tuple([await _build_card(visit, card, whole) for card in members])) for members in bundles[:MOST]]
    return CardList(bundles=tuple(shown), has_more=has_more)


async def _build_card(visit: Visit, card: FoundCard, whole: AbstractSet[str]) -> ShownCard:
    """Of a change of many records every one, if the person asked to see them."""
    if card.entry.confirmation_id not in whole:
        return build_shown_card(card, visit.viewer, visit.tr)
    return build_shown_card(await visit.services.desk.add_records(card), visit.viewer, visit.tr, is_whole=True)


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
    shown_card = await _build_card(visit, card, whole)
    others = [build_shown_card(one, viewer, visit.tr) for one in list_plan_cards(card) if viewer.may_see_card(one.session, one.entry)]
    return CardPage(shown=shown_card, others=tuple(others), may_read_chat=viewer.may_see_session(card.session))
