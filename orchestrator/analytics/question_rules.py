"""Which keys of a question go together, and what one of them implies."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from orchestrator.analytics.question import Group, MeasureChoice, Question, State
from orchestrator.analytics.vocabulary import STRETCHES

Blame = Callable[[str], None]
ADDS_UP: Final = "it cannot be added up"


def apply_rules(question: Question, blame: Blame) -> Question:
    if not question.measures:
        question = replace(question, measures=(MeasureChoice(_find_usual_measure(question)),))
    question = _imply_state(question, blame)
    _check_ends(question, blame)
    _check_times(question, blame)
    if question.funnel is not None:
        _check_funnel(question, blame)
    if question.at_unit or question.at_moment:
        question = _check_at(question, blame)
    question = _check_plan(question, blame)
    _check_shapes(question, blame)
    _check_explained(question, blame)
    if question.per is not None:
        _check_per(question, question.per, blame)
    return question


def _find_usual_measure(question: Question) -> str:
    is_of_sum = question.plan is not None or "count" not in question.subject.measures
    return "sum" if is_of_sum and "sum" in question.subject.measures else "count"


def _imply_state(question: Question, blame: Blame) -> Question:
    """A forecast is of open deals, also if the question doesn't say so; tasks that are overdue now, of no period, are not done."""
    of_open = [choice.code for choice in question.measures if question.subject.measures[choice.code].of_state == "open"]
    states = {state.code for state in question.states}
    if of_open and states & {"won", "lost", "closed"}:
        blame(f'"{of_open[0]}" is of open records: use "where":"open"')
    elif of_open and "open" in question.subject.states and not states:
        question = replace(question, states=(State("open"),))
    if question.subject.name == "tasks" and "overdue" in states and question.stretch is None and not states & {"open", "done"}:
        question = replace(question, states=(*question.states, State("open")))
    if any(group.code == "lost_from" for group in question.groups):
        if states and not states & {"lost", "closed"}:
            blame('"lost_from" is of lost deals: use "where":"lost"')
        elif "lost" not in states:
            question = replace(question, states=(*(state for state in question.states if state.code != "closed"), State("lost")))
            question = replace(question, by=question.by if "by" in question.source else "closed")
    return question


def _check_ends(question: Question, blame: Blame) -> None:
    states = {state.code for state in question.states}
    pairs = (("open", "won"), ("open", "lost"), ("open", "closed"), ("won", "lost"), ("open", "done"), ("answered", "missed"))
    for first, second in pairs:
        if {first, second} <= states:
            blame(f'no record is both "{first}" and "{second}"')
    ends = [
        choice.code for choice in question.measures if choice.code in {"win_rate", "won", "lost", "days_to_close", "won_sum", "lost_sum"}
    ]
    if ends and states & {"open", "overdue", "no_activity", "idle"} and question.subject.name in {"deals", "leads"}:
        blame(f'"{ends[0]}" is of closed records, open ones have no end: use "where":"closed"')
    if any(choice.code == "win_rate" for choice in question.measures) and states & {"won", "lost"}:
        blame('"win_rate" of records of one end is always the same: use "where":"closed"')


def _check_times(question: Question, blame: Blame) -> None:
    if sum(group.unit in STRETCHES for group in question.groups) > 1:
        blame('"group_by" takes one time; the second name must be something else')
    for group in question.groups:
        if group.unit == "hour" and question.subject.times[group.time or question.by].kind == "day":
            blame(f'"{group.time or question.by}" is a day without hours; group by weekday, day, week, month')
    shares = [choice.name for choice in question.measures if choice.is_share]
    if shares and not question.groups and question.funnel is None:
        blame(
            f'"{shares[0]}" needs "group_by": group by what the share is of, and name the wanted ones in "filter", '
            'such as "group_by":"source","filter":{"SOURCE_ID":"WEB"}; each is then a part of the whole'
        )
    if question.top is not None and not question.groups:
        blame('"top" needs "group_by"')
    if question.plan is not None and question.stretch is None:
        blame('"plan" needs "period"')
    if question.plan is not None and question.stretch is not None and (question.stretch.start is None or question.stretch.end is None):
        blame('"plan" needs a period with a beginning and an end')


