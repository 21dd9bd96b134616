from orchestrator.features.undo import handlers, words
from orchestrator.turns.feature import Feature


def build_feature() -> Feature:
    return Feature(buttons={handlers.PRESS: handlers.propose_undo}, message_takers=(words.take_message,))
