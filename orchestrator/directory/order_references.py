"""@order:1, @order:Ромашка: the standing orders of the person in this chat, by their numbers in /orders or words of theirs."""

from typing import Final

from orchestrator.directory.answers import Ambiguous, Option, Resolution, Resolved, Unresolved
from orchestrator.domain.outputs import Notice
from orchestrator.language.text import to_visible_line
from orchestrator.language.title_matching import is_mentioned
from state.events.orders import list_orders
from state.model.order_state import StandingOrder
from state.model.session_state import SessionState

_MOST: Final = 6
_LABEL: Final = 60
_DIGITS: Final = 4


def resolve_order(words: str, state: SessionState) -> Resolution:
    orders = list(list_orders(state).items())
    if words.isascii() and words.isdecimal():
        number = int(words[:_DIGITS])
        fitting = orders[number - 1 : number] if number else []
    else:
        fitting = [(order, entry) for order, entry in orders if is_mentioned(words, _write_words(entry))]
    if len(fitting) == 1:
        return Resolved(value=fitting[0][0], label=_write_words(fitting[0][1]), named_by_person=True)
    if 1 < len(fitting) <= _MOST:
        options = tuple(Option(value=order, label=to_visible_line(_write_words(entry), limit=_LABEL)) for order, entry in fitting)
        return Ambiguous(ask=Notice(code="which-order"), options=options)
    known = "; ".join(f"@order:{number} {_write_words(entry)}" for number, (_, entry) in enumerate(orders[:_MOST], start=1))
    return Unresolved(notice=Notice(code="order-gone"), detail=f"no order fits {words!r}; there are: {known or 'none in this chat'}")


def _write_words(entry: StandingOrder) -> str:
    texts = (entry.words.get("records"), entry.words.get("report"), entry.terms.get("text"), entry.words.get("propose"))
    return " · ".join(str(text) for text in texts if text)