def _check_funnel(question: Question, blame: Blame) -> None:
    if question.stretch is None:
        blame('"funnel" needs "period": it counts the deals created in it')
    if "group_by" in question.source or "measures" in question.source:
        blame('"funnel" counts the stages itself: leave out "group_by" and "measures"; deals of one funnel are "filter":{"CATEGORY_ID":N}')
    if question.states or question.source.get("by") not in (None, "created"):
        blame('"funnel" follows all deals created in the period: leave out "where" and "by"')


def _check_at(question: Question, blame: Blame) -> Question:
    if any(choice.code not in {"count", "sum"} for choice in question.measures):
        blame('"at" has the measures count and sum')
    if any(state.code != "open" for state in question.states):
        blame('"at" counts the deals that were open then: leave out "where"')
    groups = tuple(group for group in question.groups if group.unit != question.at_unit or question.at_unit is None)
    known = {"person", "stage", "funnel", "source", "company", "department"}
    if len(groups) > 1 or any(group.code not in known for group in groups):
        blame(f'"at" may be grouped by one of {", ".join(sorted(known))}')
    if question.at_unit and (question.stretch is None or question.stretch.start is None):
        blame('"at" of every week or month needs "period"')
    if question.compared is not None:
        blame('"at" has no "compare"; a longer "period" shows what was before')
    return replace(question, groups=groups, states=())


def _check_plan(question: Question, blame: Blame) -> Question:
    if question.plan is None:
        return question
    first = question.measures[0]
    if first.is_share or question.subject.measures[first.code].how != "add":
        blame(f'"plan" is of the first measure, and "{first.name}" has none: {ADDS_UP}')
    if question.plan.by_person:
        if "person" not in question.subject.dimensions:
            blame(f"{question.subject.name} have no person to plan by")
        elif not question.groups:
            question = replace(question, groups=(Group("person"),))
        elif [group.code for group in question.groups] != ["person"]:
            blame('a "plan" by person needs "group_by":"person"')
    return question


def _check_shapes(question: Question, blame: Blame) -> None:
    if question.subject.name == "products" and {"explain", "abc", "per", "plan"} & set(question.source):
        blame('"products" go without "explain", "abc", "per" and "plan"')
    if question.is_back and question.subject.name != "moves":
        blame('"back" is of moves: {"of":"moves","back":true}')
    if question.has_classes:
        first = question.measures[0]
        if len(question.groups) != 1 or question.groups[0].unit in STRETCHES:
            blame('"abc" needs one "group_by", such as company')
        elif first.is_share or question.subject.measures[first.code].how != "add":
            blame(f'"abc" is by the first measure, and "{first.name}" makes no classes: {ADDS_UP}')
        if question.compared is not None or question.plan is not None:
            blame('"abc" goes without "compare" and "plan"')
    shapes = [name for name in ("funnel", "at", "abc", "per", "plan") if name in question.source]
    if len(shapes) > 1 and set(shapes) != {"plan", "per"}:
        blame(f'"{shapes[0]}" and "{shapes[1]}" are two reports: ask for them one after the other')


def _check_explained(question: Question, blame: Blame) -> None:
    if question.is_explained or question.expects:
        first = question.measures[0]
        if question.compared is None and "compare" not in question.source:
            blame('"explain" and "expects" need "compare"')
        elif question.is_explained and (first.is_share or question.subject.measures[first.code].how != "add"):
            blame(f'"explain" is of the first measure, and "{first.name}" cannot be explained: {ADDS_UP}')


def _check_per(question: Question, second: Question, blame: Blame) -> None:
    if [group.code for group in question.groups] != [group.code for group in second.groups]:
        blame('"per" needs the same "group_by" in both reports')
    if question.compared is not None or second.compared is not None:
        blame('"per" goes without "compare"')
    if question.top is not None or second.top is not None:
        blame('"per" lists all groups: leave out "top"')
    if any(part.measures[0].is_share for part in (question, second)):
        blame('"per" divides whole numbers, not shares')
