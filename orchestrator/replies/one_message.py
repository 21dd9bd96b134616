"""Leaves out what the reply's own lines or cards say: one message and not two."""

from collections.abc import Iterator

from orchestrator.domain.address import Address
from orchestrator.domain.card_view import Preview, PreviewPart
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import MADE_CODES, Notice, Passage, Reply, Table, Text
from orchestrator.gate.call import reminders
from orchestrator.language.restatement import drop_restatements
from orchestrator.sessions.turn_context import Context

WAITING = "waiting-on-card"
"""The model did not know yet that a person would be asked."""


def drop_repetition(reply: Reply, context: Context, *, session: str) -> Reply:
    """Not with a list, and not for clients that fetch cards apart."""
    reminders_told = [] if session != context.actor.key else [str(item.call.get("text") or "") for item in _list_reminders(context)]
    made_notices = [notice for notice in reply.notices if notice.code in MADE_CODES]
    has_table = any(isinstance(part, Table) for part in reply.parts)
    is_apart = bool(reply.confirmations) and Address.parse(session).is_pulled
    if has_table or is_apart or not (made_notices or reply.confirmations or reminders_told):
        return reply
    known = [context.turn.text, *reminders_told, *_list_made_words(made_notices), *_list_card_words(reply, context)]
    remaining = [drop_restatements(part.text, known) for part in reply.parts if isinstance(part, Text)]
    texts = tuple(Text(text=text) for text in remaining if text)
    parts = (*texts, *(part for part in reply.parts if isinstance(part, Passage)))  # no card says what stands in the documents
    notices = reply.notices if texts else tuple(notice for notice in reply.notices if notice.code != WAITING)
    return reply.model_copy(update={"parts": parts, "notices": notices})


def _list_reminders(context: Context) -> list[Outcome]:
    """Each has a separate message."""
    outcomes = (item for item in context.results if isinstance(item, Outcome))
    return [item for item in outcomes if item.status == "succeeded" and item.method == reminders.ADD]


def _list_made_words(notices: list[Notice]) -> Iterator[str]:
    for notice in notices:
        yield from (str(notice.args.get(name) or "") for name in ("name", "title", "values", "changes", "error"))


def _list_card_words(reply: Reply, context: Context) -> Iterator[str]:
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
