"""Resolves references to days, times and sums ("@date:завтра", "@sum:5 тыс") to the value that a field of the portal needs.

For an unclear date or sum it builds the question to the person.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final, get_args
from zoneinfo import ZoneInfo

from bitrix.catalogue.names import to_field_key
from orchestrator.directory.answers import Ambiguous, Option, Resolution, Resolved, Unresolved
from orchestrator.directory.date_places import Purpose, find_past_rule, holds_day, split_operator
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.language.date_format import (
    Choice,
    Past,
    Unclear,
    When,
    WhenPurpose,
    WhenReason,
    format_day,
    format_when,
    to_bitrix_date,
    to_bitrix_datetime,
)
from orchestrator.language.date_parser import parse_when
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.money_format import format_sum
from orchestrator.language.money_parser import Sum, SumReason, UnclearSum, parse_sum
from orchestrator.language.periods import Side, parse_period
from orchestrator.language.text import Locale
from state.stored import JsonObject

_REMINDER: Final = "at"
"""The parameter of reminder.add that holds the time; no other call has a parameter with this name."""
_FINISHED_FORM: Final = 'what took place is written as finished in the same call: COMPLETED "Y" of an activity, the closed stage of a deal'


def resolve_date(
    words: str, *, field: str, kind: str = "", actor: Actor, now: datetime, purpose: Purpose = "plan", present: datetime | None = None
) -> Resolution:
    """Resolve the words for a day or time: to a day for a field that holds only a date, otherwise to a time with its UTC offset.

    `field` is the field's name and `kind` its type: "date" or "datetime"; if it is "" (not known), the name decides. `purpose` says
    whether a past meaning is taken; otherwise the result is `Unresolved`, with a message that tells the person so. `now` is the moment at
    which the words were said; if they are read later, `present` is that moment, and what is over by then is past too.
    """
    key = to_field_key(split_operator(field)[1])
    pure = kind == "date" if kind in {"date", "datetime"} else holds_day(key)
    when_purpose: WhenPurpose = "day" if pure else "reminder" if key == _REMINDER else "deadline"
    found = parse_when(words, now=now, zone=actor.time_zone, purpose=when_purpose, past=find_past_rule(purpose))

    def label(when: When) -> str:
        today = now.astimezone(ZoneInfo(actor.time_zone)).date()
        return format_day(when.day, today=today, locale=actor.locale) if pure else format_when(when, now=now, locale=actor.locale)

    if isinstance(found, When) and purpose == "plan" and present is not None and _is_over(found, present, actor, pure=pure):
        found = Past(found)
    match found:
        case When():
            return Resolved(value=_format_value(found, pure=pure), label=label(found), named_by_person=True)
        case Choice():
            options = tuple(Option(value=_format_value(item, pure=pure), label=label(item)) for item in found.options)
            return Ambiguous(ask=Notice(code="which-date", args={"words": words}), options=options)
        case Past():
            when = label(found.value)
            hint = "" if key == _REMINDER else f"; {_FINISHED_FORM}"
            return Unresolved(notice=Notice(code="date-past", args={"when": when}), detail=f"{words!r} is in the past: {when}{hint}")
        case Unclear():
            return _build_question(words, found, actor)


def _is_over(when: When, present: datetime, actor: Actor, *, pure: bool) -> bool:
    """Return whether a day or time lies before the present one."""
    return when.day < present.astimezone(ZoneInfo(actor.time_zone)).date() if pure else when.at < present


def read_day(words: str, *, side: Side, actor: Actor, now: datetime) -> Resolution:
    """Resolve the words for one bound of what a method reads, such as `from` and `to` of a calendar, to its first or last day."""
    period = parse_period(words, now=now, zone=actor.time_zone, look="ahead", side=side)  # a calendar is mostly asked what is to come
    match period:
        case Choice():
            return _build_question(words, Unclear("which_week"), actor)
        case Unclear():
            return _build_question(words, period, actor)
    bound = period.start if side == "start" else period.end
    if bound is None:
        return _build_question(words, Unclear("which_bound"), actor)
    if period.is_moment or side == "start":
        return Resolved(value=to_bitrix_date(bound.date()), named_by_person=True)
    return Resolved(value=to_bitrix_date((bound - timedelta(microseconds=1)).date()), named_by_person=True)


def _build_question(words: str, unclear: Unclear, actor: Actor) -> Unresolved:
    question = format_date_question(unclear, locale=actor.locale)
    return Unresolved(notice=Notice(code="ask", args={"question": question}), detail=f"{words!r}: {unclear.reason}")


def resolve_sum(words: str, actor: Actor, *, written: Callable[[Sum], int | float | str]) -> Resolution:
    """Resolve the words for a sum of money; if they have two possible meanings, the person chooses one with a button.

    `written` converts the parsed sum to the value of the field: `to_number` or `to_portal_money`.
    """
    try:
        found = parse_sum(words, locale=actor.locale)
    except UnclearSum as unclear:
        if len(unclear.options) > 1:
            options = tuple(
                Option(value=written(item), label=format_sum(item.amount, item.currency, locale=actor.locale)) for item in unclear.options
            )
            return Ambiguous(ask=Notice(code="which-sum", args={"words": words}), options=options)
        question = format_sum_question(unclear, locale=actor.locale)
        return Unresolved(
            notice=Notice(code="ask", args={"question": question}),
            detail=f"{words!r} is not read as one sum ({unclear.reason}); write the number",
        )
    return Resolved(value=written(found), label=format_sum(found.amount, found.currency, locale=actor.locale), named_by_person=True)


def to_number(found: Sum) -> int | float:
    """Return the amount of a sum as a number without the currency."""
    whole = found.amount == found.amount.to_integral_value()
    return int(found.amount) if whole else float(found.amount)


def to_portal_money(found: Sum) -> int | float | str:
    """Return a sum as the portal writes money ("5000|USD"), or as a number if it has no currency.

    For calls that have a field for the amount and another for the currency, the gate later splits the text into the two.
    """
    return f"{to_number(found)}|{found.currency}" if found.currency else to_number(found)


def find_currency(words: str, actor: Actor) -> str:
    """Return the ISO code of the currency that the words for a sum name, even if the sum itself is unclear; "" if they name none."""
    try:
        return parse_sum(words, locale=actor.locale).currency or ""
    except UnclearSum as unclear:
        return next((option.currency for option in unclear.options if option.currency), "")


def _format_value(when: When, *, pure: bool) -> str:
    return to_bitrix_date(when.day) if pure else to_bitrix_datetime(when.at)


_QUESTIONS: Final = load_lexicon("questions")
_SUM_QUESTIONS: Final[dict[SumReason, dict[Locale, str]]] = {
    reason: _QUESTIONS.read_titles("sums", reason) for reason in get_args(SumReason)
}
_DATE_QUESTIONS: Final[dict[WhenReason, dict[Locale, str]]] = {
    reason: _QUESTIONS.read_titles("dates", reason) for reason in get_args(WhenReason)
}
_OR: Final = _QUESTIONS.read_titles("or")


def format_sum_question(unclear: UnclearSum, *, locale: Locale = "ru") -> str:
    """Return the question about an unclear sum, with its possible meanings: «Какая это сумма? 1,50 или 1 500»."""
    readings = _OR[locale].join(format_sum(option.amount, option.currency, locale=locale) for option in unclear.options)
    question = _SUM_QUESTIONS[unclear.reason][locale]
    return f"{question} {readings}" if unclear.reason == "two_readings" else question


def format_date_question(unclear: Unclear, *, locale: Locale = "ru") -> str:
    """Return the question that asks the person to make an unclear date clear, in the language `locale`."""
    return _DATE_QUESTIONS[unclear.reason][locale]


def has_field(value: object, key: str) -> bool:
    """Return whether a call's parameters `value` contain the field with the normalized key `key`, at any depth and in any spelling."""
    return isinstance(value, Mapping) and any(to_field_key(str(name)) == key or has_field(item, key) for name, item in value.items())


