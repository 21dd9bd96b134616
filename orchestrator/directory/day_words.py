"""Days as people name them, Russian and English: each phrase becomes the days it may mean. Ring 2, pure; hours are `hour_words`.

A recogniser reads one kind of phrase and blanks it out, so that no digit is read twice; the specific kinds come first.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from orchestrator.directory.moments import Unclear, WhenReason
from orchestrator.directory.number_words import PATTERN, VALUES

_WEEK: Final = 7
_FRIDAY: Final = 4
_DECEMBER: Final = 12


@dataclass(frozen=True, slots=True)
class Named:
    """What one phrase names: days (several if it is open which), a bare weekday, a whole week by its Monday, or a time span."""

    days: tuple[date, ...] = ()
    weekday: int | None = None
    week: date | None = None
    span: timedelta | None = None


class Refused(Exception):
    """Carries the reason out of a recogniser; never leaves `dates.parse_when`."""

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

Recogniser = Callable[[re.Match[str], date], Named]


def find_days(text: str, today: date) -> tuple[list[Named], str]:
    """Every day phrase of a folded text, and the text with these phrases blanked out; raises `Refused`."""
    found: list[Named] = []
    for pattern, read in _RECOGNISERS:
        found += [read(match, today) for match in pattern.finditer(text)]
        text = pattern.sub(lambda match: "|" * len(match.group()), text)
    return found, text


def monday_of(day: date) -> date:
    """The Monday of the day's calendar week."""
    return day - timedelta(days=day.weekday())


def make_day(year: int, month: int, day: int) -> date:
    """The day, or `Refused` if the calendar does not have it."""
    try:
        return date(year, month, day)
    except ValueError:
        raise Refused("impossible") from None


def _index(patterns: tuple[str, ...], word: str) -> int:
    return next(i for i, pattern in enumerate(patterns) if re.fullmatch(pattern, word))


def _full_date(match: re.Match[str], today: date) -> Named:
    year = int(match["y"])
    century = today.year // 100 * 100 if len(match["y"]) == 2 else 0  # noqa: PLR2004 — a year of two digits
    day, month = int(match["d"]), int(match["m"])
    if "/" in match.group() and day != month and max(day, month) <= _DECEMBER:
        raise Refused("which_day")
    if "/" in match.group() and month > _DECEMBER:
        day, month = month, day
    return Named((make_day(century + year, month, day),))


def _month_date(match: re.Match[str], today: date) -> Named:
    month, day = _index(_MONTHS, match["month"]) + 1, int(match["d"])
    if match["year"]:
        return Named((make_day(int(match["year"]), month, day),))
    if match["which"]:
        shift = {"прошлого": -1, "этого": 0, "следующего": 1}[match["which"]]
        return Named((make_day(today.year + shift, month, day),))
    return Named((_nearest_year(month, day, today),))


def _short_date(match: re.Match[str], today: date) -> Named:
    return Named((_nearest_year(int(match["m"]), int(match["d"]), today),))


def _nearest_year(month: int, day: int, today: date) -> date:
    """A day without a year: this year's, or next year's if that is nearer; a day just gone stays gone, so that we ask."""
    options = []
    for year in (today.year, today.year + 1):
        try:
            options.append(date(year, month, day))
        except ValueError:
            continue
    if not options:
        raise Refused("impossible")
    if options[0] >= today:
        return options[0]
    return min(options, key=lambda option: abs(option - today))


def _day_of_month(match: re.Match[str], today: date) -> Named:
    number = int(match["d"])
    year, month = (today.year, today.month) if number >= today.day else _month_after(today.year, today.month, 1)
    return Named((make_day(year, month, number),))


def _month_after(year: int, month: int, count: int) -> tuple[int, int]:
    year, month = divmod(year * 12 + month - 1 + count, 12)
    return year, month + 1


def add_months(day: date, count: int) -> date:
    """The same day of a later month, or its last day if it is shorter."""
    year, month = _month_after(day.year, day.month, count)
    return make_day(year, month, min(day.day, monthrange(year, month)[1]))


def _relative(match: re.Match[str], today: date) -> Named:
    words = {"послезавтра": 2, "позавчера": -2, "завтра": 1, "вчера": -1, "сегодня": 0}
    english = {"the day after tomorrow": 2, "day after tomorrow": 2, "tomorrow": 1, "yesterday": -1, "today": 0, "tonight": 0}
    return Named((today + timedelta(days=(words | english)[match["word"]]),))


def _weekday(match: re.Match[str], today: date) -> Named:
    weekday, which = _index(_WEEKDAYS, match["weekday"]), match["which"] or ""
    if which.startswith(("кажд", "every")):
        raise Refused("repeats")
    of_this_week = monday_of(today) + timedelta(days=weekday)
    if which.startswith(("след", "next")):
        return Named((of_this_week + timedelta(weeks=1),))
    if which.startswith(("прошл", "last")):
        return Named((of_this_week - timedelta(weeks=1),))
    if which.startswith(("эт", "this")):
        return Named((of_this_week,))
    coming = today + timedelta(days=(weekday - today.weekday()) % _WEEK)
    return Named((coming, coming + timedelta(weeks=1)) if coming == today else (coming,), weekday=weekday)


