"""What stands beside the numbers of a report: what comes of its premise, what is left out, where there are few records, who has none."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.analytics.columns import Column
from orchestrator.analytics.compiler import Scope
from orchestrator.analytics.facts import Facts
from orchestrator.analytics.findings import Findings
from orchestrator.analytics.formatting import NumberFormat, format_date
from orchestrator.analytics.labels import Labels
from orchestrator.analytics.question import Group, Question
from orchestrator.analytics.vocabulary import PAST, STRETCHES
from orchestrator.analytics.wording import write_left_out
from orchestrator.analytics.words import say
from orchestrator.domain.report import MOST_REPORT_ROWS, Cell, ReportRow

_RATES: Final = frozenset({"win_rate", "conversion", "missed_rate"})
_SPANS: Final = frozenset({"days", "hours", "minutes"})
_FEW, _FEW_OF_SPAN = 10, 3
"""Less records than these say little of a rate, and of an average length."""
_NAMED: Final = 4
_OF_WORK: Final = frozenset({"calls", "tasks", "activities"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteWriter:
    question: Question
    scope: Scope
    facts: Facts
    labels: Labels

    @property
    def _format(self) -> NumberFormat:
        return NumberFormat(self.labels.locale, self.facts.currency)

    def check_premise(self, total: Cell, findings: Findings) -> str:
        """«Не упало: +8 %», «Упало: −8 %»; `total` is the first number."""
        before = findings.total.before
        now, earlier = findings.total.numbers[0], before[0] if before else None
        if not self.question.expects or now is None or earlier is None:
            return ""
        is_so = now < earlier if self.question.expects == "fall" else now > earlier
        is_fall = self.question.expects == "fall"
        code = ("fall" if is_fall else "rise") if is_so else ("no_fall" if is_fall else "no_rise")
        change = total.change_text if now != earlier and total.change_text else say("answer", "unchanged", self.labels.locale)
        return say("answer", code, self.labels.locale, change=change)

    def list_remarks(self, columns: Sequence[Column], findings: Findings, rows: Sequence[ReportRow]) -> list[str]:
        locale, remarks = self.labels.locale, []
        if self.question.subject.name == "products" and any(findings.left_out):
            form, without = self._format, findings.left_out[0]
            whole = form.format_number(without + findings.total.records, "count")
            remarks.append(say("notes", "without_products", locale, count=form.format_number(without, "count"), whole=whole))
        return [*remarks, *self._warn_of_few(columns, findings, rows)]

    def _warn_of_few(self, columns: Sequence[Column], findings: Findings, rows: Sequence[ReportRow]) -> list[str]:
        if self.question.per is not None or self.question.funnel is not None:
            return []
        limits = [_FEW if column.code in _RATES else _FEW_OF_SPAN for column in columns if column.code in _RATES or column.unit in _SPANS]
        if not limits:
            return []
        locale = self.labels.locale
        if not self.question.groups:
            few = 0 < findings.total.records < max(limits)
            return [say("notes", "few_all", locale, count=findings.total.records)] if few else []
        few_rows = [row for row in rows if row.kind == "group" and 0 < row.records < max(limits)]
        if not few_rows:
            return []
        if self.question.groups[0].unit in STRETCHES:
            return [say("notes", "few", locale, most=max(limits), groups=len(few_rows))]
        if len(few_rows) == sum(row.kind == "group" for row in rows) > 1:
            return [say("notes", "few_everywhere", locale, most=max(limits))]
        names = [f"{' · '.join(row.labels)} ({row.records})" for row in few_rows]
        more = len(names) - _NAMED
        told = names if more <= 1 else [*names[:_NAMED], say("answer", "rest", locale, count=more)]
        return [say("notes", "few_named", locale, names=", ".join(told))]

    def list_notes(self, columns: Sequence[Column], shaped: Findings, rows: Sequence[ReportRow], *, is_of_time: bool) -> list[str]:
        question, locale = self.question, self.labels.locale
        notes = self._list_left_out(shaped, rows)
        codes = []
        if any(group.own_field for group in question.groups) and sum(row.records for row in rows) > shaped.total.records:
            codes.append("several_values")
        stretches = [stretch.is_unfinished(self.scope.clock) for stretch in (question.stretch, question.compared) if stretch]
        if question.compare_how == "other" and len(set(stretches)) > 1:
            codes.append("unequal")
        if question.at_unit or question.at_moment:
            codes.append("sums_today")
        is_by_person = any(group.code == "person" for group in question.groups)
        if question.at_unit or (question.subject.name == "moves" and not is_by_person):  # by person the definition says it
            codes.append("owners_today")
        if question.is_in_own_currency and shaped.groups > 1 and any(column.unit == "money" for column in columns):
            codes.append("own_currency")
        is_whole = bool(rows) and rows[-1].kind == "group" and not question.named and not question.has_classes and not is_of_time
        if is_whole and any(column.share_of for column in columns):
            codes.append("no_share")
        if self.scope.sees is not None and not self._names_seen(self.scope.sees):
            codes.append("own_share" if any(choice.is_share for choice in question.measures) else "own_only")
        if is_of_time and len(shaped.rows) > MOST_REPORT_ROWS:
            notes.append(say("notes", "cut", locale, count=MOST_REPORT_ROWS))
        return [note for note in [*notes, *(say("notes", code, locale) for code in codes)] if note]

    def _names_seen(self, sees: frozenset[int]) -> bool:
        """The filter names only people whose records count, as the definition says."""
        owner = self.question.subject.owner
        named = [one for one in self.question.conditions if one.field.sql == owner and one.operator == "in"]
        return any(sees.issuperset(value for value in one.values if isinstance(value, int)) and None not in one.values for one in named)

    def _list_left_out(self, findings: Findings, rows: Sequence[ReportRow]) -> list[str]:
        question, locale, notes = self.question, self.labels.locale, []
        is_state = question.at_unit is not None or question.at_moment is not None
        if is_state and any(findings.left_out):
            notes.append(say("notes", "no_history_at", locale, count=self._format.format_number(findings.left_out[0], "count")))
        if question.subject.name != "products" and not is_state:
            said = {"past_expected"} if any(PAST in row.keys[:1] for row in rows) else set()  # a row of its own says it
            notes += write_left_out(question, findings.left_out, self.facts, locale, said=said)
        if question.funnel is not None and findings.parts[0]:
            size, won, lost = (int(number or 0) for number in findings.parts[0])
            form = self._format
            left = form.format_number(size - won - lost, "count")
            notes.append(say("notes", "open_left", locale, count=left, lost=form.format_number(lost, "count")))
        since = self.facts.history_since
        start = question.stretch.start.timestamp() if question.stretch and question.stretch.start else 0
        of_moves = question.subject.name == "moves" or question.funnel is not None or is_state
        if since is not None and of_moves and start < since:
            day = format_date(datetime.fromtimestamp(since, ZoneInfo(self.scope.clock.zone)).date(), locale)
            notes.append(say("notes", "history_since", locale, day=day))
        return notes

    async def list_absent(self, rows: Sequence[ReportRow]) -> list[str]:
        """Working people who have no call, task or activity of the report: they are no groups."""
        question, locale = self.question, self.labels.locale
        if question.subject.name not in _OF_WORK or [group.code for group in question.groups] != ["person"] or question.top is not None:
            return []
        if any(condition.field.sql == question.subject.owner for condition in question.conditions):
            return []
        present = {row.keys[0] for row in rows if row.keys}
        seen = self.scope.sees
        absent = [str(person) for person in self.facts.working if (seen is None or person in seen) and str(person) not in present]
        if not absent or not rows:
            return []
        if len(absent) > _NAMED:
            return [say("notes", "absent", locale, count=len(absent))]
        names = await self.labels.name_codes(question, Group("person"), absent)
        return [say("notes", "absent_named", locale, names=", ".join(names[code] for code in absent))]
