"""What is to be counted for a question: the statements, and how their rows are joined."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from orchestrator.analytics.compiler import Scope, compile_groups, compile_left_out, list_left_out, list_measures
from orchestrator.analytics.crm_subjects import PRODUCTS
from orchestrator.analytics.findings import MOST_FOUND, Combine, Job
from orchestrator.analytics.question import Condition, Group, Question
from orchestrator.analytics.statements import Statement
from orchestrator.analytics.stretches import Stretch, list_keys
from orchestrator.analytics.vocabulary import PAST, STRETCHES, TIME_UNITS, Field
from orchestrator.domain.report import MOST_REPORT_ROWS

EXPLAINED: Final = ("person", "source", "funnel", "type")
"""The dimensions in which a change is taken apart."""


def build_job(question: Question, scope: Scope) -> Job:
    named = question.named
    whole = replace(question, groups=())
    everything = replace(whole, conditions=tuple(condition for condition in question.conditions if condition not in named))
    is_part = bool(named) and any(choice.is_share for choice in question.measures) and question.subject is not PRODUCTS
    compared = question.compared
    order = question.order
    time_place = next((place for place, group in enumerate(question.groups) if group.unit in TIME_UNITS), None)
    return Job(
        key_count=len(question.groups),
        combines=list_combines(question, scope),
        groups=compile_groups(question, question.stretch, scope),
        total=compile_groups(whole, question.stretch, scope),
        groups_before=compile_groups(question, compared, scope) if compared else None,
        total_before=compile_groups(whole, compared, scope) if compared else None,
        whole=compile_groups(everything, question.stretch, scope) if is_part else None,
        whole_before=compile_groups(everything, compared, scope) if is_part and compared else None,
        named=_list_named(question, scope),
        axis=list_axis(question, question.stretch, scope),
        axis_before=list_axis(question, compared, scope) if compared else (),
        axis_place=time_place,
        order_place=order.place if order else (-1 if time_place is not None and question.top is None else 0),
        is_rising=order.is_rising if order else False,
        limit=MOST_FOUND if _needs_all(question) else min(question.top or MOST_REPORT_ROWS, MOST_REPORT_ROWS),
        without_empty=question.has_classes or (question.top is not None and any(group.code == "company" for group in question.groups)),
        per=build_job(question.per, scope) if question.per else None,
        causes=tuple(_list_causes(question, scope)) if question.is_explained else (),
        left_out=compile_left_out(narrow_to_planned(question), scope) if list_left_out(question) else None,
    )


def narrow_to_planned(question: Question) -> Question:
    """Of a plan by person only the records of those who have one are shown."""
    if question.plan is None or not question.plan.by_person:
        return question
    people = tuple(person for person, _ in question.plan.by_person)
    planned = Condition("person", Field(question.subject.owner, "number"), "in", people)
    return replace(question, conditions=(*question.conditions, planned))


def _list_named(question: Question, scope: Scope) -> tuple[str, ...]:
    """Not of somebody whose records are not seen: a zero would look like their number."""
    if len(question.named) != 1:
        return ()
    (condition,) = question.named
    is_of_people = condition.field.sql == question.subject.owner and scope.sees is not None
    values = [value for value in condition.values if value is not None]
    return tuple(str(value) for value in values if not (is_of_people and value not in (scope.sees or ())))


def list_combines(question: Question, scope: Scope) -> tuple[Combine, ...]:
    measures = list_measures(question, scope.definitions)
    return tuple(Combine(measure.how, measure.scale, choice.is_share) for measure, choice in zip(measures, question.measures, strict=True))


def _needs_all(question: Question) -> bool:
    return question.has_classes or question.per is not None or (question.plan is not None and question.plan.total is None)


def _list_causes(question: Question, scope: Scope) -> Iterator[tuple[str, Statement, Statement]]:
    first = replace(question, measures=question.measures[:1])
    for name in EXPLAINED:
        if name in question.subject.dimensions and question.compared is not None:
            grouped = replace(first, groups=(Group(name),))
            yield name, compile_groups(grouped, question.stretch, scope), compile_groups(grouped, question.compared, scope)


def list_axis(question: Question, stretch: Stretch | None, scope: Scope) -> tuple[str, ...]:
    """The keys of the time of the question, also those without records; none without a beginning."""
    group = next((group for group in question.groups if group.unit in STRETCHES), None)
    if group is None or group.unit is None or stretch is None or stretch.start is None:
        return ()
    if group.time not in {"", question.by}:
        return ()
    last = date.fromisoformat(stretch.stop_day) - timedelta(days=1) if stretch.end else scope.clock.today
    first = stretch.start.date()
    if question.by not in {"expected", "deadline"}:
        return list_keys(group.unit, first, min(last, scope.clock.today))
    if any(state.code == "open" for state in question.states) and question.by == "expected" and last >= scope.clock.today:
        keys = list_keys(group.unit, max(first, scope.clock.today), last)
        return (PAST, *keys) if first < scope.clock.today else keys
    return list_keys(group.unit, first, last)
