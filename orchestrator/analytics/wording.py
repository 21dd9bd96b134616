"""The sentences of a report: its title, periods, definition, filter and what it leaves out."""

from collections.abc import Collection
from datetime import date, timedelta
from typing import Final

from orchestrator.analytics.compiler import MONEY, list_left_out
from orchestrator.analytics.definitions import Definitions
from orchestrator.analytics.facts import Facts
from orchestrator.analytics.formatting import NumberFormat, format_date, format_month
from orchestrator.analytics.labels import Labels, name_group_word
from orchestrator.analytics.question import MeasureChoice, Question, State
from orchestrator.analytics.stretches import Clock, Stretch, find_unit_of, keeps_weekdays
from orchestrator.analytics.vocabulary import AHEAD
from orchestrator.analytics.words import find_words, say
from orchestrator.domain.report import ReportPeriod, Unit
from orchestrator.language.text import Locale

DAY: Final = timedelta(days=1)
_TITLED: Final = 2
"""Measures that a title names before it counts the rest."""
_OF_NOW: Final = frozenset({"open", "no_activity", "idle", "overdue"})
_DEFINED_STATES: Final = frozenset({"overdue", "missed", "answered"})
_DEFINED_GROUPS: Final = frozenset({"customer", "lost_from", "department"})


def name_subject(question: Question, locale: Locale) -> str:
    """«Выигранные сделки»: with the first state that changes the name."""
    name = question.subject.name
    plain = find_words("subjects", locale)
    if name not in plain:
        return f"{plain['item']} {name.removeprefix('item:')}"
    state = find_titling_state(question, locale)
    return str(find_words("subjects_in_state", locale)[name][state.code] if state else plain[name])


def find_titling_state(question: Question, locale: Locale) -> State | None:
    """The state that the name of the subject says."""
    name = question.subject.name
    in_state = find_words("subjects_in_state", locale).get(name, {})
    return next((state for state in question.states if state.code in in_state), None)


def name_measure(question: Question, choice: MeasureChoice, locale: Locale) -> str:
    label = name_code(question, choice.code, locale)
    return say("measures", "share", locale, measure=label) if choice.is_share else label


def name_code(question: Question, code: str, locale: Locale) -> str:
    """Leads are converted, not won."""
    own = find_words("measures_of", locale).get(question.subject.name, {})
    return str(own[code]) if code in own else say("measures", code, locale)


def name_with_measure(question: Question, locale: Locale) -> str:
    return f"{name_subject(question, locale)}: {name_measure(question, question.measures[0], locale)}"


async def name_quotient(question: Question, per: Question, labels: Labels) -> tuple[str, str]:
    """What is divided by what; two of one name say their conditions."""
    first, second = name_with_measure(question, labels.locale), name_with_measure(per, labels.locale)
    if first != second:
        return first, second
    filters = [await write_filter(part, labels, without_titling=True) for part in (question, per)]
    named = [f"{first} ({text})" if text else first for text in filters]
    return named[0], named[1]


async def write_title(question: Question, labels: Labels) -> str:
    locale = labels.locale
    subject = name_subject(question, locale)
    if question.is_back:
        subject = say("answer", "back_title", locale)
    if question.at_unit:
        subject = str(find_words("subjects_in_state", locale)["deals"]["open"])
    if question.at_moment:
        moment = question.at_moment - timedelta(seconds=1)
        subject = say("answer", "at_title", locale, moment=format_date(moment.date(), locale))
    plain = [choice for choice in question.measures if not choice.is_share] or question.measures
    named = [name_measure(question, choice, locale) for choice in plain]
    more = len(named) - _TITLED
    measures = ", ".join(named if more <= 1 else [*named[:_TITLED], say("answer", "rest", locale, count=more)])
    by = await _name_groups(question, labels)
    title = f"{subject} {by}: {measures}" if by else f"{subject}: {measures}"  # a picture cuts the end
    if question.funnel is not None:
        names = await labels.names.find_names("funnel", "deal", [str(question.funnel)])
        return say("answer", "funnel_title", locale, funnel=names.get(str(question.funnel)) or f"№{question.funnel}")
    if question.per is not None:
        return say("answer", "per_title", locale, title=title, second=name_with_measure(question.per, locale).lower())
    if question.has_classes:
        return say("answer", "abc_title", locale, title=title)
    return say("answer", "plan_title", locale, title=title) if question.plan else title


