"""Finds out how many changes a person's message orders, by itself or as a short answer to the bot's question about an order. Pure."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.effect import MessageFacts
from orchestrator.engines.base import TurnInput
from orchestrator.language.orders import asks_again, count_orders, is_plain
from orchestrator.language.short_answers import is_pointing
from state.model.session_state import HistoryLine

_LAST_QUESTIONS: Final = 3
"""How many questions in a row are followed back to the order that they were asked about."""


def read_message(text: str, turn: TurnInput, earlier: Sequence[HistoryLine], by: str) -> MessageFacts:
    """Return what the message of the person with the key `by` orders, and whether it is plain.

    `text` are their own words; `earlier` holds the lines of the conversation before this turn. What the person chose from a question was
    ordered by the text that had led to the question.
    """
    plain = not turn.quoted and not turn.answers_others and is_plain(text)
    return MessageFacts(orders=count_orders(text) or _count_asked_about(text, earlier, by), is_plain=plain)


def _count_asked_about(text: str, earlier: Sequence[HistoryLine], by: str) -> int:
    """Return how many changes were ordered if the person answers the bot's question about it: «Запиши …» «В какую?» «Во вторую»."""
    lines, answer = [line for line in earlier if line.text], text
    for _ in range(_LAST_QUESTIONS):
        *lines, said, asked = lines if len(lines) > 1 else (None, None)
        if said is None or asked is None or not _is_open(asked, answer) or (said.role, said.by) != ("user", by) or said.quoted:
            return 0
        if not is_plain(said.text):
            return 0
        if orders := count_orders(said.text):
            return orders
        answer = said.text
    return 0


def _is_open(line: HistoryLine, answer: str) -> bool:
    """Return whether the bot has neither done what was ordered nor put it on a card, and `answer` lets it go on.

    Either the bot asked, and the answer says which, when or yes; or it could not do it, and is told to try again.
    """
    if line.role != "assistant" or line.acted:
        return False
    titles = (row.label for one in line.shown_lists for row in one.rows)
    is_question = not line.is_foreign and ("?" in line.text or line.text.startswith("[question: "))
    return asks_again(answer) or (is_question and is_pointing(answer, line.text, titles))
