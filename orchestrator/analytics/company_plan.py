"""The plan of the company beside what was won: `"plan":"company"` of a report of the morning."""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Final

from orchestrator.analytics.definitions import Definitions
from orchestrator.analytics.question import Question
from orchestrator.analytics.stretches import find_days, list_keys
from state.stored import JsonObject

_COMPANY: Final = "company"


def split_company_plan(params: object) -> JsonObject | None:
    """The question without it; None if it does not ask for this plan."""
    if not isinstance(params, Mapping) or params.get("plan") != _COMPANY:
        return None
    return {key: setting for key, setting in params.items() if key != "plan"}


def find_company_plan(question: Question, definitions: Definitions, sees: frozenset[int] | None) -> float | None:
    """That of whole months, for what the whole company won; None for anything less, which a plan would belie."""
    stretch, measure = question.stretch, question.measures[0]
    is_all_won = question.subject.name == "deals" and [state.code for state in question.states] == ["won"] and not question.conditions
    if sees is not None or not is_all_won or (measure.code, measure.is_share) != ("sum", False):
        return None
    if stretch is None or stretch.start is None or stretch.end is None:
        return None
    first, stop = date.fromisoformat(stretch.first_day), date.fromisoformat(stretch.stop_day)
    months = list_keys("month", first, stop - timedelta(days=1))
    if (find_days("month", months[0])[0], find_days("month", months[-1])[1]) != (first, stop):
        return None
    plans = [definitions.find_plan(month) for month in months]
    return sum(plan for plan in plans if plan is not None) if None not in plans else None
