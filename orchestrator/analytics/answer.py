"""Builds the answer from what was counted: labels, cells, plan, causes, notes and the reports that are one change away."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from orchestrator.analytics.columns import (
    FUNNEL_COLUMNS,
    Column,
    add_person_plans,
    classify_rows,
    fill_ratio,
    fill_shares,
    is_unfinished,
    list_columns,
    list_quotient_columns,
)
from orchestrator.analytics.compiler import Scope
from orchestrator.analytics.facts import Facts
from orchestrator.analytics.findings import Findings, Found, Number
from orchestrator.analytics.formatting import NumberFormat
from orchestrator.analytics.labels import Labels, format_key, name_group_word
from orchestrator.analytics.notes import NoteWriter
from orchestrator.analytics.question import Group, Question
from orchestrator.analytics.stretches import find_days, list_keys
from orchestrator.analytics.variants import list_variants
from orchestrator.analytics.vocabulary import PAST, STRETCHES
from orchestrator.analytics.wording import (
    build_period,
    name_code,
    name_dimension,
    name_quotient,
    write_definition,
    write_details,
    write_filter,
    write_subtitle,
    write_title,
)
from orchestrator.analytics.words import find_words, say
from orchestrator.domain.report import (
    MOST_REPORT_ROWS,
    Cell,
    ReportAnswer,
    ReportCause,
    ReportDimension,
    ReportMeasure,
    ReportPlan,
    ReportRow,
    Shown,
)

_MOST_CAUSES: Final = 3
_MOST_BARS: Final = 30
_LINE_FROM: Final = 3
_FUNNEL_TOTALS: Final = frozenset({"reached", "of_first"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerBuilder:
    question: Question
    scope: Scope
    facts: Facts
    labels: Labels

    @property
    def _format(self) -> NumberFormat:
        return NumberFormat(self.labels.locale, self.facts.currency)

    async def build(self, findings: Findings) -> ReportAnswer:
        question, locale, clock = self.question, self.labels.locale, self.scope.clock
        columns, shaped = await self._shape(findings)
        rows = await self._build_rows(columns, shaped)
        total = self._build_joined_cells(columns, shaped.total)
        notes = NoteWriter(question=question, scope=self.scope, facts=self.facts, labels=self.labels)
        return ReportAnswer(
            question=dict(question.source),
            title=await write_title(question, self.labels),
            subtitle=write_subtitle(question, clock, locale),
            shown_as=self._choose_shape(columns, rows),
            dimensions=await self._list_dimensions(),
            measures=tuple(self._build_measure(column) for column in columns),
            rows=tuple(rows),
            total=total,
            groups=shaped.groups,
            records=shaped.total.records,
            period=build_period(question.stretch, question, clock, locale) if question.stretch else None,
            compared=build_period(question.compared, question, clock, locale) if question.compared else None,
            plan=self._build_plan(columns, findings),
            causes=await self._list_causes(columns, findings),
            definition=await write_definition(question, self.scope.definitions, self.labels),
            filter_text=await write_filter(question, self.labels),
            headline=notes.check_premise(total[0], shaped),
            remarks=tuple(notes.list_remarks(columns, findings, rows)),
            details=write_details(question, self.scope.definitions, locale),
            notes=(*notes.list_notes(columns, shaped, rows, is_of_time=self._is_of_time()), *await notes.list_absent(rows)),
            as_of=self._write_time(),
            variants=list_variants(question, self.facts, locale),
        )

    async def _shape(self, findings: Findings) -> tuple[tuple[Column, ...], Findings]:
        question = self.question
        if question.funnel is not None:
            return FUNNEL_COLUMNS, findings
        if question.per is not None:
            columns = list_quotient_columns(question, question.per, await name_quotient(question, question.per, self.labels))
            return columns, fill_ratio(columns, findings)
        if question.has_classes:
            return classify_rows(question, findings)
        if question.plan is not None and question.plan.by_person:
            return add_person_plans(question, findings)
        return list_columns(question), fill_shares(question, self._fill_axis(findings))

    def _fill_axis(self, findings: Findings) -> Findings:
        """Units of time without records between those with some, where no period says which there are."""
        group = self.question.groups[0] if len(self.question.groups) == 1 else None
        if group is None or group.unit not in STRETCHES or group.unit is None or not self._is_of_time() or self.question.at_unit:
            return findings
        present = {row.keys[0]: row for row in findings.rows}
        days = sorted(find_days(group.unit, key)[0] for key in present if key not in {None, PAST} and key)
        if not days:
            return findings
        keys = list_keys(group.unit, days[0], days[-1])
        missing = [key for key in keys if key not in present]
        if not missing or len(keys) > MOST_REPORT_ROWS:
            return findings
        nothing = tuple(0 if column.adds_up else None for column in list_columns(self.question))
        rows = [*findings.rows, *(Found((key,), 0, nothing) for key in missing)]
        rows.sort(key=lambda row: (row.keys[0] is None, row.keys[0] != PAST, row.keys[0] or ""))
        return replace(findings, rows=tuple(rows), groups=len(rows))

    async def _build_rows(self, columns: Sequence[Column], findings: Findings) -> list[ReportRow]:
        page = findings.rows[-MOST_REPORT_ROWS:] if self._is_of_time() else findings.rows[:MOST_REPORT_ROWS]
        names = await self._name_rows(page)
        rows = [
            ReportRow(
                keys=row.keys,
                labels=label,
                cells=self._build_cells(columns, row),
                is_unfinished=is_unfinished(self.question, row.keys, self.scope.clock.today),
                records=row.records,
            )
            for row, label in zip(page, names, strict=True)
        ]
        if findings.rest is not None:
            label = say("answer", "rest", self.labels.locale, count=findings.rest_groups)
            cells = self._build_joined_cells(columns, findings.rest)
            rows.append(ReportRow(labels=(label,), cells=cells, kind="rest", records=findings.rest.records))
        return rows

    def _build_joined_cells(self, columns: Sequence[Column], row: Found) -> tuple[Cell, ...]:
        """Of the total or the rest: sums in several currencies have none."""
        cells = self._build_cells(columns, row)
        if not self.question.is_in_own_currency:
            return cells
        nothing = Cell(text=self._format.format_number(None, "money"))
        return tuple(nothing if column.unit == "money" else cell for column, cell in zip(columns, cells, strict=True))

    async def _name_rows(self, rows: Sequence[Found]) -> list[tuple[str, ...]]:
        question, locale = self.question, self.labels.locale
        if question.has_classes:
            return [(find_words("codes", locale)["class"][row.keys[0]],) for row in rows]
        if question.funnel is not None:
            named = await self.labels.name_codes(question, Group("stage"), [row.keys[0] for row in rows])
            return [(named[row.keys[0]],) for row in rows]
        if question.at_unit is not None:
            today = self.scope.clock.today
            inner = await self.labels.name_rows(question, [replace(row, keys=row.keys[1:]) for row in rows])
            return [
                (format_key("day", min(find_days(question.at_unit, row.keys[0] or "")[0], today).isoformat(), locale), *rest)
                for row, rest in zip(rows, inner, strict=True)
            ]
        return await self.labels.name_rows(question, rows)

    def _is_of_time(self) -> bool:
        first = self.question.groups[0] if self.question.groups else None
        return (
            self.question.order is None
            and self.question.top is None
            and (self.question.at_unit is not None or (first is not None and first.unit in STRETCHES))
        )

    def _build_cells(self, columns: Sequence[Column], row: Found) -> tuple[Cell, ...]:
        before: Sequence[Number] = row.before or [None] * len(columns)
        has_before = row.before is not None
        form = self._find_format(row)
        return tuple(
            form.build_cell(number, earlier, unit=column.unit, has_before=has_before, adds_up=column.adds_up)
            for column, number, earlier in zip(columns, row.numbers, before, strict=True)
        )

    def _find_format(self, row: Found) -> NumberFormat:
        """A row of a currency is in that one."""
        codes = [group.code for group in self.question.groups]
        if not self.question.is_in_own_currency or len(row.keys) != len(codes):
            return self._format
        return NumberFormat(self.labels.locale, row.keys[codes.index("currency")] or "")

    def _build_measure(self, column: Column) -> ReportMeasure:
        locale = self.labels.locale
        label = column.label or (name_code(self.question, column.code, locale) if not column.share_of else "")
        if column.share_of:
            label = say("measures", "share", locale, measure=name_code(self.question, column.share_of, locale))
        currency = self.facts.currency if column.unit == "money" and not self.question.is_in_own_currency else ""
        code = f"share:{column.share_of}" if column.share_of else column.code
        total_label = say("totals", column.code, locale) if self.question.funnel is not None and column.code in _FUNNEL_TOTALS else ""
        return ReportMeasure(code=code, label=label, total_label=total_label, unit=column.unit, currency=currency)

    async def _list_dimensions(self) -> tuple[ReportDimension, ...]:
        question, locale = self.question, self.labels.locale
        if question.funnel is not None:
            return (ReportDimension(code="stage", label=say("dimensions", "stage", locale)),)
        if question.has_classes:
            return (ReportDimension(code="class", label=say("dimensions", "class", locale)),)
        dimensions = [
            ReportDimension(code=group.code, label=await name_dimension(question, place, self.labels), is_time=group.unit in STRETCHES)
            for place, group in enumerate(question.groups)
        ]
        if question.at_unit is not None:
            dimensions.insert(0, ReportDimension(code="at", label=say("dimensions", "at", locale), is_time=True))
        return tuple(dimensions)

    def _choose_shape(self, columns: Sequence[Column], rows: Sequence[ReportRow]) -> Shown:
        question = self.question
        if question.show != "auto":
            return question.show
        if question.funnel is not None:
            return "funnel"
        width = len(rows[0].keys) if rows else len(question.groups)
        if not width:
            return "number"
        if question.is_in_own_currency and columns[0].unit == "money":
            return "table"  # no bar of one currency is longer than that of another
        if width > 1:
            return "matrix"
        if self._is_of_time() and len(rows) >= _LINE_FROM:
            return "line"
        return "bars" if len(rows) <= _MOST_BARS else "table"

    def _build_plan(self, columns: Sequence[Column], findings: Findings) -> ReportPlan | None:
        question, clock = self.question, self.scope.clock
        stretch = question.stretch
        if question.plan is None or stretch is None or stretch.start is None or stretch.end is None:
            return None
        unit = columns[0].unit
        amount = question.plan.total if question.plan.total is not None else sum(number for _, number in question.plan.by_person)
        whole = round(amount * 100) if unit == "money" else amount
        fact = findings.total.numbers[0] or 0
        if question.plan.by_person:
            planned = {str(person) for person, _ in question.plan.by_person}
            fact = sum(row.numbers[0] or 0 for row in findings.rows if row.keys[0] in planned)
        elapsed = (clock.second + 1 - stretch.start.timestamp()) / (stretch.end.timestamp() - stretch.start.timestamp())
        days = (date.fromisoformat(stretch.stop_day) - clock.today).days
        form = self._format
        left = whole - fact
        return ReportPlan(
            plan=form.build_cell(whole, unit=unit),
            left=form.build_cell(left, unit=unit),
            done_percent=form.build_cell(100 * fact / whole, unit="percent"),
            elapsed_percent=form.build_cell(min(max(100 * elapsed, 0.0), 100.0), unit="percent"),
            needed_a_day=form.build_cell(left / days, unit=unit) if days > 0 and left > 0 else None,
        )

    async def _list_causes(self, columns: Sequence[Column], findings: Findings) -> tuple[ReportCause, ...]:
        if not self.question.is_explained or not findings.causes:
            return ()
        unit, locale = columns[0].unit, self.labels.locale
        causes = [
            ReportCause(label=say("answer", code, locale), change=self._build_change(change, unit))
            for code, change in split_effects(self.question, findings)
        ]
        name, largest = find_largest_changes(findings)
        named = await self.labels.name_codes(self.question, Group(name), [key for key, _ in largest])
        title = name_group_word("dimensions", name, self.question, locale)
        return (*causes, *(ReportCause(label=f"{title}: {named[key]}", change=self._build_change(change, unit)) for key, change in largest))

    def _build_change(self, change: Number, unit: str) -> Cell:
        cell = self._format.build_cell(change, unit=unit)  # type: ignore[arg-type]
        return cell.model_copy(update={"text": self._format.format_change(change, unit)})  # type: ignore[arg-type]

    def _write_time(self) -> str:
        moment = self.facts.meta.get("as_of", "")
        clock = self.scope.clock
        here = clock.here if not moment.isdecimal() else clock.here + timedelta(seconds=int(moment) - clock.second)
        return say("answer", "as_of", self.labels.locale, time=f"{here:%H:%M}" if here.date() == clock.today else f"{here:%d.%m %H:%M}")


def find_largest_changes(findings: Findings) -> tuple[str, list[tuple[str | None, Number]]]:
    """Of one breakdown, as they overlap: that with the largest single change. One group alone takes nothing apart."""
    changes = {
        name: sorted(((key, (now or 0) - (before or 0)) for key, now, before in triples), key=lambda pair: (-abs(pair[1]), pair[0] or ""))
        for name, triples in findings.causes.items()
    }
    name = max(changes, key=lambda one: (len(changes[one]) > 1, abs(changes[one][0][1]) if changes[one] else 0))
    return name, [(key, change) for key, change in changes[name][:_MOST_CAUSES] if change]


def split_effects(question: Question, findings: Findings) -> list[tuple[str, Number]]:
    """The change of a sum as that of the number of records and that of their average; the two make the whole.

    None of a sum of some of the records: «выиграно» among all that were closed.
    """
    now, before = findings.parts
    state = {"sum": "", "won_sum": "won", "lost_sum": "lost"}.get(question.measures[0].code)
    if state is None or (state and state not in {one.code for one in question.states}) or not now or not before:
        return []
    n1, n0, s1, s0 = now[0] or 0, before[0] or 0, now[1] or 0, before[1] or 0
    if not n1 or not n0:
        return []
    by_count = round((n1 - n0) * (s0 / n0 + s1 / n1) / 2)
    return [("count_effect", by_count), ("average_effect", s1 - s0 - by_count)]
