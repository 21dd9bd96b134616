"""Reports that are one change away, for buttons."""

from typing import Final

from orchestrator.analytics.question import Question
from orchestrator.analytics.vocabulary import STRETCHES
from orchestrator.analytics.words import find_words, say
from orchestrator.domain.report import ReportVariant
from orchestrator.language.text import Locale

MOST_VARIANTS: Final = 6
_OFFERED: Final = ("person", "source", "stage", "funnel", "company", "week", "month")


def list_variants(question: Question, locale: Locale) -> tuple[ReportVariant, ...]:
    if question.funnel is not None or question.at_unit or question.at_moment or question.per is not None or question.has_classes:
        return tuple(_list_of_compare(question, locale))
    by = find_words("by_dimension", locale)
    present = {group.code for group in question.groups}
    offered = [name for name in _OFFERED if name not in present and _fits(question, name)]
    groups = [ReportVariant(label=by[name], change=_build_change(name)) for name in offered]
    total = (
        [ReportVariant(label=say("variants", "total", locale), change={"group_by": None, "top": None, "order": None})] if present else []
    )
    compares = list(_list_of_compare(question, locale))
    return (*groups[: MOST_VARIANTS - len(compares) - len(total)], *compares, *total)


def _build_change(name: str) -> dict[str, object]:
    """Stretches of time are listed whole and in their order."""
    return {"group_by": [name], "top": None, "order": None} if name in STRETCHES else {"group_by": [name]}


def _fits(question: Question, name: str) -> bool:
    if question.plan is not None and question.plan.by_person:
        return False
    if name in STRETCHES:
        return question.stretch is not None or question.by == "expected"
    if name == "stage" and question.by == "closed":
        return False
    return name in question.subject.dimensions


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
