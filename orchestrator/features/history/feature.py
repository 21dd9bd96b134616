"""What the history of a record registers: /history and its buttons."""

from orchestrator.features.history.handlers import COMMAND, History
from orchestrator.runtime.feature import Feature


def build_feature() -> Feature:
    """Return the feature: the command /history, and the click ("history", record, page, screen)."""
    history = History()
    return Feature(commands={COMMAND: history.show_first_page}, buttons={COMMAND: history.show_page})
