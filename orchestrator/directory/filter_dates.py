"""Expands days in filters to bounds: {"DATE_CREATE": "@date:прошлый месяц"} becomes ">=" and "<".

With a sign: from its beginning (>=), after it (>), before it (<), with its last day (<=). A guess is refused with the form.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Final, Literal

from bitrix.catalogue.names import to_field_key
from orchestrator.directory.answers import Ambiguous, AskedDate, Option, Unresolved
from orchestrator.directory.date_places import find_look, split_operator
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.language.date_format import Choice, Unclear, format_day, to_bitrix_date, to_bitrix_datetime
from orchestrator.language.periods import Period, Side, parse_period
from state.stored import JsonObject

FORM: Final = (
    'write a day or a period under the bare field name, {"DATE_CREATE":"@date:last month"}, or one bound, '
    '{">=DATE_CREATE":"@date:1 October"}; the prompt lists the words that are read'
)
DateKind = Literal["date", "datetime", ""]
"""Empty for a field that is not known."""
_REFERENCE: Final = re.compile(r"@(?:date|range|period):\s*(\S.*)", re.DOTALL)
_OTHER: Final = re.compile(r"@[A-Za-z_]+:.*", re.DOTALL)
_KNOWN_OTHERS: Final = ("deal", "lead", "contact", "company", "task", "user", "stage", "category", "sum")
_ISO_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_ISO_MOMENT: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?", re.ASCII)
_LOWER: Final = (">=", ">")
_UPPER: Final = ("<", "<=")
_BETWEEN: Final = "><"
_NO_BOUND: Final = "it has no such bound"
_PAIR: Final = 2


class DateStop(Exception):
    """`result` is the question to the person, or what is wrong with the day."""

    def __init__(self, result: AskedDate | Unresolved) -> None:
        super().__init__(result)
        self.result = result


@dataclass(frozen=True, kw_only=True)
class FilterContext:
    """`kinds` are by name without a sign, `chosen` by reference. `conditions` are those of the groups around."""

    now: datetime
    actor: Actor
    kinds: Mapping[str, DateKind]
    chosen: Mapping[str, object] = field(default_factory=dict)
    conditions: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """The moment from which (`is_lower`) or up to which records fit; None if it is no bound."""

    key: str
    value: object
    name: str
    moment: datetime | None = None
    is_lower: bool = False


@dataclass(frozen=True, kw_only=True)
class _Condition:
    key: str
    operator: str
    name: str
    value: object
    kind: DateKind


def parse_reference(value: object) -> str | None:
    match = _REFERENCE.fullmatch(value) if isinstance(value, str) else None
    return match[1].strip() if match is not None else None


def parse_iso_day(value: object) -> date | None:
    """As it is written; None for any other value."""
    text = value.strip() if isinstance(value, str) else ""
    if not _ISO_DAY.fullmatch(text) and not _ISO_MOMENT.match(text):
        return None
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def lacks_offset(value: object) -> bool:
    """A time of day without a zone."""
    text = value.strip() if isinstance(value, str) else ""
    try:
        return _ISO_MOMENT.match(text) is not None and datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False


def mentions_day(value: object) -> bool:
    """At any depth, a reference or an ISO day."""
    if isinstance(value, str):
        return value[:1] == "@" or _ISO_DAY.match(value) is not None
    if isinstance(value, list):
        return any(mentions_day(item) for item in value)
    if isinstance(value, Mapping):
        return any(mentions_day(item) for item in value.values())
    return False


def list_date_fields(conditions: JsonObject) -> Iterator[str]:
    """Without signs, at any depth."""
    for key, value in conditions.items():
        for group in (value,) if isinstance(value, Mapping) else value if isinstance(value, list) else ():
            if isinstance(group, Mapping):
                yield from list_date_fields(group)
        if not isinstance(value, Mapping) and mentions_day(value):
            yield split_operator(key)[1]


def expand_filter(conditions: JsonObject, context: FilterContext) -> tuple[dict[str, object], list[Bound]]:
    """The filter, and the bounds written into it. Raises DateStop."""
    context = replace(context, conditions={**context.conditions, **conditions})
    dated = {condition.key: condition for condition in _list_conditions(conditions, context)}
    result: dict[str, object] = {}
    bounds: list[Bound] = []
    is_or = any(key.lower() == "logic" and str(value).lower() == "or" for key, value in conditions.items())
    for key, value in conditions.items():
        if key in dated:
            pairs = list(_expand_condition(dated, dated[key], context))
            bounds += pairs
            expanded = {pair.key: pair.value for pair in pairs}
            if is_or and len(pairs) > 1:
                expanded = {_find_free_key({**conditions, **result}): expanded}
            doubled_key = next((name for name in expanded if name in result or (name in conditions and name not in dated)), None)
            if doubled_key is not None:
                raise _build_stop(dated[key], f"the filter limits {dated[key].name} twice")
            result |= expanded
        else:
            result[key], inner = _expand_inner(key, value, context)
            bounds += inner
    if not is_or:
        _check_order(bounds, dated)
    return result, bounds


def _expand_inner(key: str, value: object, context: FilterContext) -> tuple[object, list[Bound]]:
    if isinstance(value, Mapping):
        if value and all(not split_operator(str(name))[1] for name in value) and mentions_day(value):
            condition = _Condition(key=key, operator="", name=key, value=next(iter(value.values())), kind="")
            raise _build_stop(condition, "signs stand before the name of the field, as in a key of their own")
        return expand_filter(value, context)
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        pairs = [expand_filter(item, context) if isinstance(item, Mapping) else (item, []) for item in value]
        return [item for item, _ in pairs], [bound for _, inner in pairs for bound in inner]
    return value, []


def _list_conditions(conditions: JsonObject, context: FilterContext) -> Iterator[_Condition]:
    """References, and ISO days in fields known to hold times."""
    for key, value in conditions.items():
        operator, name = split_operator(key)
        kind = context.kinds.get(name, "")
        several = value if isinstance(value, list) else [value]
        condition = _Condition(key=key, operator=operator, name=name, value=value, kind=kind)
        if any(parse_reference(item) is not None for item in several):
            yield condition
        elif kind and any(_is_unknown_reference(item) for item in several):
            raise _build_stop(condition, "there is no such reference")
        elif kind == "datetime" and any(
            isinstance(item, str) and (_ISO_DAY.fullmatch(item) or _ISO_MOMENT.fullmatch(item)) for item in several
        ):
            yield condition


def _is_unknown_reference(value: object) -> bool:
    return isinstance(value, str) and _OTHER.fullmatch(value) is not None and value[1:].partition(":")[0] not in _KNOWN_OTHERS


def _expand_condition(dated: Mapping[str, _Condition], condition: _Condition, context: FilterContext) -> Iterator[Bound]:
    twins = [one for one in dated.values() if one.name == condition.name and one.value == condition.value and one is not condition]
    if condition.operator in _UPPER and any(twin.operator in _LOWER for twin in twins):
        return  # «>=» and «<» with the same period: the whole of it, which the lower one stands for
    if condition.operator in _LOWER and any(twin.operator in _UPPER for twin in twins):
        condition = replace(condition, operator="", key=condition.name)
    if condition.operator == _BETWEEN:
        yield from _expand_between(condition, context)
    elif condition.operator in {"", "="} and not isinstance(condition.value, list):
        yield from _expand_whole(condition, context)
    elif condition.operator in _LOWER + _UPPER and isinstance(condition.value, str):
        yield _expand_bound(condition, context)
    elif condition.kind == "date" and condition.operator in {"", "=", "@", "!", "!=", "!@"}:
        yield _expand_days(condition, context)
    elif _names_words(condition.value):
        raise _build_stop(condition, f"a period cannot stand after {condition.operator or 'a list'}")
    else:
        yield Bound(key=condition.key, value=condition.value, name=condition.name)


def _names_words(value: object) -> bool:
    return any(parse_reference(item) is not None for item in (value if isinstance(value, list) else [value]))


def _expand_between(condition: _Condition, context: FilterContext) -> Iterator[Bound]:
    if not isinstance(condition.value, list) or len(condition.value) != _PAIR:
        raise _build_stop(condition, "between needs two days")
    for operator, value in zip((">=", "<="), condition.value, strict=True):
        if isinstance(value, str):
            yield _expand_bound(replace(condition, operator=operator, value=value), context)


def _expand_whole(condition: _Condition, context: FilterContext) -> Iterator[Bound]:
    """One equality for a single day in a field of days."""
    period = _read_period(condition, context, "whole")
    name, kind = condition.name, condition.kind
    if period.is_moment:
        if kind != "date" or period.start is None:
            raise _build_stop(condition, "no record fits a single time exactly")
        yield Bound(key=condition.key, value=to_bitrix_date(period.start.date()), name=name)
        return
    if kind == "date" and period.start is not None and period.end is not None and _find_last_day(period.end) == period.start.date():
        yield Bound(key=condition.key, value=to_bitrix_date(period.start.date()), name=name)
        return
    if period.start is not None:
        yield _build_bound(">=", name, period.start, kind)
    if period.end is not None:
        yield _build_bound("<", name, period.end, kind)


def _expand_bound(condition: _Condition, context: FilterContext) -> Bound:
    period = _read_period(condition, context, "start" if condition.operator in _LOWER else "end")
    if period.is_moment and period.start is not None:
        return _build_bound(condition.operator, condition.name, period.start, condition.kind)
    if condition.operator in _LOWER:
        return _expand_lower(condition, period)
    return _expand_upper(condition, period)


def _expand_lower(condition: _Condition, period: Period) -> Bound:
    """From the beginning of a period (>=), or after its last day (>)."""
    name, kind, end = condition.name, condition.kind, period.end
    is_plain = parse_reference(condition.value) is None
    if period.start is None:
        raise _build_stop(condition, _NO_BOUND)
    if condition.operator == ">=" or period.reaches_now or period.edge == "start":
        return _build_bound(">=", name, period.start, kind)
    if is_plain:  # the portal's own meaning: after the midnight with which the day begins
        return _build_bound(">", name, period.start, kind)
    if end is None:
        raise _build_stop(condition, _NO_BOUND)
    if kind == "date":
        return Bound(key=f">{name}", value=to_bitrix_date(_find_last_day(end)), name=name, moment=end, is_lower=True)
    return _build_bound(">=", name, end, kind)


def _expand_upper(condition: _Condition, period: Period) -> Bound:
    """Before a period begins (<), or with its last day (<=)."""
    name, kind, end = condition.name, condition.kind, period.end
    if end is None:
        raise _build_stop(condition, _NO_BOUND)
    if condition.operator == "<" and period.reaches_now:
        raise _build_stop(condition, "it reaches to the present and begins where it says")
    if condition.operator == "<":
        bound = end if period.edge == "end" or period.start is None else period.start
        return _build_bound("<", name, bound, kind)
    if kind == "date":
        return Bound(key=f"<={name}", value=to_bitrix_date(_find_last_day(end)), name=name, moment=end)
    return _build_bound("<", name, end, kind)


def _expand_days(condition: _Condition, context: FilterContext) -> Bound:
    """One of a list of days, or none of them."""
    several = condition.value if isinstance(condition.value, list) else [condition.value]
    days: list[object] = []
    for item in several:
        if parse_reference(item) is None:
            days.append(item)
            continue
        (bound,) = (*_expand_whole(replace(condition, value=item), context), None)[:1]
        if bound is None or bound.moment is not None:
            raise _build_stop(condition, "it is not a single day")
        days.append(bound.value)
    return Bound(key=condition.key, value=days if isinstance(condition.value, list) else days[0], name=condition.name)


def _build_bound(operator: str, name: str, moment: datetime, kind: DateKind) -> Bound:
    value = to_bitrix_date(moment.date()) if kind == "date" else to_bitrix_datetime(moment)
    return Bound(key=f"{operator}{name}", value=value, name=name, moment=moment, is_lower=operator in _LOWER)


def _find_last_day(end: datetime) -> date:
    return (end - timedelta(microseconds=1)).date()


def _read_period(condition: _Condition, context: FilterContext, side: Side) -> Period:
    """Raises DateStop."""
    text = str(condition.value)
    words = parse_reference(text) or text
    if text in context.chosen:
        words = str(context.chosen[text])[:10]
    look = find_look(to_field_key(condition.name), context.conditions)
    period = parse_period(words, now=context.now, zone=context.actor.time_zone, look=look, side=side)
    match period:
        case Period():
            return period
        case Choice():
            today = context.now.astimezone(period.options[0].at.tzinfo).date()
            options = tuple(
                Option(value=to_bitrix_date(option.day), label=format_day(option.day, today=today, locale=context.actor.locale))
                for option in period.options
            )
            ask = Ambiguous(ask=Notice(code="which-date", args={"words": words}), options=options)
            raise DateStop(AskedDate(reference=text, several=ask))
        case Unclear():
            raise _build_stop(condition, _REASONS.get(period.reason, "it names no day or period that is known"))


_REASONS: Final = {
    "which_bound": "the sign and the words do not say whether that day belongs to it: <= with it, < without it",
    "order": "it ends before it begins",
    "which_hour": "the hour is not clear",
    "which_day": "it is too vague for a day or a period",
    "which_week": "that weekday is today: today or a week ago?",
    "several": "it names several days",
    "mismatch": "the weekday and the date do not agree",
    "impossible": "there is no such day",
    "repeats": "a filter has no repeating days",
}


def _build_stop(condition: _Condition, why: str) -> DateStop:
    term = condition.value
    words = parse_reference(term) or ", ".join(map(str, term)) if isinstance(term, list) else parse_reference(term) or str(term)
    notice = Notice(code="date-in-filter", args={"words": words[:100]})
    return DateStop(Unresolved(notice=notice, detail=f"filter {condition.key}, {words[:100]!r}: {why}; {FORM}"))


def _find_free_key(conditions: JsonObject) -> str:
    return next(str(number) for number in range(len(conditions) + 1) if str(number) not in conditions)


def _check_order(bounds: list[Bound], dated: Mapping[str, _Condition]) -> None:
    """Raises DateStop if the bounds of a field leave nothing between them."""
    for condition in dated.values():
        own = [bound for bound in bounds if bound.name == condition.name and bound.moment is not None]
        lower = [bound.moment for bound in own if bound.is_lower and bound.moment is not None]
        upper = [bound.moment for bound in own if not bound.is_lower and bound.moment is not None]
        if lower and upper and max(lower) >= min(upper):
            raise _build_stop(condition, "the filter ends before it begins")


def format_bounds(bounds: list[Bound]) -> tuple[str, ...]:
    """For the model: "DATE_CREATE 2026-10-01..2026-10-31"."""
    lines: list[str] = []
    for name in dict.fromkeys(bound.name for bound in bounds):
        own = [bound for bound in bounds if bound.name == name]
        same = next((bound for bound in own if bound.moment is None), None)
        if same is not None:
            lines.append(f"{name} {same.value}")
            continue
        lower, upper = (next((bound.moment for bound in own if bound.is_lower is side), None) for side in (True, False))
        lines.append(f"{name} {_format_moment(lower)}..{_format_moment(upper, is_end=True)}")
    return tuple(lines)


def _format_moment(moment: datetime | None, *, is_end: bool = False) -> str:
    if moment is None:
        return ""
    if (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return (moment.date() - timedelta(days=is_end)).isoformat()
    return moment.isoformat(timespec="minutes")
