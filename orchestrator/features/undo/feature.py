"""Registers the undo feature: the button «↩ Отменить» under a call that can be undone."""

from orchestrator.features.undo import handlers
from orchestrator.turns.feature import Feature


def build_feature() -> Feature:
    """Return the undo feature: it handles the click on "undo" (with the effect id of the call to undo)."""
    return Feature(buttons={handlers.PRESS: handlers.propose_undo})
