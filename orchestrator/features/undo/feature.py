"""Registers the undo feature: the button «↩ Отменить» under a call that can be undone, and «отмени» said right after it."""

from orchestrator.features.undo import handlers, words
from orchestrator.turns.feature import Feature


def build_feature() -> Feature:
    """Return the undo feature: it handles the click on "undo" (with the effect id of the call to undo), and the same in words."""
    return Feature(buttons={handlers.PRESS: handlers.propose_undo}, message_takers=(words.take_message,))
