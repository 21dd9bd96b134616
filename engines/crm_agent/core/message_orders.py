"""How many changes a person's message orders, also through the questions that it answers."""

from collections.abc import Sequence
from typing import Final

from orchestrator.domain.effect import MessageFacts
from orchestrator.engines.base import TurnInput
from orchestrator.language.orders import asks_again, count_orders, is_plain
from orchestrator.language.request_words import is_new_moment, is_pointing
from state.model.session_state import HistoryLine

_LAST_QUESTIONS: Final = 3
"""Questions in a row that are followed back to their order."""


def read_message(text: str, turn: TurnInput, earlier: Sequence[HistoryLine], by: str) -> MessageFacts:
    """`text` are the person's own words, `earlier` the lines before this turn, `by` the person's key."""
    plain = not turn.quoted and not turn.answers_others and is_plain(text)
    orders = count_orders(text) or _count_asked_about(text, earlier, by) or _count_adjusted(text, earlier, by)
    return MessageFacts(orders=orders, is_plain=plain)


def _count_asked_about(text: str, earlier: Sequence[HistoryLine], by: str) -> int:
    """Orders in «Запиши …» «В какую?» «Во вторую»."""
    lines, answer = [line for line in earlier if line.text], text
    for _ in range(_LAST_QUESTIONS):
        *lines, message, question = lines if len(lines) > 1 else (None, None)
        if (
            message is None
            or question is None
            or not _is_open(question, answer)
            or (message.role, message.by) != ("user", by)
            or message.quoted
        ):
            return 0
        if not is_plain(message.text):
            return 0
        if orders := count_orders(message.text):
            return orders
        answer = message.text
    return 0


def _count_adjusted(text: str, earlier: Sequence[HistoryLine], by: str) -> int:
    """One in «Напомни завтра в 9» «Напомню» «Нет, давай в 10:15»; as often as the person changes their mind."""
    lines = [line for line in earlier if line.text]
    while is_new_moment(text) and len(lines) > 1:
        *lines, message, answer = lines
        is_own = (message.role, message.by) == ("user", by) and not message.quoted and is_plain(message.text)
        if not is_own or answer.role != "assistant" or not answer.acted:
            return 0
        if count_orders(message.text):
            return 1
        text = message.text
    return 0


def _is_open(line: HistoryLine, answer: str) -> bool:
    """The bot has not acted, and `answer` lets it go on: it says which, when or yes, or to try again."""
    if line.role != "assistant" or line.acted:
        return False
    titles = (row.label for one in line.shown_lists for row in one.rows)
    is_question = not line.is_foreign and ("?" in line.text or line.text.startswith("[question: "))
    return asks_again(answer) or (is_question and is_pointing(answer, line.text, titles))
