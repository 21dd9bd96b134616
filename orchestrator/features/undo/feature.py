"""What undo registers: the button «↩ Отменить»."""

from orchestrator.features.undo import handlers
from orchestrator.runtime.feature import Feature


def build_feature() -> Feature:
    """Return the feature: the handler of the click ("undo", effect id)."""
    return Feature(buttons={handlers.PRESS: handlers.propose_undo})
