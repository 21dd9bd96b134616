"""Renders the answers of the program's own reads, such as history.of, for the language model and for the person."""

from typing import Final

from bitrix.masking import mask
from orchestrator.directory.answers import OutcomeView
from orchestrator.domain.outcome import Outcome
from orchestrator.domain.outputs import Passage, Row, Table
from orchestrator.domain.own_reads import DOCUMENTS, HELP, NOT_SHOWN, DocumentAnswer, HistoryChange, HistoryLine, RecordHistory
from state.stored import JsonObject

_SIGNS: Final = {"denied": "✖", "refused": "⚠️", "expired": "⌛", "superseded": "✖", "requested": "⏳", "approved": "⏳", "unknown": "❓"}
"""The signs of changes that are not made for certain, by their status; the same as on the card of a plan."""


def render_own_answer(outcome: Outcome) -> OutcomeView:
    """Return the view of the answer.

    What a method needs is text of the program. A history consists of labels; if it holds long texts, the outcome says so itself, and so it
    does of documents.
    """
    if not isinstance(outcome.result, dict):
        return OutcomeView()
    if outcome.method == HELP:
        return OutcomeView(text=mask(str(outcome.result.get("text") or "")))
    if outcome.method == DOCUMENTS:
        return _render_documents(DocumentAnswer.model_validate(outcome.result))
    history = RecordHistory.model_validate(outcome.result)
    rows = tuple(_build_row(change) for change in history.changes)
    names = [text for change in history.changes for text in (change.by, change.approved_by, *_list_values(change))]
    table = Table(rows=tuple(Row(label=mask(_format_row(change))) for change in history.changes), shown=len(rows), total=history.total)
    return OutcomeView(
        rows=rows,
        table=table,
        total=history.total,
        labels=tuple(dict.fromkeys(mask(text) for text in (history.title, *names) if text)),
        text="" if rows else "the bot changed nothing in this record",
    )


def _render_documents(document_answer: DocumentAnswer) -> OutcomeView:
    """Return the answer with its passages, which the model reads and of which code shows the person the titles and the texts."""
    passages = tuple(Passage(title=mask(passage.title), text=mask(passage.text)) for passage in document_answer.passages)
    read = [f"{number}. {passage.title}\n{passage.text}" for number, passage in enumerate(passages, start=1)]
    return OutcomeView(text="\n\n".join([mask(document_answer.answer), *read]), passages=passages, prose=True)


def _build_row(change: HistoryChange) -> JsonObject:
    told = {
        "when": change.when,
        "by": change.by or "somebody in the portal",
        "did": change.did,
        "changes": [_format_line(line) for line in change.lines],
        "approved_by": change.approved_by,
        "status": change.status,
        "undone": change.undone,
    }
    return {name: mask(value) if isinstance(value, str) else [mask(one) for one in value] for name, value in told.items() if value}


def _format_row(change: HistoryChange) -> str:
    """Return the change in one line, as the person sees it in a list: «21.11 15:00 · Анна · Сумма: 10 ₽ → 20 ₽».

    A sign stands before one that was not made, was taken back, or of which nobody knows whether it was made.
    """
    sign = "↩" if change.undone else _SIGNS.get(change.status, "")
    told = " · ".join(part for part in (change.when, change.by, "; ".join(map(_format_line, change.lines)).replace(NOT_SHOWN, "…")) if part)
    return f"{sign} {told}" if sign else told


def _format_line(line: HistoryLine) -> str:
    before = f"{' '.join(line.before.split())} → " if line.before else ""
    return f"{line.name}: {before}{' '.join(line.after.split())}"


def _list_values(change: HistoryChange) -> list[str]:
    return [value for line in change.lines for value in (line.before, line.after)]
