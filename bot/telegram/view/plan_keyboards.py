"""Builds the buttons under the card of a plan. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from bot.i18n.translate import Translator
from bot.telegram.intake.callbacks import ActionClick, ButtonClick, CardClick, CheckClick
from orchestrator.domain.address import is_card_session
from orchestrator.domain.card_view import CardView
from orchestrator.domain.inputs import ADD_TO
from orchestrator.features.cards.resubmit import may_repeat
from orchestrator.gate.preview.old_texts import may_keep
from state.model.card import Card

Button = tuple[str, ButtonClick]
PER_LINE: Final = 2
"""Step buttons with words, side by side."""
MOST_IN_WORDS: Final = 4
"""With more steps the buttons are shorter."""


def list_step_buttons(view: CardView, tr: Translator) -> Iterator[Sequence[Button]]:
    for number, card in view.steps:
        if card.is_waiting and _may_edit(card, view) and may_keep(CardView.from_card(card).preview):
            yield [(tr.translate("button-add-to-step", number=number), ActionClick(words=(ADD_TO, card.confirmation_id)))]
    buttons = [button for number, card in view.steps for button in _list_buttons(number, card, view, tr)]
    per_line = PER_LINE if _has_words(view) else 2 * PER_LINE
    for start in range(0, len(buttons), per_line):
        yield buttons[start : start + per_line]


def _has_words(view: CardView) -> bool:
    return not view.card.is_waiting or len(view.members) <= MOST_IN_WORDS


def _list_buttons(number: int, card: Card, view: CardView, tr: Translator) -> Iterator[Button]:
    if str(view.card.status) == "elsewhere":
        return
    short = "" if _has_words(view) else "-short"
    if card.is_waiting:
        if _may_edit(card, view):
            yield tr.translate(f"button-edit-step{short}", number=number), ActionClick(words=("edit", card.confirmation_id))
        if len([member for member in view.members if member.is_waiting]) > 1 and (not view.home or is_card_session(view.home)):
            press = CardClick(confirmation_id=card.confirmation_id, nonce=card.nonce, approve=False, home=view.home or view.topic)
            yield tr.translate(f"button-leave-out{short}", number=number), press
    elif view.home:  # what is left to do is done in the chat of the person who asked
        return
    elif card.status == "unknown":
        yield tr.translate("button-check-step", number=number), CheckClick(confirmation_id=card.confirmation_id)
    elif card.status == "executed" and card.undo_until:
        yield tr.translate("button-undo-step", number=number), ActionClick(words=("undo", card.effect_id))
    elif may_repeat(card):
        yield tr.translate("button-again-step", number=number), ActionClick(words=("again", card.confirmation_id))


def _may_edit(card: Card, view: CardView) -> bool:
    return str(view.card.status) != "elsewhere" and not view.home and not view.is_waiting_for_lead and not _is_fixed(card)


def _is_fixed(card: Card) -> bool:
    """A batch, or a card that shows no values."""
    view = CardView.from_card(card)
    return bool(view.preview.items) or not view.preview.lines
