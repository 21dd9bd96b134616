"""Reports that are one change away, for buttons."""

from typing import Final

from orchestrator.analytics.facts import Facts
from orchestrator.analytics.labels import name_group_word
from orchestrator.analytics.question import Question
from orchestrator.analytics.vocabulary import STRETCHES
from orchestrator.analytics.words import say
from orchestrator.domain.report import ReportVariant
from orchestrator.language.text import Locale

MOST_VARIANTS: Final = 6
_DAYS_OF_WEEK, _DAYS_OF_MONTH = 7, 31
_OFFERED: Final = ("person", "source", "stage", "funnel", "company", "week", "month")


def list_variants(question: Question, facts: Facts, locale: Locale) -> tuple[ReportVariant, ...]:
    if question.funnel is not None or question.at_unit or question.at_moment or question.per is not None or question.has_classes:
        return tuple(_list_of_compare(question, locale))
    present = {group.code for group in question.groups}
    offered = [name for name in _OFFERED if name not in present and _fits(question, name, facts)]
    groups = [ReportVariant(label=name_group_word("by_dimension", name, question, locale), change=_build_change(name)) for name in offered]
    total = [ReportVariant(label=say("variants", "total", locale), change=_build_total_change(question))] if present else []
    compares = list(_list_of_compare(question, locale))
    return (*groups[: MOST_VARIANTS - len(compares) - len(total)], *compares, *total)


def _build_total_change(question: Question) -> dict[str, object]:
    """Of one number there are no shares."""
    plain = [choice.name for choice in question.measures if not choice.is_share]
    without_shares = {"measures": plain or None} if len(plain) < len(question.measures) else {}
    return {"group_by": None, "top": None, "order": None, **without_shares}


def _build_change(name: str) -> dict[str, object]:
    """Stretches of time are listed whole and in their order."""
    return {"group_by": [name], "top": None, "order": None} if name in STRETCHES else {"group_by": [name]}


def _fits(question: Question, name: str, facts: Facts) -> bool:
    """Not where there would be one group."""
    if question.plan is not None and question.plan.by_person:
        return False
    if name in STRETCHES:
        if question.stretch is None:
            return question.by == "expected"
        start, end = question.stretch.start, question.stretch.end
        return start is None or end is None or (end - start).days > (_DAYS_OF_WEEK if name == "week" else _DAYS_OF_MONTH)
    if name == "stage" and question.by == "closed":
        return False
    if name == "funnel" and len(facts.list_funnels(question.subject.record)) == 1:
        return False
    pinned = [name, "stage"] if name == "funnel" else [name]
    return name in question.subject.dimensions and not any(_is_pinned(question, one) for one in pinned)


def _is_pinned(question: Question, name: str) -> bool:
    dimension = question.subject.dimensions.get(name)
    return dimension is not None and any(
        condition.field.sql == dimension.sql and condition.operator == "in" and len(condition.values) == 1
        for condition in question.conditions
    )


def _list_of_compare(question: Question, locale: Locale) -> list[ReportVariant]:
    if question.stretch is None or question.stretch.start is None or question.stretch.end is None:
        return []
    if question.at_unit or question.at_moment or question.per is not None or question.has_classes:
        return []
    if question.compared is None:
        return [ReportVariant(label=say("variants", "compare", locale), change={"compare": "previous"})]
    variants = [ReportVariant(label=say("variants", "drop_compare", locale), change={"compare": None, "explain": None, "expects": None})]
    if question.compare_how != "year_ago":
        variants.append(ReportVariant(label=say("variants", "year_ago", locale), change={"compare": "year_ago"}))
    first = question.measures[0]
    if not question.is_explained and not first.is_share and question.subject.measures[first.code].how == "add" and question.funnel is None:
        variants.append(ReportVariant(label=say("variants", "explain", locale), change={"explain": True}))
    return variants
