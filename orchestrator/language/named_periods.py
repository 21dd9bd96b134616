import re
from datetime import date, timedelta
from typing import Final, Literal

from orchestrator.language.calendar_units import (
    MONTH,
    SHIFTS,
    Unit,
    add_units,
    build_day,
    find_month,
    find_start,
    find_unit,
    find_which,
    to_monday,
)
from orchestrator.language.date_format import WhenReason
from orchestrator.language.date_parser import add_span
from orchestrator.language.day_phrase import UnclearPhrase
from orchestrator.language.day_words import NUMBER, SPAN_UNIT, find_unit_name, parse_count
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.period_scope import DAY, Forms, Parts, Period, Reader, Scope

_SATURDAY: Final = 5
_WORDS: Final = load_lexicon("periods")
_DATE_WORDS: Final = load_lexicon("dates")
UNITS: Final[dict[Unit, str]] = {
    "weeks": _WORDS.join_patterns("units", "weeks"),
    "months": _WORDS.join_patterns("units", "months"),
    "quarters": _WORDS.join_patterns("units", "quarters"),
    "halves": _WORDS.join_patterns("units", "halves"),
    "years": _WORDS.join_patterns("units", "years"),
}
_SPANS: Final[dict[str, Unit]] = {"days": "days", "weeks": "weeks", "months": "months", "quarters": "quarters", "years": "years"}
_TO_DATE: Final[dict[str, Unit]] = {_WORDS.read_text("to_date_short", unit): unit for unit in UNITS if unit != "halves"}
_HALF: Final = _DATE_WORDS.read_words("units", "half")
_EITHER: Final = frozenset(_WORDS.read_words("either"))
_NIGHTS: Final = _WORDS.read_words("nights")
_NAMED_DAYS: Final = _WORDS.read_table("named_days")
_ORDERS: Final = _WORDS.read_words("orders")
_SEASONS: Final = _WORDS.read_words("seasons")


def _read_year(parts: Parts, scope: Scope) -> Period:
    return scope.build_days(*find_unit("years", build_day(int(parts.year), 1, 1)))


def _read_month_number(parts: Parts, scope: Scope) -> Period:
    return scope.build_days(*find_unit("months", build_day(int(parts.year), int(parts.month), 1)))


def _read_iso_week(parts: Parts, scope: Scope) -> Period:
    monday = date.fromisocalendar(int(parts.year), int(parts.week), 1)
    return scope.build_days(monday, monday + 7 * DAY)


def _read_month(parts: Parts, scope: Scope) -> Period:
    return _read_part_of_year("months", find_month(parts.month_name), parts, scope)


def _read_quarter(parts: Parts, scope: Scope) -> Period:
    return _read_part_of_year("quarters", _find_order(parts.order), parts, scope)


def _read_half(parts: Parts, scope: Scope) -> Period:
    order = _find_order(parts.order)
    if order > 2:  # noqa: PLR2004 — a year has two halves
        raise UnclearPhrase("impossible")
    return _read_part_of_year("halves", order, parts, scope)


def _read_season(parts: Parts, scope: Scope) -> Period:
    number = next(place for place, pattern in enumerate(_SEASONS, start=1) if re.fullmatch(pattern, parts.unit))
    if number == 1 and (parts.year or parts.which_year):  # «зимой 2025» may be either of two
        raise UnclearPhrase("which_day")
    return _read_part_of_year("seasons", number, parts, scope)


def _find_order(word: str) -> int:
    return next(number for number, pattern in enumerate(_ORDERS, start=1) if re.fullmatch(pattern, word))


def _read_part_of_year(unit: Unit | Literal["seasons"], number: int, parts: Parts, scope: Scope) -> Period:
    today, after = scope.anchor.today, scope.anchor.after
    if parts.year or parts.which_year:
        year = int(parts.year) if parts.year else today.year + SHIFTS[find_which(parts.which_year)]
        return scope.build_days(*_find_part(unit, number, year))
    middle = after or today
    options = [_find_part(unit, number, year) for year in range(middle.year - 1, middle.year + 3)]
    current = _to_season(find_start("quarters", _to_season(today, 1))) if unit == "seasons" else find_start(unit, today)
    which = find_which(parts.which)
    if which == "this" and (this := _find_part(unit, number, today.year))[0].year == today.year:
        return scope.build_days(*this)
    if which in {"last", "next"}:
        fitting = [option for option in options if (option[0] < current if which == "last" else option[0] > current)]
        return scope.build_days(*fitting[-1 if which == "last" else 0])
    if after is not None:
        return scope.build_days(*next(option for option in options if option[1] > after))
    if scope.anchor.look == "back":
        return scope.build_days(*[option for option in options if option[0] <= today][-1])
    return scope.build_days(*next(option for option in options if option[1] > today))


