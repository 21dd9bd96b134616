"""Answers of the program itself, for the model and for the person."""

from typing import Final

from bitrix.masking import mask
from orchestrator.directory.answers import OutcomeView
from orchestrator.domain.effect import Outcome
from orchestrator.domain.message_views import DailyBody
from orchestrator.domain.outputs import Passage, Row, Table
from orchestrator.domain.own_reads import DAY, DOCUMENTS, HELP, NOT_SHOWN, REPORT, DocumentAnswer, HistoryChange, HistoryLine, RecordHistory
from orchestrator.domain.report import ReportAnswer
from state.stored import JsonObject

_SIGNS: Final = {"denied": "✖", "refused": "⚠️", "expired": "⌛", "superseded": "✖", "requested": "⏳", "approved": "⏳", "unknown": "❓"}
"""As on the card of a plan."""


def render_own_answer(outcome: Outcome) -> OutcomeView:
    if not isinstance(outcome.result, dict):
        return OutcomeView()
    if outcome.method == HELP:
        return OutcomeView(text=mask(str(outcome.result.get("text") or "")))
    if outcome.method == DOCUMENTS:
        return _render_documents(DocumentAnswer.model_validate(outcome.result))
    if outcome.method == REPORT:
        answer = ReportAnswer.model_validate(outcome.result)
        labels = dict.fromkeys(label for row in answer.rows for label in row.labels)
        return OutcomeView(report=answer, total=answer.records, labels=tuple(mask(label) for label in labels))
    if outcome.method == DAY:
        return OutcomeView(day=DailyBody.model_validate(outcome.result))
    history = RecordHistory.model_validate(outcome.result)
    rows = tuple(_build_row(change) for change in history.changes)
    names = [text for change in history.changes for text in (change.by, change.approved_by, *_list_values(change))]
    table = Table(rows=tuple(Row(label=mask(_format_row(change))) for change in history.changes), total=history.total)
    return OutcomeView(
        rows=rows,
        table=table,
        total=history.total,
        labels=tuple(dict.fromkeys(mask(text) for text in (history.title, *names) if text)),
        text="" if rows else "the bot changed nothing in this record",
    )


def _render_documents(document_answer: DocumentAnswer) -> OutcomeView:
    found = document_answer.passages
    passages = tuple(Passage(title=mask(one.title), text=mask(one.shown or one.text), source=mask(one.source)) for one in found)
    read = [mask(f"{number}. {one.title} ({one.source})\n{one.text}") for number, one in enumerate(found, start=1)]
    return OutcomeView(text="\n\n".join([mask(document_answer.answer), *read]), passages=passages, prose=True)


def _build_row(change: HistoryChange) -> JsonObject:
    answer_row = {
        "when": change.when,
        "by": change.by or "somebody in the portal",
        "did": change.did,
        "changes": [_format_line(line) for line in change.lines],
        "approved_by": change.approved_by,
        "status": change.status,
        "undone": change.undone,
    }
    return {name: mask(value) if isinstance(value, str) else [mask(one) for one in value] for name, value in answer_row.items() if value}


def _format_row(change: HistoryChange) -> str:
    """«21.11 15:00 · Анна · Сумма: 10 ₽ → 20 ₽»; a sign stands before what is not certain."""
    sign = "↩" if change.undone else _SIGNS.get(change.status, "")
    text = " · ".join(part for part in (change.when, change.by, "; ".join(map(_format_line, change.lines)).replace(NOT_SHOWN, "…")) if part)
    return f"{sign} {text}" if sign else text


def _format_line(line: HistoryLine) -> str:
    if not (line.before or line.after):
        return line.name
    before = f"{' '.join(line.before.split())} → " if line.before else ""
    return f"{line.name}: {before}{' '.join(line.after.split())}"


def _list_values(change: HistoryChange) -> list[str]:
    return [value for line in change.lines for value in (line.before, line.after)]
