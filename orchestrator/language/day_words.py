"""Recognises days as people name them, in Russian and English: each phrase becomes the days it may mean. Hours are in `hour_words`.

Each recogniser reads one kind of phrase and blanks it out, so that no digit is read twice; specific kinds come first.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from orchestrator.language.date_format import Unclear, WhenReason
from orchestrator.language.number_words import PATTERN, VALUES

_WEEK: Final = 7
_FRIDAY: Final = 4
_DECEMBER: Final = 12


@dataclass(frozen=True, slots=True)
class DayPhrase:
    """What one phrase names: days (several if it is ambiguous), a bare weekday, a whole week by its Monday, or a time span."""

    days: tuple[date, ...] = ()
    weekday: int | None = None
    week: date | None = None
    span: timedelta | None = None


class UnclearPhrase(Exception):
    """Carries the reason out of a recogniser; `date_parser.parse_when` catches it."""

    def __init__(self, reason: WhenReason) -> None:
        super().__init__(reason)
        self.unclear = Unclear(reason)


_MONTHS: Final = (
    r"янв(?:ар[ьяею])?|jan(?:uary)?",
    r"фев(?:р(?:ал[ьяею])?)?|feb(?:ruary)?",
    r"мар(?:т[ауе]?)?|mar(?:ch)?",
    r"апр(?:ел[ьяею])?|apr(?:il)?",
    r"ма[йяюе]|may",
    r"июн[ьяею]?|june?",
    r"июл[ьяею]?|july?",
    r"авг(?:уст[ауе]?)?|aug(?:ust)?",
    r"сен(?:т(?:ябр[ьяею])?)?|sep(?:t(?:ember)?)?",
    r"окт(?:ябр[ьяею])?|oct(?:ober)?",
    r"ноя(?:б(?:р[ьяею])?)?|nov(?:ember)?",
    r"дек(?:абр[ьяею])?|dec(?:ember)?",
)
_WEEKDAYS: Final = (
    r"понедельник(?:а|у|ом|е)?|пн|monday|mon",
    r"вторник(?:а|у|ом|е)?|вт|tuesday|tue|tues",
    r"сред(?:а|у|ы|е|ой)|ср|wednesday|wed",
    r"четверг(?:а|у|ом|е)?|чт|thursday|thu|thurs",
    r"пятниц(?:а|у|ы|е|ей)|пт|friday|fri",
    r"суббот(?:а|у|ы|е|ой)|сб|saturday",
    r"воскресень(?:е|я|ю|ем)|вс|sunday",
)
_MONTH: Final = "|".join(_MONTHS)
_WEEKDAY: Final = "|".join(_WEEKDAYS)
_MONEY: Final = r"(?! ?(?:%|₽|\$|€|млн|млрд|тыс|руб|р\b|к\b))"
_NEVER: Final = r"(?P<which>(?!))?"  # a group that its reader asks for and this phrase does not have
_YEAR: Final = rf"(?: (?P<year>(?:19|20)[0-9]{{2}})(?![0-9]){_MONEY}(?: ?г(?:\.|ода?|оду)?)?| (?P<which>прошлого|этого|следующего) года)?"
_NUMBER: Final = rf"(?P<n>[0-9]{{1,3}}|(?:{PATTERN})(?: (?:{PATTERN}))?|пару|a couple of|an?|half an?)"
# A decimal or a sum is no date: «1.12 млн».
_NO_SUM: Final = rf"(?!\w)(?!\.?[0-9]){_MONEY}"
_DAY_MONTH: Final = r"(?P<d>0?[1-9]|[12][0-9]|3[01])\.(?P<m>0[1-9]|1[0-2])"
_B: Final = r"(?<![\w.,:/-])"

Recogniser = Callable[[re.Match[str], date], DayPhrase]


def find_days(text: str, today: date) -> tuple[list[DayPhrase], str]:
    """Return the day phrases of a folded text, and the text with these phrases blanked out; raises `UnclearPhrase`."""
    found: list[DayPhrase] = []
    for pattern, read in _RECOGNISERS:
        found += [read(match, today) for match in pattern.finditer(text)]
        text = pattern.sub(lambda match: "|" * len(match.group()), text)
    return found, text


def to_monday(day: date) -> date:
    """Return the Monday of the day's calendar week."""
    return day - timedelta(days=day.weekday())


