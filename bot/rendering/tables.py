"""Renders tables, whose rows code wrote. Pure."""

from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, build_spans, format_bold, join_blocks
from orchestrator.domain.outputs import MOST_ROWS, Table

MAX_ROWS: Final = MOST_ROWS


def render_table(table: Table, tr: Translator, *, first: int = MAX_ROWS, gap: str = "\n\n") -> Spans:
    """Above `MAX_ROWS` only `first` rows."""
    if not table.rows:
        return build_spans(tr.translate("list-empty"))
    count = len(table.rows) if len(table.rows) <= MAX_ROWS or table.is_grouped else first
    lines: list[Spans] = []
    for number, row in enumerate(table.rows[:count], start=table.first):
        title, dot, rest = row.label.partition(" · ")
        cells = "".join(f" · {cell}" for cell in row.cells)
        lines.append(build_spans(f"{number}. ", Span(title, url=row.url), dot + rest + cells))
    if table.columns:
        lines.insert(0, build_spans(Span(" · ".join(filter(None, (table.heading, *table.columns))), "italic")))
    code = "list-total" if table.total > count and not table.is_grouped else "list-first" if table.fitting else "list-all"
    code = "list-page" if table.first > 1 else code + ("-sum" if table.sum_text else "")
    is_only = table.total == table.first == 1 and not table.is_grouped
    if len(table.rows) == 1 and (table.fitting or is_only):  # one row needs no count
        return join_blocks(lines, "\n")
    numbers = {"shown": count, "total": table.total, "fitting": table.fitting, "first": table.first, "last": table.first + count - 1}
    foot = tr.translate(code, sum=table.sum_text, **numbers)
    return build_spans(join_blocks(lines, "\n"), gap, format_bold(foot))
