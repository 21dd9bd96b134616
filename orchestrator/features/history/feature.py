"""Registers the history feature: the command /history and the buttons of its pages."""

from orchestrator.features.history.handlers import COMMAND, History
from orchestrator.turns.feature import Feature


def build_feature() -> Feature:
    """Return the history feature: the command /history and the clicks on the buttons of its pages.

    Such a button holds the words ("history", record, page number, id of the message).
    """
    history = History()
    return Feature(commands={COMMAND: history.show_first_page}, buttons={COMMAND: history.show_page})