def build_day(year: int, month: int, day: int) -> date:
    """Return the day; raises `UnclearPhrase` if it does not exist."""
    try:
        return date(year, month, day)
    except ValueError:
        raise UnclearPhrase("impossible") from None


def _find_index(patterns: tuple[str, ...], word: str) -> int:
    return next(i for i, pattern in enumerate(patterns) if re.fullmatch(pattern, word))


def _read_full_date(match: re.Match[str], today: date) -> DayPhrase:
    year = int(match["y"])
    century = today.year // 100 * 100 if len(match["y"]) == 2 else 0  # noqa: PLR2004 — a year of two digits
    day, month = int(match["d"]), int(match["m"])
    if "/" in match.group() and day != month and max(day, month) <= _DECEMBER:
        raise UnclearPhrase("which_day")
    if "/" in match.group() and month > _DECEMBER:
        day, month = month, day
    return DayPhrase((build_day(century + year, month, day),))


def _read_month_date(match: re.Match[str], today: date) -> DayPhrase:
    month, day = _find_index(_MONTHS, match["month"]) + 1, int(match["d"])
    if match["year"]:
        return DayPhrase((build_day(int(match["year"]), month, day),))
    if match["which"]:
        shift = {"прошлого": -1, "этого": 0, "следующего": 1}[match["which"]]
        return DayPhrase((build_day(today.year + shift, month, day),))
    return DayPhrase((_pick_nearest_year(month, day, today),))


def _read_short_date(match: re.Match[str], today: date) -> DayPhrase:
    return DayPhrase((_pick_nearest_year(int(match["m"]), int(match["d"]), today),))


def _pick_nearest_year(month: int, day: int, today: date) -> date:
    """Return the day in this year, or in the next if that is nearer; a day just past stays in the past, so that the person is asked."""
    options = []
    for year in (today.year, today.year + 1):
        try:
            options.append(date(year, month, day))
        except ValueError:
            continue
    if not options:
        raise UnclearPhrase("impossible")
    if options[0] >= today:
        return options[0]
    return min(options, key=lambda option: abs(option - today))


def _read_day_of_month(match: re.Match[str], today: date) -> DayPhrase:
    number = int(match["d"])
    year, month = (today.year, today.month) if number >= today.day else _add_to_month(today.year, today.month, 1)
    return DayPhrase((build_day(year, month, number),))


def _add_to_month(year: int, month: int, count: int) -> tuple[int, int]:
    year, month = divmod(year * 12 + month - 1 + count, 12)
    return year, month + 1


def add_months(day: date, count: int) -> date:
    """Return the same day `count` months later, or the last day of a shorter month."""
    year, month = _add_to_month(day.year, day.month, count)
    return build_day(year, month, min(day.day, monthrange(year, month)[1]))


def _read_near_day(match: re.Match[str], today: date) -> DayPhrase:
    words = {"послезавтра": 2, "позавчера": -2, "завтра": 1, "вчера": -1, "сегодня": 0}
    english = {"the day after tomorrow": 2, "day after tomorrow": 2, "tomorrow": 1, "yesterday": -1, "today": 0, "tonight": 0}
    return DayPhrase((today + timedelta(days=(words | english)[match["word"]]),))


def _read_weekday(match: re.Match[str], today: date) -> DayPhrase:
    weekday, which = _find_index(_WEEKDAYS, match["weekday"]), match["which"] or ""
    if which.startswith(("кажд", "every")):
        raise UnclearPhrase("repeats")
    of_this_week = to_monday(today) + timedelta(days=weekday)
    if which.startswith(("след", "next")):
        return DayPhrase((of_this_week + timedelta(weeks=1),))
    if which.startswith(("прошл", "last")):
        return DayPhrase((of_this_week - timedelta(weeks=1),))
    if which.startswith(("эт", "this")):
        return DayPhrase((of_this_week,))
    coming = today + timedelta(days=(weekday - today.weekday()) % _WEEK)
    return DayPhrase((coming, coming + timedelta(weeks=1)) if coming == today else (coming,), weekday=weekday)


