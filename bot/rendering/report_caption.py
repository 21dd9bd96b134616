"""A report in words: under its picture, where what does not fit is left out in a fixed order, or alone with all its rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bot.i18n.translate import Translator
from bot.rendering.spans import Span, Spans, build_spans, join_blocks
from orchestrator.domain.card_view import count_units
from orchestrator.domain.report import Cell, ReportAnswer, ReportRow

CAPTION: Final = 1024
"""UTF-16 units under a picture."""
_ROWS_UNDER_PICTURE: Final = 15
_ROWS_ASKED: Final = 10
"""So many of a number that was asked for stand before any note."""
_ROWS_ALONE: Final = 30
_WHOLE: Final = 100.0
_ELLIPSIS: Final = "…"
_LONGEST_LABEL, _SHORTER_LABEL, _LONGEST_NOTE = 60, 30, 160
"""Characters, under a picture."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """How much of each is told."""

    rows: int
    notes: int
    causes: int
    totals: int
    has_periods: bool = True
    has_subtitle: bool = True
    definition: int = 4096
    longest: int = 4096
    """Characters of a label."""


def build_caption(answer: ReportAnswer, tr: Translator, *, before: Spans = (), limit: int = CAPTION) -> Spans:
    """`before` is what the model says, in front; without room for it raise ValueError. How it was counted stays, if need be cut."""
    for parts in _shorten(answer):
        caption = join_blocks([before, _write(answer, tr, parts)], "\n\n")
        if sum(count_units(span.text) for span in caption) <= limit:
            return caption
    raise ValueError("the report has no room in the caption")


def render_report_text(answer: ReportAnswer, tr: Translator) -> Spans:
    """All of it, for doors without pictures; of many rows the first."""
    return _write(answer, tr, _Parts(rows=_ROWS_ALONE, notes=len(answer.notes), causes=len(answer.causes), totals=len(answer.total)))


def _shorten(answer: ReportAnswer) -> Iterator[_Parts]:
    """Fewer rows first, then fewer notes, causes, further totals, the periods, and in the end a shorter definition.

    Rows that were asked for, by number or as a funnel, go after the notes.
    """
    notes, causes, totals = len(answer.notes), len(answer.causes), len(answer.total)
    counts, asked = _count_rows(answer)
    for rows in counts:
        if rows >= asked:
            yield _Parts(rows=rows, notes=notes, causes=causes, totals=totals, longest=_LONGEST_LABEL)
    if asked:
        for longest in (_LONGEST_LABEL, _SHORTER_LABEL):
            for count in range(notes - 1, -1, -1):
                yield _Parts(rows=asked, notes=count, causes=causes, totals=totals, longest=longest)
        for rows in counts:
            if rows < asked:
                yield _Parts(rows=rows, notes=0, causes=causes, totals=totals, longest=_LONGEST_LABEL)
    short = _LONGEST_LABEL
    for count in range(notes - 1, -1, -1):
        yield _Parts(rows=0, notes=count, causes=causes, totals=totals, longest=short)
    yield _Parts(rows=0, notes=0, causes=0, totals=totals, longest=short)
    yield _Parts(rows=0, notes=0, causes=0, totals=1, has_subtitle=False, longest=short)
    for definition in (4096, 500, 300, 150):
        yield _Parts(rows=0, notes=0, causes=0, totals=1, has_periods=False, has_subtitle=False, definition=definition, longest=short)


def _count_rows(answer: ReportAnswer) -> tuple[list[int], int]:
    """How many rows may stand under a picture, the most first, and how many must before a note does: never all but one."""
    whole = len(_list_groups(answer))
    top = answer.question.get("top")
    is_whole = answer.shown_as == "funnel" or _is_of_time(answer)
    most = whole if is_whole or isinstance(top, int) or whole <= _ROWS_UNDER_PICTURE + 1 else _ROWS_UNDER_PICTURE
    asked = whole if answer.shown_as == "funnel" else min(whole, _ROWS_ASKED) if isinstance(top, int) else 0
    hidden = max(answer.groups, whole)
    return [rows for rows in range(most, -1, -1) if rows in {0, whole} or hidden - rows != 1], asked


def _write(answer: ReportAnswer, tr: Translator, parts: _Parts) -> Spans:
    title = [build_spans(Span(answer.headline, "bold", is_foreign=True))] if answer.headline else []
    title.append(build_spans(Span(_cut(answer.title, parts.longest * 2), "bold", is_foreign=True)))
    if parts.has_subtitle and answer.subtitle:
        title.append(build_spans(Span(_cut(answer.subtitle, parts.longest * 2), is_foreign=True)))
    remarks = [build_spans(Span(_cut(remark, _LONGEST_NOTE), is_foreign=True)) for remark in answer.remarks]
    blocks = [join_blocks([*title, *_list_totals(answer, tr, parts), *remarks], "\n"), join_blocks(_list_rows(answer, tr, parts), "\n")]
    if answer.causes and parts.causes:
        causes = [f"{_cut(cause.label, parts.longest)} {cause.change.change_text or cause.change.text}" for cause in answer.causes]
        blocks.append(build_spans(Span(tr.translate("report-causes", causes="\n".join(causes[: parts.causes])), is_foreign=True)))
    counted = "\n".join(_list_counted(answer, tr, parts))
    return join_blocks([*blocks, build_spans(Span(counted, "quote", is_foreign=True))], "\n\n")


def _list_totals(answer: ReportAnswer, tr: Translator, parts: _Parts) -> Iterator[Spans]:
    """Also the plan. Beside rows, no whole of shares and no total where there is none."""
    has_rows = bool(_list_groups(answer))
    for place, cell in enumerate(answer.total[: parts.totals]):
        measure = answer.measures[place] if place < len(answer.measures) else None
        if has_rows and (cell.value is None or (measure is not None and measure.code.startswith("share:") and cell.value == _WHOLE)):
            continue
        name = _cut(measure.total_label or measure.label, parts.longest) if measure else tr.translate("report-total")
        yield build_spans(f"{name[:1].upper()}{name[1:]}: ", Span(cell.text, "bold"), _describe_change(cell, tr) if answer.compared else "")
    plan = answer.plan
    if plan:
        left = (plan.left.value or 0) >= 0
        yield build_spans(
            tr.translate(
                "report-plan",
                plan=plan.plan.text,
                done=plan.done_percent.text,
                elapsed=plan.elapsed_percent.text,
                left=plan.left.text.removeprefix("−"),
                is_open="yes" if left else "no",
                needed=(plan.needed_a_day.text if plan.needed_a_day and left else "") or "none",
            )
        )


def _describe_change(cell: Cell, tr: Translator) -> str:
    """ " (+8 %, было 190,2 млн)"."""
    words = ", ".join(filter(None, (cell.change_text, tr.translate("report-before", before=cell.before_text) if cell.before_text else "")))
    return f" ({words})" if words else ""


def _list_rows(answer: ReportAnswer, tr: Translator, parts: _Parts) -> Iterator[Spans]:
    """A single row without a group is the total. Of stretches of time the last are told, of a funnel also its end."""
    groups = _list_groups(answer)
    if not groups:
        if not answer.total:
            yield build_spans(tr.translate("picture-empty"))
        return
    if not parts.rows:
        return
    if len(answer.measures) > 1:
        names = (dimension.label for dimension in answer.dimensions)
        yield build_spans(Span(" · ".join((*names, *(measure.label for measure in answer.measures))), "italic", is_foreign=True))
    is_time = _is_of_time(answer)
    numbered = [("" if is_time else f"{number}. ", row) for number, row in enumerate(groups, start=1)]
    more = max(answer.groups, len(groups)) - min(parts.rows, len(groups))
    told = [(build_spans(number, _write_row(row, parts, tr))) for number, row in numbered]
    if is_time:
        yield from [build_spans(tr.translate("report-earlier", count=more))] if more else []
        yield from told[max(len(told) - parts.rows, 0) :]
    elif answer.shown_as == "funnel" and more:
        yield from (*told[: parts.rows - 1], build_spans(tr.translate("report-between", count=more)), told[-1])
    else:
        yield from told[: parts.rows]
        rest = [row for row in answer.rows if row.kind == "rest"]
        if rest and parts.rows >= len(groups):
            yield from (_write_row(row, parts, tr) for row in rest)
        elif more:
            yield build_spans(tr.translate("picture-more", count=more))


def _list_groups(answer: ReportAnswer) -> list[ReportRow]:
    return [row for row in answer.rows if row.labels and row.kind == "group"]


def _is_of_time(answer: ReportAnswer) -> bool:
    return bool(answer.dimensions) and answer.dimensions[0].is_time


def _write_row(row: ReportRow, parts: _Parts, tr: Translator) -> Spans:
    label = _cut(" · ".join(part for part in row.labels if part) or "–", parts.longest)
    cells = " · ".join(f"{cell.text}{f' ({cell.change_text})' if cell.change_text else ''}" for cell in row.cells)
    unfinished = f" {tr.translate('report-unfinished')}" if row.is_unfinished else ""
    return build_spans(Span(label, is_foreign=True), f": {cells}{unfinished}")


def _list_counted(answer: ReportAnswer, tr: Translator, parts: _Parts) -> Iterator[str]:
    """How it was counted."""
    if answer.definition:
        yield _cut(answer.definition, parts.definition)
    if parts.longest > _LONGEST_LABEL and answer.details:  # not under a picture
        yield answer.details
    if parts.has_periods:
        known = answer.subtitle if parts.has_subtitle else ""
        texts = {
            "period": answer.period.text if answer.period else "",
            "compared": answer.compared.text if answer.compared else "",
            "filter": answer.filter_text,
        }
        for name, text in texts.items():
            left = _find_untold(text, answer) if name == "filter" else text
            if left and left not in known:
                yield tr.translate(f"report-how-{name}", text=_cut(left, parts.longest * 3))
    longest = 4096 if parts.longest > _LONGEST_LABEL else _LONGEST_NOTE
    yield from (_cut(note, longest) for note in answer.notes[: parts.notes])
    if answer.as_of:
        yield _cut(answer.as_of, _LONGEST_NOTE)


def _find_untold(filter_text: str, answer: ReportAnswer) -> str:
    """Without the conditions that the definition or the title names."""
    known = f"{answer.definition} {answer.title}".lower()
    return "; ".join(part for part in filter_text.split("; ") if part.lower() not in known)


def _cut(text: str, longest: int) -> str:
    """One line; what was cut ends with "…"."""
    line = " ".join(text.split("\n"))
    return line if len(line) <= longest else line[: longest - 1].rstrip() + _ELLIPSIS