def find_field(reference: str, value: object, name: str = "") -> str:
    """Return the name of the field that holds `reference`, at any depth of a call's parameters `value`; "" if there is none.

    `name` is used only when the function calls itself: the field in which `value` stands.
    """
    if value == reference:
        return name
    if isinstance(value, Mapping):
        return next((field for key, item in value.items() if (field := find_field(reference, item, str(key)))), "")
    if isinstance(value, (list, tuple)):
        return next((field for item in value if (field := find_field(reference, item, name))), "")
    return ""


def find_fields(reference: str, value: object, name: str = "") -> frozenset[str]:
    """Return the names of all fields that hold `reference`, at any depth of a call's parameters `value`.

    `name` is used only when the function calls itself: the field in which `value` stands.
    """
    if value == reference:
        return frozenset({name})
    if isinstance(value, Mapping):
        return frozenset().union(*(find_fields(reference, item, str(key)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return frozenset().union(*(find_fields(reference, item, name) for item in value))
    return frozenset()


def find_siblings(reference: str, value: object) -> JsonObject:
    """Return the mapping that holds `reference` as a value, at any depth of a call's parameters `value`; an empty one if there is none."""
    if not isinstance(value, Mapping):
        return {}
    if reference in value.values():
        return value
    return next((siblings for item in value.values() if (siblings := find_siblings(reference, item))), {})