def _read_week(match: re.Match[str], today: date) -> DayPhrase:
    shift = -1 if match["which"].startswith(("прошл", "last")) else int(match["which"].startswith(("след", "next")))
    monday = to_monday(today) + timedelta(weeks=shift)
    days = tuple(monday + timedelta(days=number) for number in range(_FRIDAY + 1))
    return DayPhrase(tuple(day for day in days if day >= today) or days[-1:], week=monday)


def _read_span(match: re.Match[str], today: date) -> DayPhrase:
    unit, count = match["unit"], _parse_count(match["n"] or "1")
    if unit.startswith(("мин", "min")):
        return DayPhrase(span=timedelta(minutes=count))
    half = unit.startswith("пол") or (match["n"] or "").startswith("half")
    if unit.startswith(("час", "полчас", "hour")):
        return DayPhrase(span=timedelta(minutes=30 if half else 60 * count))
    if unit.startswith(("полгода", "год", "лет", "year")):
        return DayPhrase((add_months(today, 6 if half else 12 * count),))
    if half:
        raise UnclearPhrase("which_day")
    if unit.startswith(("нед", "week")):
        day = today + timedelta(weeks=count)
        return DayPhrase((day,), week=to_monday(day))
    if unit.startswith(("мес", "month")):
        return DayPhrase((add_months(today, count),))
    return DayPhrase((today + timedelta(days=count),))


def _parse_count(written: str) -> int:
    if written.isdigit():
        return int(written)
    if written in {"пару", "a couple of"}:
        return 2
    return sum(VALUES.get(word, 0) for word in written.split()) or 1


