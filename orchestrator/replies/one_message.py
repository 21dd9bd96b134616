"""Leaves out of a reply what its own lines or the card below say already, so that a person reads one message and not two.

Only the model's sentences without news and the sentence that announces a card are left out; a reply of which nothing remains is not sent.
"""

from collections.abc import Iterator

from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import MADE_CODES, Notice, Passage, Reply, Table, Text
from orchestrator.gate.call import reminders
from orchestrator.language.restatement import drop_restatements
from orchestrator.sessions.turn_context import Context

WAITING = "waiting-on-card"
"""The code of the sentence beside a text that the model wrote before it knew that a person would be asked."""


def drop_repetition(reply: Reply, context: Context, *, session: str) -> Reply:
    """Return the reply without the model's sentences that only repeat what the person reads anyway.

    That is the reply's own lines, its cards, and the separate message about each reminder that was set. A reply with a list is returned
    unchanged. So is a reply with cards in a channel such as the HTTP API, whose clients fetch cards and text separately.
    """
    reminders_told = [] if session != context.actor.key else [str(item.call.get("text") or "") for item in _list_reminders(context)]
    made = [notice for notice in reply.notices if notice.code in MADE_CODES]
    has_table = any(isinstance(part, Table) for part in reply.parts)
    is_apart = bool(reply.confirmations) and Address.parse(session).is_pulled
    if has_table or is_apart or not (made or reply.confirmations or reminders_told):
        return reply
    known = [context.turn.text, *reminders_told, *_list_made_words(made), *_list_card_words(reply, context)]
    kept = [drop_restatements(part.text, known) for part in reply.parts if isinstance(part, Text)]
    texts = tuple(Text(text=text) for text in kept if text)
    parts = (*texts, *(part for part in reply.parts if isinstance(part, Passage)))  # no card says what stands in the documents
    notices = reply.notices if texts else tuple(notice for notice in reply.notices if notice.code != WAITING)
    return reply.model_copy(update={"parts": parts, "notices": notices})


def _list_reminders(context: Context) -> list[Outcome]:
    """Return the reminders that this turn set. About each of them, the person gets a separate message in their private chat."""
    outcomes = (item for item in context.results if isinstance(item, Outcome))
    return [item for item in outcomes if item.status == "succeeded" and item.method == reminders.ADD]


def _list_made_words(notices: list[Notice]) -> Iterator[str]:
    for notice in notices:
        yield from (str(notice.args.get(name) or "") for name in ("name", "title", "values", "changes", "error"))


def _list_card_words(reply: Reply, context: Context) -> Iterator[str]:
    """Yield the titles, numbers, names of fields and values that the cards of the reply show."""
    entries = context.state.cards
    for confirmation_id in reply.confirmations:
        if confirmation_id in entries:
            preview = Preview.model_validate(entries[confirmation_id].preview or {})
            for part in (preview, *preview.items):
                yield from _list_part_words(part)


def _list_part_words(part: PreviewPart) -> Iterator[str]:
    yield f"{part.title} {part.id or ''}"
    for line in part.lines:
        yield from (line.name, line.before, line.after)
