"""The command /history and the buttons of its pages."""

from orchestrator.features.history.handlers import COMMAND, History
from orchestrator.turns.feature import Feature


def build_feature() -> Feature:
    """Buttons hold ("history", record, page, message)."""
    history = History()
    return Feature(commands={COMMAND: history.show_first_page}, buttons={COMMAND: history.show_page})