def _read_end(match: re.Match[str], today: date) -> DayPhrase:
    unit, later = match["unit"], int((match["which"] or "").startswith(("след", "next")))
    if unit.startswith(("дн", "рабоч", "day", "eod")):
        return DayPhrase((today,))
    if unit.startswith(("нед", "week", "eow")):
        return _find_end_of_week(today + timedelta(weeks=later))
    if unit.startswith(("мес", "month", "eom")):
        return DayPhrase((_find_last_day(*_add_to_month(today.year, today.month, later)),))
    if unit.startswith(("кв", "quarter")):
        return DayPhrase((_find_last_day(*_add_to_month(today.year, (today.month + 2) // 3 * 3, later * 3)),))
    if unit.startswith(("год", "year")):
        return DayPhrase((date(today.year + later, _DECEMBER, 31),))
    month = _find_index(_MONTHS, unit) + 1
    return DayPhrase((_find_last_day(today.year + (month < today.month), month),))


def _find_end_of_week(day: date) -> DayPhrase:
    """Return Friday, when the working week ends; if `day` is on a weekend, Sunday."""
    monday = to_monday(day)
    friday, sunday = monday + timedelta(days=_FRIDAY), monday + timedelta(days=_WEEK - 1)
    return DayPhrase((friday if day <= friday else sunday,))


def _find_last_day(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _build_refusal(reason: WhenReason) -> Recogniser:
    def refuse(_match: re.Match[str], _today: date) -> DayPhrase:
        raise UnclearPhrase(reason)

    return refuse


_WHICH: Final = r"(?P<which>следующ\w+|след\.?|ближайш\w+|эт\w+|прошл\w+|кажд\w+|next|this|last|coming|every)"
_END_OF: Final = r"(?:кон(?:ца|цу|це|ец)|(?:the )?end of(?: the)?)"
_END_UNIT: Final = rf"(?P<unit>рабочего дня|дня|недел[июяе]|месяц[ау]?|квартал[ау]?|год[ау]?|day|week|month|quarter|year|{_MONTH})"
_UNIT: Final = (
    r"(?P<unit>полчаса|полгода|дн(?:я|ей)|день|недел[юиь]?|месяц(?:а|ев)?|год(?:а)?|лет|час(?:а|ов)?|минут[уы]?"
    r"|days?|weeks?|months?|years?|hours?|minutes?|mins?)"
)
_EVERY_WEEKDAY: Final = (
    r"(?<!\w)(?:по (?:понедельник|вторник|четверг|воскресень|сред|пятниц|суббот)\w*(?:ам|ям)"
    r"|еженедельно|ежедневно|ежемесячно)(?!\w)"
)
_MONTH_FIRST: Final = (
    rf"(?<!\w)(?P<month>{_MONTH})\.? (?P<d>[0-9]{{1,2}})(?:st|nd|rd|th)?(?![\w:]|[.,][0-9])"
    rf"(?:,? (?P<year>20[0-9]{{2}})(?!\w))?{_NEVER}"
)
_NEAR_DAY: Final = (
    r"(?<!\w)(?P<word>послезавтра|позавчера|завтра|вчера|сегодня"
    r"|(?:the )?day after tomorrow|tomorrow|yesterday|today|tonight)(?!\w)"
)
_NO_DAY: Final = (
    rf"(?<!\w)(?:(?:в|на|in) (?:{_MONTH}|{_WHICH} (?:месяц\w*|квартал\w*|год\w*|month|quarter|year))"
    rf"|(?:начал|середин)\w* (?:недел|месяц|квартал|год|{_MONTH})\w*|выходн\w+|weekend)(?!\w)"
)
_RECOGNISERS: Final[tuple[tuple[re.Pattern[str], Recogniser], ...]] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"(?<!\w)(?:с|со|from) [0-9]{1,2} (?:по|до|to|till|until) [0-9]{1,2}(?= )", _build_refusal("several")),
        (_EVERY_WEEKDAY, _build_refusal("repeats")),
        (r"(?<![\w-])(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?![\w-])", _read_full_date),
        (rf"{_B}(?P<d>[0-9]{{1,2}})\.(?P<m>[0-9]{{1,2}})\.(?P<y>[0-9]{{4}}|[0-9]{{2}})(?!\.?[\w])", _read_full_date),
        (rf"{_B}(?P<d>[0-9]{{1,2}})/(?P<m>[0-9]{{1,2}})/(?P<y>[0-9]{{4}}|[0-9]{{2}})(?![\w/])", _read_full_date),
        (rf"{_B}(?P<d>[0-9]{{1,2}})(?:-?го|-?е|st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})(?!\w)\.?{_YEAR}(?!\w)", _read_month_date),
        (_MONTH_FIRST, _read_month_date),
        (rf"(?<!\w)(?:(?:до|к|в|by|at|until|till|before) )?{_END_OF} (?:{_WHICH} )?{_END_UNIT}(?!\w)", _read_end),
        (rf"(?<!\w)(?:by )?{_NEVER}(?P<unit>eod|eow|eom)(?!\w)", _read_end),
        (rf"(?<!\w)(?:через|in) (?:{_NUMBER} )?{_UNIT}(?!\w)", _read_span),
        (rf"{_B}(?P<d>[0-9]{{1,2}})(?:-?го)? числ[ау](?!\w)", _read_day_of_month),
        (r"(?<!\w)(?:on|by|until) the (?P<d>[0-9]{1,2})(?:st|nd|rd|th)(?!\w)", _read_day_of_month),
        (_NEAR_DAY, _read_near_day),
        (rf"(?<!\w)(?:(?:на|в|до|к|during|on|by|until) )?{_WHICH} (?:недел[еиюя]|week)(?!\w)", _read_week),
        (rf"(?<!\w)(?:{_WHICH} )?(?P<weekday>{_WEEKDAY})(?![\w-])\.?", _read_weekday),
        (rf"(?<!\w)(?<!в )(?<!at )(?<![.,:/-]){_DAY_MONTH}{_NO_SUM}", _read_short_date),
        (rf"(?<!\w)(?:в|at) (?P<d>2[4-9]|3[01])\.(?P<m>0[1-9]|1[0-2]){_NO_SUM}", _read_short_date),
        (_NO_DAY, _build_refusal("which_day")),
    )
)
