"""A report for the model: numbers as text, so that none has to be computed."""

from typing import Any, Final

from orchestrator.domain.report import Cell, ReportAnswer

MOST_DESCRIBED: Final = 50


def describe_for_model(answer: ReportAnswer) -> dict[str, Any]:
    """JSON without empty parts; at most MOST_DESCRIBED rows."""
    names = [measure.code for measure in answer.measures]
    rows = [
        {"group": list(row.labels), **dict(zip(names, map(_describe_cell, row.cells), strict=True))} for row in answer.rows[:MOST_DESCRIBED]
    ]
    described: dict[str, Any] = {
        "title": answer.title,
        "columns": {measure.code: measure.label for measure in answer.measures},
        "rows": rows,
        "more_rows": len(answer.rows) - len(rows) or None,
        "total": dict(zip(names, map(_describe_cell, answer.total), strict=True)),
        "groups": answer.groups or None,
        "records": answer.records,
        "period": answer.period and f"{answer.period.first}..{answer.period.last}",
        "compared_with": answer.compared and f"{answer.compared.first}..{answer.compared.last}",
        "plan": answer.plan
        and {
            name: cell.text
            for name in ("plan", "left", "done_percent", "elapsed_percent", "needed_a_day")
            if (cell := getattr(answer.plan, name))
        },
        "causes": {cause.label: cause.change.text for cause in answer.causes},
        "filter": answer.filter_text,
        "definition": answer.definition,
        "warnings": list(answer.notes),
        "as_of": answer.as_of,
    }
    return {key: value for key, value in described.items() if value not in (None, "", [], {})}


def _describe_cell(cell: Cell) -> str:
    """«8,1 млн ₽ (было 7,5 млн ₽, +8 %)»."""
    if not cell.before_text:
        return cell.text
    return f"{cell.text} ({cell.before_text}, {cell.change_text})" if cell.change_text else f"{cell.text} ({cell.before_text})"
