"""A card as in Telegram, cut into the parts that a page lays out."""

from dataclasses import dataclass
from typing import Final

from bot.console.widgets import LONGEST
from bot.http_api.approvals.card_models import Confirmation, to_confirmation
from bot.i18n.translate import Translator
from bot.rendering.card_reasons import evaluate_risk, list_reasons
from bot.rendering.cards import describe_loss, is_undo, render_following, render_state
from bot.rendering.headings import render_heading
from bot.rendering.spans import Spans
from orchestrator.domain.card_view import CardView, PreviewPart
from orchestrator.reports.cards import FoundCard
from orchestrator.reports.viewer import Viewer

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
