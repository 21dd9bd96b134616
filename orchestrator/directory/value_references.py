"""Resolves "@date:завтра" and "@sum:5 тыс", or builds the question to the person."""

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
"""Of reminder.add, and of no other call."""
_FINISHED_FORM: Final = 'what took place is written as finished in the same call: COMPLETED "Y" of an activity, the closed stage of a deal'


def resolve_date(
    words: str, *, field: str, kind: str = "", actor: Actor, now: datetime, purpose: Purpose = "plan", present: datetime | None = None
) -> Resolution:
    """A day where a field holds only dates, else a time with its offset.

    `kind` is "date", "datetime" or "" (the name decides). `now` is when the words were said, `present` when they are read, if later.
    """
    key = to_field_key(split_operator(field)[1])
    pure = kind == "date" if kind in {"date", "datetime"} else holds_day(key)
    when_purpose: WhenPurpose = "day" if pure else "reminder" if key == _REMINDER else "deadline"
    reading = parse_when(words, now=now, zone=actor.time_zone, purpose=when_purpose, past=find_past_rule(purpose))

    def label(when: When) -> str:
        today = now.astimezone(ZoneInfo(actor.time_zone)).date()
        return format_day(when.day, today=today, locale=actor.locale) if pure else format_when(when, now=now, locale=actor.locale)

    if isinstance(reading, When) and purpose == "plan" and present is not None and _is_over(reading, present, actor, pure=pure):
        reading = Past(reading)
    match reading:
        case When():
            return Resolved(value=_format_value(reading, pure=pure), label=label(reading), named_by_person=True)
        case Choice():
            options = tuple(Option(value=_format_value(item, pure=pure), label=label(item)) for item in reading.options)
            return Ambiguous(ask=Notice(code="which-date", args={"words": words}), options=options)
        case Past():
            when = label(reading.value)
            hint = "" if key == _REMINDER else f"; {_FINISHED_FORM}"
            return Unresolved(notice=Notice(code="date-past", args={"when": when}), detail=f"{words!r} is in the past: {when}{hint}")
        case Unclear():
            return _build_question(words, reading, actor)


def _is_over(when: When, present: datetime, actor: Actor, *, pure: bool) -> bool:
    return when.day < present.astimezone(ZoneInfo(actor.time_zone)).date() if pure else when.at < present


def read_day(words: str, *, side: Side, actor: Actor, now: datetime) -> Resolution:
    """For `from` and `to` of a calendar."""
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


def resolve_sum(words: str, actor: Actor, *, convert: Callable[[Sum], int | float | str]) -> Resolution:
    """Of two meanings the person chooses; `convert` is `to_number` or `to_portal_money`."""
    try:
        parsed_sum = parse_sum(words, locale=actor.locale)
    except UnclearSum as unclear:
        if len(unclear.options) > 1:
            options = tuple(
                Option(value=convert(item), label=format_sum(item.amount, item.currency, locale=actor.locale)) for item in unclear.options
            )
            return Ambiguous(ask=Notice(code="which-sum", args={"words": words}), options=options)
        question = format_sum_question(unclear, locale=actor.locale)
        return Unresolved(
            notice=Notice(code="ask", args={"question": question}),
            detail=f"{words!r} is not read as one sum ({unclear.reason}); write the number",
        )
    return Resolved(
        value=convert(parsed_sum), label=format_sum(parsed_sum.amount, parsed_sum.currency, locale=actor.locale), named_by_person=True
    )


def to_number(parsed_sum: Sum) -> int | float:
    """Without the currency."""
    whole = parsed_sum.amount == parsed_sum.amount.to_integral_value()
    return int(parsed_sum.amount) if whole else float(parsed_sum.amount)


def to_portal_money(parsed_sum: Sum) -> int | float | str:
    """ "5000|USD", or a number without a currency."""
    return f"{to_number(parsed_sum)}|{parsed_sum.currency}" if parsed_sum.currency else to_number(parsed_sum)


def find_currency(words: str, actor: Actor) -> str:
    """Even if the sum is unclear; "" for none."""
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
    """«Какая это сумма? 1,50 или 1 500»."""
    readings = _OR[locale].join(format_sum(option.amount, option.currency, locale=locale) for option in unclear.options)
    question = _SUM_QUESTIONS[unclear.reason][locale]
    return f"{question} {readings}" if unclear.reason == "two_readings" else question


def format_date_question(unclear: Unclear, *, locale: Locale = "ru") -> str:
    return _DATE_QUESTIONS[unclear.reason][locale]


def has_field(value: object, key: str) -> bool:
    """At any depth and in any spelling."""
    return isinstance(value, Mapping) and any(to_field_key(str(name)) == key or has_field(item, key) for name, item in value.items())


def find_field(reference: str, value: object, name: str = "") -> str:
    """At any depth; "" if there is none."""
    if value == reference:
        return name
    if isinstance(value, Mapping):
        return next((field for key, item in value.items() if (field := find_field(reference, item, str(key)))), "")
    if isinstance(value, (list, tuple)):
        return next((field for item in value if (field := find_field(reference, item, name))), "")
    return ""


def find_fields(reference: str, value: object, name: str = "") -> frozenset[str]:
    """At any depth."""
    if value == reference:
        return frozenset({name})
    if isinstance(value, Mapping):
        return frozenset().union(*(find_fields(reference, item, str(key)) for key, item in value.items()))
    if isinstance(value, (list, tuple)):
        return frozenset().union(*(find_fields(reference, item, name) for item in value))
    return frozenset()


def find_siblings(reference: str, value: object) -> JsonObject:
    """The mapping around it, at any depth; {} if there is none."""
    if not isinstance(value, Mapping):
        return {}
    if reference in value.values():
        return value
    return next((siblings for item in value.values() if (siblings := find_siblings(reference, item))), {})