def _week(match: re.Match[str], today: date) -> Named:
    shift = -1 if match["which"].startswith(("прошл", "last")) else int(match["which"].startswith(("след", "next")))
    monday = monday_of(today) + timedelta(weeks=shift)
    days = tuple(monday + timedelta(days=number) for number in range(_FRIDAY + 1))
    return Named(tuple(day for day in days if day >= today) or days[-1:], week=monday)


def _after(match: re.Match[str], today: date) -> Named:
    unit, count = match["unit"], _count(match["n"] or "1")
    if unit.startswith(("мин", "min")):
        return Named(span=timedelta(minutes=count))
    half = unit.startswith("пол") or (match["n"] or "").startswith("half")
    if unit.startswith(("час", "полчас", "hour")):
        return Named(span=timedelta(minutes=30 if half else 60 * count))
    if unit.startswith(("полгода", "год", "лет", "year")):
        return Named((add_months(today, 6 if half else 12 * count),))
    if half:
        raise Refused("which_day")
    if unit.startswith(("нед", "week")):
        day = today + timedelta(weeks=count)
        return Named((day,), week=monday_of(day))
    if unit.startswith(("мес", "month")):
        return Named((add_months(today, count),))
    return Named((today + timedelta(days=count),))


def _count(written: str) -> int:
    if written.isdigit():
        return int(written)
    if written in {"пару", "a couple of"}:
        return 2
    return sum(VALUES.get(word, 0) for word in written.split()) or 1


def _end(match: re.Match[str], today: date) -> Named:
    unit, later = match["unit"], int((match["which"] or "").startswith(("след", "next")))
    if unit.startswith(("дн", "рабоч", "day", "eod")):
        return Named((today,))
    if unit.startswith(("нед", "week", "eow")):
        return _end_of_week(today + timedelta(weeks=later))
    if unit.startswith(("мес", "month", "eom")):
        return Named((_last_day(*_month_after(today.year, today.month, later)),))
    if unit.startswith(("кв", "quarter")):
        return Named((_last_day(*_month_after(today.year, (today.month + 2) // 3 * 3, later * 3)),))
    if unit.startswith(("год", "year")):
        return Named((date(today.year + later, _DECEMBER, 31),))
    month = _index(_MONTHS, unit) + 1
    return Named((_last_day(today.year + (month < today.month), month),))


def _end_of_week(day: date) -> Named:
    """The working week ends on Friday; said on a weekend, the week ends on Sunday."""
    monday = monday_of(day)
    friday, sunday = monday + timedelta(days=_FRIDAY), monday + timedelta(days=_WEEK - 1)
    return Named((friday if day <= friday else sunday,))


def _last_day(year: int, month: int) -> date:
    return date(year, month, monthrange(year, month)[1])


def _refuse(reason: WhenReason) -> Recogniser:
    def refuse(_match: re.Match[str], _today: date) -> Named:
        raise Refused(reason)

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
        (r"(?<!\w)(?:с|со|from) [0-9]{1,2} (?:по|до|to|till|until) [0-9]{1,2}(?= )", _refuse("several")),
        (_EVERY_WEEKDAY, _refuse("repeats")),
        (r"(?<![\w-])(?P<y>[0-9]{4})-(?P<m>[0-9]{2})-(?P<d>[0-9]{2})(?![\w-])", _full_date),
        (rf"{_B}(?P<d>[0-9]{{1,2}})\.(?P<m>[0-9]{{1,2}})\.(?P<y>[0-9]{{4}}|[0-9]{{2}})(?!\.?[\w])", _full_date),
        (rf"{_B}(?P<d>[0-9]{{1,2}})/(?P<m>[0-9]{{1,2}})/(?P<y>[0-9]{{4}}|[0-9]{{2}})(?![\w/])", _full_date),
        (rf"{_B}(?P<d>[0-9]{{1,2}})(?:-?го|-?е|st|nd|rd|th)? (?:of )?(?P<month>{_MONTH})(?!\w)\.?{_YEAR}(?!\w)", _month_date),
        (_MONTH_FIRST, _month_date),
        (rf"(?<!\w)(?:(?:до|к|в|by|at|until|till|before) )?{_END_OF} (?:{_WHICH} )?{_END_UNIT}(?!\w)", _end),
        (rf"(?<!\w)(?:by )?{_NEVER}(?P<unit>eod|eow|eom)(?!\w)", _end),
        (rf"(?<!\w)(?:через|in) (?:{_NUMBER} )?{_UNIT}(?!\w)", _after),
        (rf"{_B}(?P<d>[0-9]{{1,2}})(?:-?го)? числ[ау](?!\w)", _day_of_month),
        (r"(?<!\w)(?:on|by|until) the (?P<d>[0-9]{1,2})(?:st|nd|rd|th)(?!\w)", _day_of_month),
        (_NEAR_DAY, _relative),
        (rf"(?<!\w)(?:(?:на|в|до|к|during|on|by|until) )?{_WHICH} (?:недел[еиюя]|week)(?!\w)", _week),
        (rf"(?<!\w)(?:{_WHICH} )?(?P<weekday>{_WEEKDAY})(?![\w-])\.?", _weekday),
        (rf"(?<!\w)(?<!в )(?<!at )(?<![.,:/-]){_DAY_MONTH}{_NO_SUM}", _short_date),
        (rf"(?<!\w)(?:в|at) (?P<d>2[4-9]|3[01])\.(?P<m>0[1-9]|1[0-2]){_NO_SUM}", _short_date),
        (_NO_DAY, _refuse("which_day")),
    )
)