def _find_part(unit: Unit | Literal["seasons"], number: int, year: int) -> tuple[date, date]:
    if unit == "seasons":
        first, stop = find_unit("quarters", build_day(year, 1, 1), number - 1)
        return _to_season(first), _to_season(stop)
    return find_unit(unit, build_day(year, 1, 1), number - 1)


def _to_season(day: date, months: int = -1) -> date:
    """Seasons are quarters that begin a month earlier; that of winter begins in the year before."""
    return add_units("months", day, months)


def _read_unit(parts: Parts, scope: Scope) -> Period:
    if parts.which in _EITHER and scope.anchor.look == "back":
        raise UnclearPhrase("which_day")
    return scope.build_days(*find_unit(_find_unit(parts.unit), scope.today, SHIFTS[find_which(parts.which)]))


def _read_unit_before_last(parts: Parts, scope: Scope) -> Period:
    return scope.build_days(*find_unit(_find_unit(parts.unit), scope.today, -2))


def _find_unit(word: str) -> Unit:
    return next(unit for unit, pattern in UNITS.items() if re.fullmatch(pattern, word))


def _read_weekend(parts: Parts, scope: Scope) -> Period:
    saturday = to_monday(scope.today) + _SATURDAY * DAY
    which = find_which(parts.which)
    if which:
        saturday += 7 * SHIFTS[which] * DAY
    elif scope.anchor.look == "back" and saturday > scope.today:
        saturday -= 7 * DAY
    return scope.build_days(saturday, saturday + 2 * DAY)


def _read_named_day(parts: Parts, scope: Scope) -> Period:
    day = scope.today + int(_NAMED_DAYS[next(name for name in _NAMED_DAYS if parts.unit.startswith(name))]) * DAY
    return scope.build_days(day, day + DAY)


def _read_recent(parts: Parts, scope: Scope) -> Period:
    return _build_stretch(parts, scope, -1)


def _read_coming(parts: Parts, scope: Scope) -> Period:
    return _build_stretch(parts, scope, 1)


def _read_count(parts: Parts, scope: Scope) -> Period:
    return _build_stretch(parts, scope, -1 if scope.anchor.look == "back" else 1)


def _build_stretch(parts: Parts, scope: Scope, sign: int) -> Period:
    """From now, so many units back or ahead; of days, today as a whole."""
    count, unit = parse_count(parts.number), find_unit_name(parts.unit)
    if unit in {"hours", "minutes"} or parts.unit in _NIGHTS:
        hours = 0.5 if parts.unit.startswith(_HALF) else 24 * count if parts.unit in _NIGHTS else count
        far = add_span(sign * timedelta(**({"minutes": count} if unit == "minutes" else {"hours": hours})), scope.here)
        near = add_span(timedelta(), scope.here)
        return Period(start=min(far, near), end=max(far, near), has_time=True, reaches_now=sign < 0)
    if unit == "days" and not parts.number:
        raise UnclearPhrase("which_day")
    is_half = parts.unit.startswith(_HALF)
    far_day = add_units("halves", scope.today, sign) if is_half else add_units(_SPANS[unit], scope.today, sign * count)
    if sign < 0:
        return scope.build_until_now(scope.find_midnight(far_day))
    return scope.build_days(scope.today, far_day + DAY)


def _read_to_date(parts: Parts, scope: Scope) -> Period:
    unit = next((unit for word, unit in _TO_DATE.items() if word == parts.unit), None) or _find_unit(parts.unit)
    return scope.build_until_now(scope.find_midnight(find_start(unit, scope.today)))


def _refuse(reason: WhenReason) -> Reader:
    def refuse(_said: Parts, _scope: Scope) -> Period:
        raise UnclearPhrase(reason)

    return refuse


