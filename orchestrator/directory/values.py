"""References to days, moments and sums: the person's words become values in the form a field needs. Ring 2, pure."""

from collections.abc import Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from orchestrator.directory.answers import Option, Resolution, Resolved, Several, Unresolved
from orchestrator.directory.date_format import bitrix_date, bitrix_datetime, format_day, format_when
from orchestrator.directory.dates import parse_when
from orchestrator.directory.moments import Choice, Past, Unclear, Wanted, When
from orchestrator.directory.questions import ask_sum, ask_when
from orchestrator.directory.sum_format import format_sum
from orchestrator.directory.sums import Sum, UnclearSum, parse_sum
from orchestrator.messages import Actor, Notice

_REMINDER = "at"
"""Of reminder.add, and of no other call."""
_PURE_DAYS = frozenset({"closedate", "begindate", "birthdate"})


def resolve_date(words: str, *, field: str, kind: str = "", actor: Actor, now: datetime) -> Resolution:
    """A day for pure date fields (never shifted by zones), a moment with offset for others; the past is asked about.

    `kind` is the portal's own type of the field, "" where it is not known: then the field's name decides.
    """
    pure = kind == "date" if kind in {"date", "datetime"} else _is_pure_day(field)
    wanted: Wanted = "day" if pure else "reminder" if field.lower() == _REMINDER else "deadline"
    found = parse_when(words, now=now, zone=actor.time_zone, wanted=wanted)

    def label(when: When) -> str:
        today = now.astimezone(ZoneInfo(actor.time_zone)).date()
        return format_day(when.day, today=today, locale=actor.locale) if pure else format_when(when, now=now, locale=actor.locale)

    match found:
        case When():
            return Resolved(value=_value(found, pure=pure), label=label(found), named=True)
        case Choice():
            options = tuple(Option(value=_value(item, pure=pure), label=label(item)) for item in found.options)
            return Several(ask=Notice(code="which-date", args={"words": words}), options=options)
        case Past():
            when = label(found.value)
            return Unresolved(notice=Notice(code="date-past", args={"when": when}), detail=f"{words!r} is in the past: {when}")
        case Unclear():
            question = ask_when(found, locale=actor.locale)
            return Unresolved(notice=Notice(code="ask", args={"question": question}), detail=f"{words!r}: {found.reason}")


def resolve_sum(words: str, actor: Actor, *, written: Callable[[Sum], int | float | str]) -> Resolution:
    """An amount as `written` writes it; two readings become buttons."""
    try:
        found = parse_sum(words, locale=actor.locale)
    except UnclearSum as unclear:
        if len(unclear.options) > 1:
            options = tuple(
                Option(value=written(item), label=format_sum(item.amount, item.currency, locale=actor.locale)) for item in unclear.options
            )
            return Several(ask=Notice(code="which-sum", args={"words": words}), options=options)
        question = ask_sum(unclear, locale=actor.locale)
        return Unresolved(notice=Notice(code="ask", args={"question": question}), detail=f"{words!r}: {unclear.reason}")
    return Resolved(value=written(found), label=format_sum(found.amount, found.currency, locale=actor.locale), named=True)


def bare(found: Sum) -> int | float:
    """The number alone, where no currency was named or the place has none."""
    whole = found.amount == found.amount.to_integral_value()
    return int(found.amount) if whole else float(found.amount)


def with_currency(found: Sum) -> int | float | str:
    """The number with the currency that was named, as the portal writes money: 5000|USD. The gate takes it apart again."""
    return f"{bare(found)}|{found.currency}" if found.currency else bare(found)


def named_currency(words: str, actor: Actor) -> str:
    """The currency that was named with a sum, "" where none was or it is no sum."""
    try:
        return parse_sum(words, locale=actor.locale).currency or ""
    except UnclearSum as unclear:
        return next((one.currency for one in unclear.options if one.currency), "")


def _value(when: When, *, pure: bool) -> str:
    return bitrix_date(when.day) if pure else bitrix_datetime(when.at)


def _is_pure_day(field: str) -> bool:
    """Whether the field holds a day without a time; a filter's prefix (">=CLOSEDATE") does not matter."""
    return field.lstrip("<>=!@%").replace("_", "").lower() in _PURE_DAYS
