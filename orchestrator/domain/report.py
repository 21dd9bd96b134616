"""A report: numbers that code has counted, with all that says what they mean. Doors draw it and compute nothing."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import Field

from orchestrator.domain.frozen import View
from state.stored import JsonObject

MOST_REPORT_ROWS: Final = 200

Unit = Literal["count", "money", "percent", "days", "hours", "minutes"]
Shown = Literal["number", "bars", "line", "funnel", "matrix", "table"]
FILE: Final = "file"
"""In place of a shape: the report is sent as a table file. Later questions do not keep it."""
RECORDS: Final = "records"
"""In place of a shape: the step becomes the list of the records that are counted."""


class ReportMeasure(View):
    """`unit` says how `Cell.value` is meant; money is in `currency`, in whole units with hundredths after the point."""

    code: str
    label: str
    total_label: str = ""
    """What the total is called, if not as the column."""
    unit: Unit
    currency: str = ""
    is_less_better: bool = False
    """Growth is bad news, as of lost deals or missed calls."""


class ReportDimension(View):
    """`is_time`: the rows are stretches of time, in order."""

    code: str
    label: str
    is_time: bool = False


class Cell(View):
    """`text` is `value` as people read it, rounded once; None has the text "–". `before` is the value of the compared period."""

    value: float | None = None
    text: str = ""
    before: float | None = None
    before_text: str = ""
    change: float | None = None
    """In hundredths of `before`; None without one, or if that is 0."""
    change_text: str = ""
    """«+8 %», «−1,2 млн ₽» or «новое»."""


class ReportRow(View):
    """`keys` are the codes of the group, one for each dimension, None for "empty"; `labels` their names."""

    keys: tuple[str | None, ...] = ()
    labels: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    kind: Literal["group", "rest"] = "group"
    """`rest` is the sum of the groups that are not listed."""
    is_unfinished: bool = False
    """A stretch of time that is not over."""
    records: int = 0


class ReportPeriod(View):
    """From `first` to `last`, both days included; `text` as people say it: «октябрь – ноябрь 2026, по сегодня»."""

    first: str
    last: str
    text: str
    is_unfinished: bool = False


class ReportPlan(View):
    plan: Cell
    left: Cell
    """Negative if the plan is exceeded."""
    done_percent: Cell
    elapsed_percent: Cell
    needed_a_day: Cell | None = None
    each: Cell | None = None
    """The plan of one row, if rows are stretches of time of one length: a line across the picture."""


class ReportCause(View):
    """What made the difference to the compared period: `code` "count" or "average", or the label of a group."""

    label: str
    change: Cell


class ReportAnswer(View):
    question: JsonObject = Field(default_factory=dict)
    """The question as it was understood; another report is this with a key changed."""
    title: str
    subtitle: str = ""
    shown_as: Shown = "table"
    dimensions: tuple[ReportDimension, ...] = ()
    measures: tuple[ReportMeasure, ...] = ()
    rows: tuple[ReportRow, ...] = ()
    """At most `MOST_REPORT_ROWS`, in the order to show."""
    total: tuple[Cell, ...] = ()
    groups: int = 0
    records: int = 0
    period: ReportPeriod | None = None
    compared: ReportPeriod | None = None
    plan: ReportPlan | None = None
    causes: tuple[ReportCause, ...] = ()
    headline: str = ""
    """What comes of a premise: «Не упало: +8 %»."""
    remarks: tuple[str, ...] = ()
    """What has to be known beside the numbers: how few records a row has, how many deals have no products."""
    definition: str = ""
    """«Считал так: …», one sentence."""
    details: str = ""
    """The rest of how it was counted, which is the same under nearly every report."""
    filter_text: str = ""
    notes: tuple[str, ...] = ()
    """What is left out, which rate was taken, what the number does not say."""
    as_of: str = ""
    """«данные на 18:45»."""
    variants: tuple["ReportVariant", ...] = ()


class ReportVariant(View):
    """A report that is one change away, for a button: `change` is what `again` takes."""

    label: str
    change: Mapping[str, object]


class ReportTrouble(View):
    """There is no number. `text` is for the person, `detail`, in English, for the model: what is wrong and what is possible."""

    code: str
    text: str
    detail: str = ""


_TOLD_ROWS: Final = 50


def describe_report(answer: ReportAnswer) -> JsonObject:
    """For the model: rows with names and numbers as the person reads them."""
    labels = tell_apart([measure.label for measure in answer.measures])
    rows = [
        {
            "group": " · ".join(row.labels),
            **{label: _describe_cell(cell) for label, cell in zip(labels, row.cells, strict=True)},
        }
        for row in answer.rows[:_TOLD_ROWS]
    ]
    more = len(answer.rows) - len(rows)
    told: dict[str, object] = {
        "report": answer.title,
        "period": answer.period.text if answer.period else "",
        "compared_with": answer.compared.text if answer.compared else "",
        "rows": rows,
        "more_rows": more,
        "total": {label: _describe_cell(cell) for label, cell in zip(labels, answer.total, strict=True)},
        "records": answer.records,
        "plan": _describe_plan(answer.plan) if answer.plan else {},
        "causes": [f"{cause.label}: {cause.change.text}" for cause in answer.causes],
        "premise": answer.headline,
        "remarks": list(answer.remarks),
        "counted_as": answer.definition,
        "notes": list(answer.notes),
    }
    return {name: part for name, part in told.items() if part not in ("", [], {}, 0)}


def tell_apart(labels: Sequence[str]) -> list[str]:
    """The second of equal ones is numbered."""
    return [f"{label} ({labels[: place + 1].count(label)})" if label in labels[:place] else label for place, label in enumerate(labels)]


def _describe_cell(cell: Cell) -> str:
    before = f" (before {cell.before_text}, {cell.change_text})" if cell.before_text else ""
    return f"{cell.text}{before}"


def _describe_plan(plan: ReportPlan) -> JsonObject:
    return {"plan": plan.plan.text, "left": plan.left.text, "done": plan.done_percent.text, "time_gone": plan.elapsed_percent.text}
