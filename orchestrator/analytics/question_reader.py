"""Reads a question of the grammar. All its faults become one sentence: what is wrong, the nearest, and what is possible."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final, Literal, cast, get_args

from orchestrator.analytics.condition_reader import read_conditions
from orchestrator.analytics.crm_subjects import COMPANIES, DEALS, LEADS, MOVES, PRODUCTS, build_item_subject
from orchestrator.analytics.facts import Facts
from orchestrator.analytics.names import (
    DIMENSION_SYNONYMS,
    MEASURE_SYNONYMS,
    STATE_SYNONYMS,
    SUBJECT_SYNONYMS,
    show_name,
    suggest_name,
)
from orchestrator.analytics.question import MOST_GROUPS, MOST_MEASURES, Group, MeasureChoice, Order, Plan, Question, State, is_plan_amount
from orchestrator.analytics.question_rules import apply_rules
from orchestrator.analytics.reading import Misunderstood, Reading
from orchestrator.analytics.stretches import Clock, Stretch, UnclearStretch, align_stretch, find_compared, read_stretch
from orchestrator.analytics.vocabulary import AHEAD, STRETCHES, TIME_UNITS, Subject
from orchestrator.analytics.work_subjects import ACTIVITIES, CALL_ACTIVITIES, CALLS, TASKS
from orchestrator.domain.report import FILE, Shown
from state.stored import JsonObject

SUBJECTS: Final[Mapping[str, Subject]] = {
    subject.name: subject for subject in (DEALS, LEADS, CALLS, ACTIVITIES, TASKS, MOVES, COMPANIES, PRODUCTS)
}
KEYS: Final = (
    "of", "where", "filter", "period", "by", "group_by", "measures", "compare", "top", "order", "plan", "funnel", "at", "back", "abc",
    "explain", "expects", "per", "show",
)  # fmt: skip
VARIANTS: Final = frozenset({"avg_with_zeros", "median_with_zeros", "weighted_by_history", "weighted_by_field", "idle_by_activity"})
"""Readings that only the owner chooses."""
_ITEM: Final = re.compile(r"item:([0-9]{1,6})", re.ASCII)
_IDLE: Final = re.compile(r"([a-z_]+):([0-9]{1,4})", re.ASCII)
_MOST_TOP: Final = 200
_SHOWS: Final = ("auto", *get_args(Shown), FILE)


def read_question(params: object, clock: Clock, facts: Facts) -> Question:
    """Raises Misunderstood; no value of any shape raises anything else."""
    reading = Reading(clock, facts)
    if not isinstance(params, Mapping):
        raise Misunderstood('a report is an object such as {"of":"deals","where":"won","period":"@date:this quarter","measures":["sum"]}.')
    unknown = [key for key in params if key not in KEYS]
    for key in unknown:
        reading.blame(f'report has no key "{show_name(key)}"{suggest_name(str(key), KEYS)}, keys: {", ".join(KEYS)}')
    settings = {str(key): value for key, value in params.items() if key in KEYS and value not in (None, [], "", {})}
    subject = _read_subject(settings.get("of"), reading)
    question = _read_names(settings, subject, reading)
    question = _read_times(settings, question, reading)
    question = _read_rest(settings, question, reading)
    question = apply_rules(question, reading.blame)
    reading.finish()
    return question


def _read_subject(name: object, reading: Reading) -> Subject:
    subject = find_subject(name, reading.facts)
    if subject is not None:
        return subject
    items = [f"item:{number}" for number in sorted(reading.facts.item_types)]
    near = suggest_name(name, SUBJECTS) if isinstance(name, str) else ""
    reading.blame(f'"of" is one of {", ".join([*SUBJECTS, *items])}{near}')
    reading.finish()
    raise AssertionError


def find_subject(name: object, facts: Facts) -> Subject | None:
    if not isinstance(name, str):
        return None
    code = SUBJECT_SYNONYMS.get(name.strip().lower(), name.strip().lower())
    item = _ITEM.fullmatch(code)
    if item is not None and int(item[1]) in facts.item_types:
        return build_item_subject(int(item[1]))
    return CALL_ACTIVITIES if code == "calls" and facts.has_call_activities else SUBJECTS.get(code)


def _read_names(settings: JsonObject, subject: Subject, reading: Reading) -> Question:
    states = tuple(_read_states(settings.get("where"), subject, reading))
    groups = tuple(_read_groups(settings.get("group_by"), subject, reading))
    measures = tuple(_read_measures(settings.get("measures"), subject, reading))
    conditions = read_conditions(settings.get("filter"), subject, reading)
    source: dict[str, object] = {**settings, "of": subject.name}
    return Question(subject=subject, states=states, groups=groups, measures=measures, conditions=conditions, source=source)


def _list_words(words: object, key: str, reading: Reading) -> Sequence[str]:
    if words is None:
        return ()
    listed = list(words) if isinstance(words, list | tuple) else [words]
    if not all(isinstance(word, str) for word in listed):
        reading.blame(f'"{key}" is a name or a list of names')
        return ()
    return tuple(dict.fromkeys(cast("list[str]", listed)))


def _read_states(words: object, subject: Subject, reading: Reading) -> Sequence[State]:
    known = [f"{code}:N" if code == "idle" else code for code in subject.states if code not in VARIANTS]
    states = []
    for word in _list_words(words, "where", reading):
        matched = _IDLE.fullmatch(word.strip().lower())
        name, days = (matched[1], int(matched[2])) if matched else (word.strip().lower(), 0)
        code = name if name in subject.states else STATE_SYNONYMS.get(name, name)
        code = "done" if code == "closed" and "done" in subject.states else code
        if code not in subject.states or code in VARIANTS:
            possible = f"{subject.name} know {', '.join(known)}" if known else f'{subject.name} take no "where"'
            reading.blame(f'"where" has no "{show_name(word)}"{suggest_name(name, subject.states)}, {possible}')
        elif code == "idle" and not days:
            reading.blame('"idle" needs a number of days, such as "idle:30"')
        elif code != "idle" and matched is not None:
            reading.blame(f'"{code}" takes no number; only "idle:30" does')
        else:
            states.append(State(code, days))
    return states


def _read_groups(words: object, subject: Subject, reading: Reading) -> Sequence[Group]:
    names = _list_words(words, "group_by", reading)
    if len(names) > MOST_GROUPS:
        reading.blame('"group_by" takes at most two names; ask for a second report')
        return ()
    return [group for name in names if (group := _read_group(name.strip(), subject, reading)) is not None]


def _read_group(name: str, subject: Subject, reading: Reading) -> Group | None:
    own_fields = reading.facts.own_fields.get(subject.record, ())
    if name in own_fields and subject.name != "moves":
        return Group(name, own_field=name)
    low = name.lower()
    code = low if low in subject.dimensions else DIMENSION_SYNONYMS.get(low, low)
    if code in subject.dimensions:
        return Group(code)
    if code in TIME_UNITS:
        return Group(code, unit=code)
    time, _, unit = low.partition(":")
    if time in subject.times and unit in TIME_UNITS:
        return Group(low, unit=unit, time=time)
    if reading.blame_portal(name):
        return None
    known = [*subject.dimensions, *TIME_UNITS]
    dates = "/".join(subject.times)
    fields = f", a list field ({', '.join(own_fields[:5])})" if own_fields and subject.name != "moves" else ""
    reading.blame(
        f'{subject.name} cannot be grouped by "{show_name(name)}"{suggest_name(low, [*known, *own_fields])}, '
        f"possible: {', '.join(known)}{fields}, or {dates}:month"
    )
    return None


def _read_measures(words: object, subject: Subject, reading: Reading) -> Sequence[MeasureChoice]:
    names = _list_words(words, "measures", reading)
    if len(names) > MOST_MEASURES:
        reading.blame(f'"measures" takes at most {MOST_MEASURES} names')
        return ()
    choices = []
    for name in names:
        low = name.strip().lower()
        is_share = low.startswith("share:")
        bare = low.removeprefix("share:")
        code = bare if bare in subject.measures else MEASURE_SYNONYMS.get(bare, bare)
        if code not in subject.measures and reading.blame_portal(bare):
            continue
        if code not in subject.measures or code in VARIANTS:
            known = [known for known in subject.measures if known not in VARIANTS]
            reading.blame(
                f'{subject.name} have no measure "{show_name(name)}"{suggest_name(bare, known)}, measures: {", ".join(known)}, share:X'
            )
        elif is_share and subject.measures[code].how != "add":
            reading.blame(f'share of "{code}" makes no sense: it cannot be added up')
        else:
            choices.append(MeasureChoice(code, is_share))
    return tuple(dict.fromkeys(choices))


def _read_times(settings: JsonObject, question: Question, reading: Reading) -> Question:
    subject = question.subject
    by = settings.get("by")
    if by is not None and (not isinstance(by, str) or by not in subject.times):
        near = suggest_name(by, subject.times) if isinstance(by, str) else ""
        reading.blame(f'"by" says which date counts; {subject.name} have {", ".join(subject.times)}{near}')
        by = None
    question = replace(question, by=by or "")
    question = replace(question, by=question.by or find_usual_time(question))
    stretch = _read_stretch(settings.get("period"), "period", question.by, reading)
    unit = question.groups[0].unit if question.groups else None
    if stretch is not None and unit in STRETCHES and unit is not None:
        stretch = align_stretch(stretch, settings.get("period"), unit, reading.clock)
    question = replace(question, stretch=stretch)
    return _read_compared(settings.get("compare"), question, reading, has_period="period" in settings)


def find_usual_time(question: Question) -> str:
    """Which date counts if none is named: of what is closed, the moment of closing."""
    subject = question.subject
    codes = {choice.code for choice in question.measures}
    states = {state.code for state in question.states}
    if "closed" in subject.times and subject.name != "leads":
        if states & {"won", "lost", "closed"}:
            return "closed"
        if "weighted" in codes:
            return "expected"
        if not states and any(code in subject.measures and _is_of_end(code, subject) for code in codes):
            return "closed"
    if subject.name == "moves" and codes & {"days", "median_days"}:
        return "left"
    if subject.name == "tasks" and "done" in states:
        return "done"
    return subject.usual_time


def _is_of_end(code: str, subject: Subject) -> bool:
    return subject.measures[code].of_state == "closed" or code in {"won", "lost", "won_sum", "lost_sum", "win_rate"}


def _read_stretch(words: object, key: str, by: str, reading: Reading) -> Stretch | None:
    if words is None:
        return None
    try:
        return read_stretch(words, reading.clock, "ahead" if by in AHEAD else "back")
    except UnclearStretch as unclear:
        reading.blame(f'"{key}": {unclear}')
        reading.period = words if isinstance(words, str) else ""
        return None


def _read_compared(words: object, question: Question, reading: Reading, *, has_period: bool) -> Question:
    if words is None:
        return question
    if not has_period:
        reading.blame('"compare" needs "period": with what should it be compared?')
        return question
    if question.stretch is None:
        return question
    if not isinstance(words, str) or words.strip().lower() not in {"previous", "year_ago"}:
        if isinstance(words, str) and not words.strip().startswith("@"):
            reading.blame(f'"compare" is previous, year_ago, or "@date:" and a period{suggest_name(words, ("previous", "year_ago"))}')
            return question
        compared = _read_stretch(words, "compare", question.by, reading)
        return replace(question, compared=compared, compare_how="other")
    how = cast("Literal['previous', 'year_ago']", words.strip().lower())
    try:
        return replace(
            question, compared=find_compared(question.stretch, how, reading.clock, is_cut=question.by not in AHEAD), compare_how=how
        )
    except UnclearStretch as unclear:
        reading.blame(str(unclear))
        return question


def _read_rest(settings: JsonObject, question: Question, reading: Reading) -> Question:
    top = settings.get("top")
    if top is not None and (not isinstance(top, int) or isinstance(top, bool) or not 1 <= top <= _MOST_TOP):
        reading.blame(f'"top" is a whole number from 1 to {_MOST_TOP}')
        top = None
    question = replace(
        question,
        top=top,
        order=_read_order(settings.get("order"), question, reading),
        plan=_read_plan(settings.get("plan"), reading),
        funnel=_read_funnel(settings.get("funnel"), question.subject, reading),
        is_back=_read_flag(settings, "back", reading),
        has_classes=_read_flag(settings, "abc", reading),
        is_explained=_read_flag(settings, "explain", reading),
        expects=_read_one_of(settings, "expects", ("fall", "rise"), reading),  # type: ignore[arg-type]
        show=_read_one_of(settings, "show", _SHOWS, reading).replace(FILE, "") or "auto",  # type: ignore[arg-type]
    )
    return _read_per(settings.get("per"), _read_at(settings.get("at"), question, reading), reading)


def _read_flag(settings: JsonObject, key: str, reading: Reading) -> bool:
    flag = settings.get(key, False)
    if not isinstance(flag, bool):
        reading.blame(f'"{key}" is true or left out')
        return False
    return flag


def _read_one_of(settings: JsonObject, key: str, known: Sequence[str], reading: Reading) -> str:
    word = settings.get(key)
    if word is None:
        return ""
    if not isinstance(word, str) or word not in known:
        near = suggest_name(word, known) if isinstance(word, str) else ""
        reading.blame(f'"{key}" is one of {", ".join(known)}{near}')
        return ""
    return word


def _read_order(words: object, question: Question, reading: Reading) -> Order | None:
    """The largest first, unless ":asc" says otherwise; a minus in front, which others write for that, is taken too."""
    if words is None:
        return None
    names = [choice.name for choice in question.measures]
    if isinstance(words, str):
        name, _, way = words.strip().lower().removeprefix("-").replace(" ", ":").partition(":")
        if name == "share":
            name, _, way = words.strip().lower().removeprefix("-").rpartition(":")
            name, way = (words.strip().lower().removeprefix("-"), "") if way not in {"asc", "desc"} else (name, way)
        code = name if name in names else MEASURE_SYNONYMS.get(name, name)
        if code in names and way in {"", "asc", "desc"}:
            return Order(names.index(code), is_rising=way == "asc")
    reading.blame(f'"order" is one of the measures ({", ".join(names) or "count"}), with ":asc" for the smallest first')
    return None


def _read_plan(words: object, reading: Reading) -> Plan | None:
    if words is None:
        return None
    if is_plan_amount(words):
        return Plan(float(cast("float", words)))
    if isinstance(words, Mapping) and all(str(key).isdecimal() and is_plan_amount(value) for key, value in words.items()):
        return Plan(None, tuple((int(str(key)), float(value)) for key, value in words.items()))
    reading.blame('"plan" is a number, or numbers by person such as {"@user:Boris":2000000}')
    return None


def _read_funnel(words: object, subject: Subject, reading: Reading) -> int | None:
    """0 is the main one."""
    if words is None or words is False:
        return None
    if subject.name != "deals":
        reading.blame('"funnel" is for deals')
        return None
    funnels = reading.facts.list_funnels("deal") or (0,)
    if words is True:
        return funnels[0]
    number = int(words) if isinstance(words, int) or (isinstance(words, str) and words.isascii() and words.isdecimal()) else None
    if number is None or number not in funnels:
        reading.blame(f'"funnel" is the number of a funnel or "@category:" and its name; there are {", ".join(map(str, funnels))}')
        return None
    return number


def _read_at(words: object, question: Question, reading: Reading) -> Question:
    if words is None:
        return question
    if question.subject.name != "deals":
        reading.blame('"at" is for deals: their state at a moment')
        return question
    if isinstance(words, str) and words in STRETCHES:
        return replace(question, at_unit=words)
    try:
        stretch = read_stretch(words, reading.clock, "back")
    except UnclearStretch as unclear:
        reading.blame(f'"at" is day, week, month, quarter, year, or "@date:" and a day ({unclear})')
        return question
    moment = stretch.end or stretch.start
    if moment is None or (stretch.start or moment) > reading.clock.now:
        reading.blame('"at" is a day that has been')
        return question
    return replace(question, at_moment=min(moment, reading.clock.now + timedelta(seconds=1)))


def _read_per(words: object, question: Question, reading: Reading) -> Question:
    if words is None:
        return question
    if not isinstance(words, Mapping):
        reading.blame('"per" is a second report with the same groups, such as {"of":"deals","where":"won"}')
        return question
    if "per" in words:
        reading.blame('"per" holds no further "per"')
        return question
    inherited = {key: question.source[key] for key in ("period", "group_by") if key in question.source}
    try:
        second = read_question({**inherited, **words}, reading.clock, reading.facts)
    except Misunderstood as fault:
        reading.blame(f'"per": {fault}')
        return question
    return replace(question, per=second)