IN: Final = rf"(?:(?:{_WORDS.join_patterns('before')}) )*"
SHIFTING: Final = "|".join(word for word in _DATE_WORDS.read_words("which") if find_which(word) in SHIFTS)
IN_YEAR: Final = (
    rf"(?:,? (?:{_WORDS.read_text('of')} )?(?P<year>(?:19|20)[0-9]{{2}})(?: ?(?:{_WORDS.join_patterns('year_words')}))?"
    rf"| (?:{_WORDS.read_text('of')} )?(?P<which_year>{SHIFTING}) (?:{_WORDS.join_patterns('of_year')}))?"
)
_ORDER: Final = rf"(?P<order>{_WORDS.join_patterns('orders')})"
_UNIT: Final = rf"(?P<unit>{'|'.join(UNITS.values())})"
NAMED_PERIODS: Final[Forms] = {
    "every": (rf".*(?<!\w)(?:{_WORDS.join_patterns('every')})(?!\w).*", _refuse("repeats")),
    "to_date": (rf"{IN}{_UNIT}(?:{_WORDS.join_patterns('to_date')})", _read_to_date),
    "to_date_short": (rf"(?P<unit>{'|'.join(_TO_DATE)})", _read_to_date),
    "year": (rf"{IN}(?P<year>(?:19|20)[0-9]{{2}})(?: ?(?:{_WORDS.join_patterns('year_words')}))?", _read_year),
    "iso_month": (rf"{IN}(?P<year>(?:19|20)[0-9]{{2}})-(?P<month>[0-9]{{2}})", _read_month_number),
    "dotted_month": (rf"{IN}(?P<month>[0-9]{{1,2}})[./](?P<year>(?:19|20)[0-9]{{2}})", _read_month_number),
    "iso_week": (r"(?P<year>(?:19|20)[0-9]{2})-?w(?P<week>[0-9]{2})", _read_iso_week),
    "iso_quarter": (rf"(?P<year>(?:19|20)[0-9]{{2}})[- ]?{_WORDS.read_text('quarter_sign')}(?P<order>[1-4])", _read_quarter),
    "quarter_sign": (rf"{IN}{_WORDS.read_text('quarter_sign')} ?(?P<order>[1-4]){IN_YEAR}", _read_quarter),
    "quarter": (rf"{IN}{_ORDER} (?:{UNITS['quarters']}){IN_YEAR}", _read_quarter),
    "half_sign": (rf"{IN}(?:{_WORDS.read_text('half_sign')}) ?(?P<order>[12]){IN_YEAR}", _read_half),
    "half": (rf"{IN}{_ORDER} (?:{UNITS['halves']}){IN_YEAR}", _read_half),
    "season": (rf"{IN}(?:(?P<which>{SHIFTING}) )?(?P<unit>{_WORDS.join_patterns('seasons')}){IN_YEAR}", _read_season),
    "month": (rf"{IN}(?:(?P<which>{SHIFTING}) )?(?P<month_name>{MONTH})\.?{IN_YEAR}", _read_month),
    "unit_before_last": (rf"{IN}{_UNIT} (?:{_WORDS.read_text('before_last')})", _read_unit_before_last),
    "unit": (rf"{IN}(?P<which>{SHIFTING}) {_UNIT}", _read_unit),
    "weekend": (rf"{IN}(?:(?P<which>{SHIFTING}) )?(?:{_WORDS.join_patterns('weekend')})", _read_weekend),
    "named_day": (rf"{IN}(?P<unit>(?:{'|'.join(_NAMED_DAYS)})\w{{2,3}}) (?:{_WORDS.join_patterns('days')})", _read_named_day),
    "recent": (rf"{IN}(?:{_WORDS.join_patterns('recent')}) {NUMBER} {SPAN_UNIT}", _read_recent),
    "number_recent": (rf"{IN}{NUMBER} (?:{_WORDS.join_patterns('recent')}) {SPAN_UNIT}", _read_recent),
    "recent_alone": (rf"{IN}(?:{_WORDS.join_patterns('recent_alone')}) {SPAN_UNIT}", _read_recent),
    "so_long": (rf"(?:{_WORDS.join_patterns('so_long')}) (?:{NUMBER} )?{SPAN_UNIT}", _read_recent),
    "coming": (rf"{IN}(?:{_WORDS.join_patterns('coming')}) {NUMBER} {SPAN_UNIT}", _read_coming),
    "coming_alone": (rf"{IN}(?:{_WORDS.join_patterns('coming_alone')}) {SPAN_UNIT}", _read_coming),
    "within": (rf"(?:{_WORDS.join_patterns('within')}) (?:{NUMBER} )?{SPAN_UNIT}", _read_count),
    "count": (rf"{NUMBER} {SPAN_UNIT}", _read_count),
}
