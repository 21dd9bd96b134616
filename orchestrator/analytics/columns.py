"""The columns of a report, and its findings in the form that is shown: with shares, plans, classes, quotients, cohorts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final

from orchestrator.analytics.facts import Stage
from orchestrator.analytics.findings import Findings, Found, Number
from orchestrator.analytics.question import MeasureChoice, Question
from orchestrator.analytics.stretches import find_days
from orchestrator.analytics.vocabulary import AHEAD, PAST, STRETCHES
from orchestrator.domain.report import Unit

_A_CLASS: Final = 80
_B_CLASS: Final = 95


@dataclass(frozen=True, slots=True)
class Column:
    """`code` is of the words; `share_of` that of a share; `adds_up`: nothing means zero."""

    code: str
    unit: Unit
    adds_up: bool = False
    share_of: str = ""
    label: str = ""
    """In place of the words of `code`."""


def list_columns(question: Question) -> tuple[Column, ...]:
    return tuple(_build_column(question, choice) for choice in question.measures)


def _build_column(question: Question, choice: MeasureChoice) -> Column:
    measure = question.subject.measures[choice.code]
    if choice.is_share:
        return Column("share", "percent", share_of=choice.code)
    return Column(choice.code, measure.unit, adds_up=measure.how == "add")


def fill_shares(question: Question, findings: Findings) -> Findings:
    """Exact parts of the total over all groups."""
    for place, choice in enumerate(question.measures):
        if choice.is_share:
            findings = _fill_share(findings, place)
    return findings


def _fill_share(findings: Findings, place: int) -> Findings:
    rows = [*findings.rows, *([findings.rest] if findings.rest else [])]
    of = findings.whole or findings.total
    now = _split([row.numbers[place] for row in rows], of.numbers[place])
    earlier: Sequence[Number] = [None] * len(rows)
    of_before: Number = None
    if of.before is not None:
        of_before = of.before[place]
        before = [row.before[place] if row.before else None for row in rows]
        earlier = _split(before, of_before)
    filled = [_put_number(row, place, share, share_before) for row, share, share_before in zip(rows, now, earlier, strict=True)]
    total = findings.total
    (share,) = _split([total.numbers[place]], of.numbers[place])
    (share_before,) = _split([total.before[place] if total.before else None], of_before)
    whole = _put_number(total, place, share, share_before)
    rest = filled.pop() if findings.rest else None
    return replace(findings, rows=tuple(filled), rest=rest, total=whole)


def _split(amounts: Sequence[Number], whole: Number) -> Sequence[Number]:
    return [100 * (amount or 0) / whole for amount in amounts] if whole else [None] * len(amounts)


def _put_number(row: Found, place: int, number: Number, before: Number) -> Found:
    numbers = (*row.numbers[:place], number, *row.numbers[place + 1 :])
    if row.before is None:
        return replace(row, numbers=numbers)
    return replace(row, numbers=numbers, before=(*row.before[:place], before, *row.before[place + 1 :]))


def add_person_plans(question: Question, findings: Findings) -> tuple[tuple[Column, ...], Findings]:
    """Beside the first number the plan of each, how much of it is done and what is left; also for people who have done nothing."""
    first = _build_column(question, question.measures[0])
    plans = {str(person): amount for person, amount in question.plan.by_person} if question.plan else {}
    factor = 100 if first.unit == "money" else 1
    row_keys = {row.keys[0] for row in findings.rows}
    absent = [Found((person,), 0, (0,)) for person in plans if person not in row_keys]
    rows = [_plan_row(row, plans.get(row.keys[0] or ""), factor) for row in [*findings.rows, *absent]]
    planned = [row for row in rows if row.keys[0] in plans]
    fact = sum(row.numbers[0] or 0 for row in planned)
    total = _plan_row(Found((), sum(row.records for row in planned), (fact,)), sum(plans.values()), factor)
    columns = (first, Column("plan", first.unit), Column("plan_done", "percent"), Column("plan_left", first.unit))
    return columns, replace(findings, rows=tuple(planned), total=total, rest=None, rest_groups=0, groups=len(planned))


def _plan_row(row: Found, plan: float | None, factor: int) -> Found:
    fact = row.numbers[0] or 0
    if plan is None:
        return replace(row, numbers=(fact, None, None, None), before=None)
    whole = round(plan * factor)
    return replace(row, numbers=(fact, whole, 100 * fact / whole if whole else None, whole - fact), before=None)


def classify_rows(question: Question, findings: Findings) -> tuple[tuple[Column, ...], Findings]:
    """A to the first 80 %, B to 95 %, C the rest, by the first measure; groups without a name are in none."""
    amount = _build_column(question, question.measures[0])
    classes = _split_classes(findings)
    rows = [row for members in classes.values() for row in members]
    whole = sum(row.numbers[0] or 0 for row in rows)
    sums = [sum(row.numbers[0] or 0 for row in members) for members in classes.values()]
    shares = _split(sums, whole)
    class_rows = [
        Found((name,), sum(row.records for row in members), (len(members), total, share))
        for (name, members), total, share in zip(classes.items(), sums, shares, strict=True)
    ]
    columns = (Column("groups", "count", adds_up=True), amount, Column("share", "percent", share_of=amount.code))
    total = Found((), sum(row.records for row in rows), (len(rows), whole, 100.0 if whole else None))
    return columns, replace(findings, rows=tuple(class_rows), total=total, rest=None, rest_groups=0, groups=len(rows))


def _split_classes(findings: Findings) -> dict[str, list[Found]]:
    rows = sorted(findings.rows, key=lambda row: (-(row.numbers[0] or 0), row.keys))
    whole = sum(row.numbers[0] or 0 for row in rows)
    classes: dict[str, list[Found]] = {"A": [], "B": [], "C": []}
    passed: int | float = 0
    for row in rows:
        name = "A" if passed * 100 < _A_CLASS * whole else "B" if passed * 100 < _B_CLASS * whole else "C"
        classes[name].append(row)
        passed += row.numbers[0] or 0
    return classes


def list_class_keys(findings: Findings, name: str) -> list[tuple[str | None, ...]]:
    return [row.keys for row in _split_classes(findings).get(name, ())] or [("",)]


def list_quotient_columns(question: Question, second: Question, labels: tuple[str, str]) -> tuple[Column, ...]:
    upper = replace(_build_column(question, question.measures[0]), label=labels[0])
    lower = replace(_build_column(second, second.measures[0]), code="divided_by", label=labels[1])
    if upper.unit == lower.unit == "money":
        return upper, lower, Column("ratio", "percent")
    return upper, lower, Column("quotient", upper.unit if lower.unit == "count" else "count")


def fill_ratio(columns: Sequence[Column], findings: Findings) -> Findings:
    """Of money by money in hundredths."""
    if columns[-1].code != "ratio":
        return findings
    rows = tuple(_put_ratio(row) for row in findings.rows)
    return replace(findings, rows=rows, total=_put_ratio(findings.total))


def _put_ratio(row: Found) -> Found:
    *parts, quotient = row.numbers
    return replace(row, numbers=(*parts, None if quotient is None else 100 * quotient))


FUNNEL_COLUMNS: Final = (Column("reached", "count", adds_up=True), Column("of_first", "percent"), Column("of_before", "percent"))
Cohort = Sequence[tuple[object, ...]]


def build_funnel(stages: Sequence[Stage], cohort: Cohort, before: Cohort | None) -> Findings:
    """How many have ever been on a stage or on a later one that is no failure."""
    now = _count_reached(stages, cohort)
    earlier = _count_reached(stages, before) if before is not None else None
    rows = tuple(
        Found((stage.code,), now[place], _rate(now, place), _rate(earlier, place) if earlier is not None else None)
        for place, stage in enumerate(stages)
    )
    size, size_before = _sum_column(cohort, 1), _sum_column(before, 1) if before is not None else None
    end, end_before = rows[-1].numbers[1] if rows else None, rows[-1].before[1] if rows and rows[-1].before else None
    total = Found((), size, (size, end, None), (size_before, end_before, None) if size_before is not None else None)
    return Findings(rows=rows, total=total, groups=len(rows), causes={}, parts=((size, _sum_column(cohort, 2), _sum_column(cohort, 3)), ()))


def _count_reached(stages: Sequence[Stage], cohort: Cohort) -> list[int]:
    reached = [(int(str(row[0])), int(str(row[1]))) for row in cohort if row[0] is not None]
    return [sum(count for sort, count in reached if sort >= stage.sort) for stage in stages]


def _rate(counts: Sequence[int], place: int) -> tuple[Number, ...]:
    of_first = 100 * counts[place] / counts[0] if counts[0] else None
    of_before = 100 * counts[place] / counts[place - 1] if place and counts[place - 1] else None
    return counts[place], of_first, of_before


def _sum_column(cohort: Cohort | None, column: int) -> int:
    return sum(int(str(row[column])) for row in cohort or ())


def build_states(question: Question, moments: Sequence[str], began: Cohort, ended: Cohort) -> Findings:
    """What was open at the beginning of each unit: (unit, key…, count, hundredths), running sums over all that went before."""
    width = len(question.groups)
    changes: dict[tuple[str | None, ...], dict[str, tuple[int, int]]] = {}
    for rows, sign in ((began, 1), (ended, -1)):
        for row in rows:
            key = tuple(None if code is None else str(code) for code in row[1 : 1 + width])
            by_unit = changes.setdefault(key, {})
            count, amount = by_unit.get(str(row[0]), (0, 0))
            by_unit[str(row[0])] = (count + sign * int(str(row[1 + width])), amount + sign * int(str(row[2 + width])))
    states = {key: _run_up(by_unit, moments) for key, by_unit in changes.items()}
    state_rows = [
        Found((moment, *key), running[place][0], _choose_states(question, running[place]))
        for place, moment in enumerate(moments)
        for key, running in sorted(states.items(), key=lambda pair: tuple(code or "" for code in pair[0]))
        if running[place][0] or not width
    ]
    if not width and not state_rows:
        state_rows = [Found((moment,), 0, _choose_states(question, (0, 0))) for moment in moments]
    last = [running[-1] for running in states.values()] if moments else []
    whole = (sum(count for count, _ in last), sum(amount for _, amount in last))
    return Findings(rows=tuple(state_rows), total=Found((), whole[0], _choose_states(question, whole)), groups=len(state_rows), causes={})


def _run_up(by_unit: Mapping[str, tuple[int, int]], moments: Sequence[str]) -> list[tuple[int, int]]:
    """The sums of all units before each moment."""
    running, count, amount = [], 0, 0
    units = sorted(by_unit)
    place = 0
    for moment in moments:
        while place < len(units) and units[place] < moment:
            count, amount = count + by_unit[units[place]][0], amount + by_unit[units[place]][1]
            place += 1
        running.append((count, amount))
    return running


def _choose_states(question: Question, state: tuple[int, int]) -> tuple[Number, ...]:
    return tuple(state[0] if choice.code == "count" else state[1] for choice in question.measures)


def is_unfinished(question: Question, keys: Sequence[str | None], today: date) -> bool:
    """Whether the stretch of time of a row is not over yet; one of what lies ahead is shown whole."""
    if question.by in AHEAD:
        return False
    if question.at_unit is not None:
        return find_days(question.at_unit, keys[0] or "")[0] > today
    for group, key in zip(question.groups, keys, strict=False):
        if group.unit in STRETCHES and group.unit is not None and key and key != PAST:
            first, stop = find_days(group.unit, key)
            return first <= today < stop
    return False