async def _name_groups(question: Question, labels: Labels) -> str:
    """«по менеджерам и источникам»."""
    words = find_words("by_dimension", labels.locale)
    names = []
    for group in question.groups:
        if group.own_field:
            title = await labels.names.find_field_title(question.subject.record, group.own_field) or group.own_field
            names.append(words["field"].format(title=title))
        else:
            names.append(name_group_word("by_dimension", group.unit or group.code, question, labels.locale))
    first = names[0].partition(" ")[0] if names else ""
    return f" {words['and']} ".join(name.removeprefix(f"{first} ") if place else name for place, name in enumerate(names))


async def name_dimension(question: Question, place: int, labels: Labels) -> str:
    group = question.groups[place]
    if group.own_field:
        return await labels.names.find_field_title(question.subject.record, group.own_field) or group.own_field
    return name_group_word("dimensions", group.unit or group.code, question, labels.locale)


def build_period(stretch: Stretch, question: Question, clock: Clock, locale: Locale) -> ReportPeriod:
    is_unfinished = stretch.is_unfinished(clock) and question.by not in AHEAD
    first = stretch.start.date() if stretch.start else None
    stop = date.fromisoformat(stretch.stop_day) if stretch.end else None
    last = stop - DAY if stop else clock.today
    text = _write_days(first, stop, stretch, clock, locale, is_cut=is_unfinished)
    return ReportPeriod(
        first=first.isoformat() if first else "",
        last=(min(last, clock.today) if is_unfinished else last).isoformat(),
        text=text + (say("periods", "today", locale) if is_unfinished else ""),
        is_unfinished=is_unfinished,
    )


def _write_days(first: date | None, stop: date | None, stretch: Stretch, clock: Clock, locale: Locale, *, is_cut: bool) -> str:
    if first is None:
        return say("periods", "to", locale, last=format_date((stop or clock.today) - DAY, locale))
    if stop is None:
        return say("periods", "from", locale, first=format_date(first, locale))
    unit, count = (find_unit_of(stretch) if not stretch.has_time else None) or ("", 0)
    last = stop - DAY
    if count == 1 and unit == "months":
        return format_month(first, locale)
    if count == 1 and unit == "quarters":
        return say("periods", "quarter", locale, number=(first.month + 2) // 3, year=first.year)
    if count == 1 and unit == "halves":
        return say("periods", "half", locale, number=1 if first.month == 1 else 2, year=first.year)
    if count == 1 and unit == "years":
        return say("periods", "year", locale, year=first.year)
    if is_cut:
        last = min(last, clock.today)
    if first == last:
        return format_date(first, locale)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day}–{format_date(last, locale)}"
    return f"{format_date(first, locale, has_year=first.year != last.year)} – {format_date(last, locale)}"


def write_subtitle(question: Question, clock: Clock, locale: Locale) -> str:
    parts = [] if question.stretch is not None or _is_of_now(question) else [say("periods", "always", locale)]
    if question.stretch is not None:
        parts.append(build_period(question.stretch, question, clock, locale).text)
        if question.stretch.is_choice:
            parts.append(say("answer", "several", locale))
    if question.compared is not None:
        parts.append(say("answer", "compared", locale, period=build_period(question.compared, question, clock, locale).text))
    return "; ".join(parts)


def _is_of_now(question: Question) -> bool:
    """Its records are those of this moment; late tasks may be done long ago."""
    of_now = _OF_NOW - {"overdue"} if question.subject.name == "tasks" else _OF_NOW
    is_at = question.at_unit is not None or question.at_moment is not None
    return is_at or any(state.code in of_now for state in question.states)


async def write_filter(question: Question, labels: Labels, *, without_titling: bool = False) -> str:
    """All conditions in words, also the states; `without_titling` leaves out the one that names the subject."""
    states = find_words("states", labels.locale)
    titling = find_titling_state(question, labels.locale) if without_titling else None
    left = [state for state in question.states if state != titling or state.code == "idle"]
    parts = [str(states[state.code]).format(days=state.days) for state in left]
    parts += [await labels.describe_condition(question, condition) for condition in question.conditions]
    return "; ".join(parts)


async def write_definition(question: Question, definitions: Definitions, labels: Labels) -> str:
    locale = labels.locale
    clauses = [name_subject(question, locale).lower()]
    filter_text = await write_filter(question, labels, without_titling=True)
    if filter_text:
        clauses[0] += f" ({filter_text})"
    if question.stretch is not None and question.at_unit is None:
        clauses[0] += f" {say('dates', question.by, locale)}"
    if question.subject.name == "moves" and any(group.code == "person" for group in question.groups):
        clauses.append(definitions.find_sentence("shapes.present_owner", locale))
    clauses += _list_clauses(question, definitions, locale)
    if question.per is not None:
        divided = say("answer", "divided", locale, second=name_with_measure(question.per, locale).lower())
        clauses += [divided, *_list_clauses(question.per, definitions, locale)]
    return say("answer", "counted", locale, clauses="; ".join(dict.fromkeys(clauses)))


def _list_clauses(question: Question, definitions: Definitions, locale: Locale) -> list[str]:
    codes = [choice.code for choice in question.measures]
    subject = "deals" if question.subject.name.startswith("item:") else question.subject.name
    shape = (
        "funnel"
        if question.funnel is not None
        else "at"
        if question.at_unit or question.at_moment
        else "abc"
        if question.has_classes
        else ""
    )
    clauses = [definitions.find_sentence(f"shapes.{shape}", locale)] if shape else []
    if question.funnel is None:
        of_currency = question.is_in_own_currency and any(not choice.is_share and choice.code in MONEY for choice in question.measures)
        plain = [code for code in codes if not (of_currency and code == "sum")]
        clauses += [definitions.find_sentence("shapes.own_currency", locale)] if of_currency else []
        clauses += [definitions.find_sentence(f"{subject}.{code}", locale) for code in plain]
        clauses += _list_state_clauses(question, definitions, subject, locale)
        clauses += [definitions.find_sentence(f"shapes.{group.code}", locale) for group in question.groups if group.code in _DEFINED_GROUPS]
    if question.is_back:
        clauses.append(definitions.find_sentence("shapes.back", locale))
    if question.subject.record == "activity" and question.subject.name == "calls":
        clauses.append(definitions.find_sentence("shapes.call_activities", locale))
    if any(choice.is_share for choice in question.measures):
        clauses.append(definitions.find_sentence("shapes.share", locale))
    if {"avg", "median"} & set(codes):
        clauses.append(definitions.find_choice_sentence("average", locale))
    if any(state.code == "idle" for state in question.states) and subject == "deals":
        clauses.append(definitions.find_choice_sentence("idle", locale))
    if "weighted" in codes:
        clauses.append(definitions.find_choice_sentence("weight", locale))
    if question.compare_how in {"previous", "year_ago"}:
        clauses.append(definitions.find_sentence(f"shapes.{_find_comparison(question)}", locale))
    return [clause for clause in clauses if clause]


def _find_comparison(question: Question) -> str:
    if question.compare_how == "previous":
        return "previous_whole" if question.by in AHEAD else "previous"
    return "year_ago_weekdays" if question.stretch is not None and keeps_weekdays(question.stretch) else "year_ago"


def _list_state_clauses(question: Question, definitions: Definitions, subject: str, locale: Locale) -> list[str]:
    codes = [state.code for state in question.states]
    names = [f"shapes.{code}" for code in codes if code in {"no_activity", "repeat"}]
    waits = "open" in codes and subject == "tasks"  # one that was finished late does not count then
    names += [f"{subject}.{code}_now" if waits and code == "overdue" else f"{subject}.{code}" for code in codes if code in _DEFINED_STATES]
    if question.subject.name.startswith("item:") and "open" in codes:
        names.append("shapes.open_items")
    return [definitions.find_sentence(name, locale) for name in names]


def write_details(question: Question, definitions: Definitions, locale: Locale) -> str:
    """What is the same under nearly every report: it is told where somebody asks how it was counted."""
    parts = [part for part in (question, question.per) if part is not None]
    if not any(part.by == "closed" and not part.subject.name.startswith("item:") for part in parts):
        return ""
    sentence = definitions.find_choice_sentence("closing", locale)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def write_left_out(question: Question, counts: tuple[int, ...], facts: Facts, locale: Locale, *, said: Collection[str] = ()) -> list[str]:
    by_code = dict(zip(list_left_out(question), counts, strict=False))
    form = NumberFormat(locale, "")
    is_converted = bool(by_code.pop("foreign", 0))
    notes = [
        say("notes", code, locale, count=form.format_number(count, "count"))
        for code, count in by_code.items()
        if count and code not in said
    ]
    updated = max(facts.rates.values(), default="")
    return [*notes, say("notes", "rate", locale, day=_write_rate_day(updated, locale))] if is_converted and updated else notes


def _write_rate_day(updated: str, locale: Locale) -> str:
    try:
        return format_date(date.fromisoformat(updated[:10]), locale)
    except ValueError:
        return updated


def find_unit(question: Question, choice: MeasureChoice) -> Unit:
    return "percent" if choice.is_share else question.subject.measures[choice.code].unit
