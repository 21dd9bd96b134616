"""Recognises hours as people name them, in Russian and English: «в 11», «в 5 вечера», «утром», "at 3 pm"."""

import re
from dataclasses import dataclass
from datetime import time
from typing import Final

from orchestrator.language.day_words import UnclearPhrase

_NOON: Final = 12
_MIDNIGHT: Final = 24
_FIRST_SURE_HOUR: Final = 8
# What a part of the day means when no hour stands beside it.
_PARTS: Final = (
    (r"утр(?:ом|а)|(?:in the )?morning", time(10)),
    (r"до обеда|(?:в|к) обед[у]?|(?:в |к )?полд(?:ень|ню)|(?:at |by )?noon", time(13)),
    (r"после обеда|дн[её]м|(?:in the )?afternoon", time(15)),
    (r"вечер(?:ом|а|у)|(?:in the )?evening|tonight", time(19)),
)
_NOON_WORDS: Final = re.compile(r"(?:(?:в|к) )?полд(?:ень|ню)|(?:at |by )?noon")
_HALF: Final = r"(?P<half>утра|дня|вечера|ночи|am|pm|a\.m\.|p\.m\.)"
_CLOCK: Final = re.compile(rf"(?<![\w.,:/+-])(?P<h>[0-9]{{1,2}}):(?P<m>[0-9]{{2}})(?::[0-9]{{2}})?(?![\w:]|[.,][0-9])(?: ?{_HALF}(?!\w))?")
_DOTTED: Final = re.compile(rf"(?<!\w)(?:в|к|до|на|at|by) (?P<h>[0-9]{{1,2}})\.(?P<m>[0-9]{{2}})(?![\w:]|[.,][0-9])(?: ?{_HALF}(?!\w))?")
_UNIT: Final = r"(?:час(?:ов|а|у)?|ч|o'clock)"
_HALVED: Final = re.compile(rf"(?<![\w.,:/+-])(?P<h>[0-9]{{1,2}})(?: ?{_UNIT}\.?)? ?{_HALF}(?!\w)")
# «на 15 часов» is an hour, «на 3 часа» how long something takes.
_UNITED: Final = re.compile(rf"(?<!\w)(?:(?:в|к|до|at|by)|на(?= (?:[89]|[12][0-9]) )) (?P<h>[0-9]{{1,2}}) ?{_UNIT}(?!\w)")
_NOT_AN_HOUR: Final = (
    r"(?![\w%:₽$€]|[.,/-][0-9]| [0-9%₽$€]| ?(?:млн|млрд|тыс|руб|р\b|шт|раз|дн|день|недел|месяц|год|лет\b|числ|этап|экз|проц|"
    r"компан|сдел|контакт|лид|штук|человек|мест|комнат|минут|deals?\b|times?\b|percent|days?\b|weeks?\b))"
)
_BARE: Final = re.compile(
    rf"(?<!\w)(?:(?:в|at) (?P<h>[0-9]{{1,2}}){_NOT_AN_HOUR}|(?:к|до|by) (?P<late>[0-9]{{1,2}})(?= *(?:$|[,;!?|]|\.(?:\s|$))))"
)
_VAGUE: Final = re.compile(
    r"(?<!\w)(?:в? ?пол(?:овин[еу]|(?=перв|втор|трет|четв|пят|шест|седьм|восьм|дев|дес|один|двен))\w*|без (?:четверти|пяти|десяти|двадцати)"
    r"|ноч(?:ью|и)|полноч[ьи]|midnight|half past|quarter (?:past|to))(?!\w)",
)
_ONE_O_CLOCK: Final = re.compile(r"(?<!\w)в час(?: (?P<half>дня|ночи))?(?!\w)")
_WORD_HOURS: Final = re.compile(
    r"(?<!\w)(?P<word>два|три|четыре|пять|шесть|семь|восемь|девять|десять|одиннадцать|двенадцать)(?= (?:час|утра|дня|вечера|ночи))"
)
_HOUR_VALUES: Final = {
    word: str(number)
    for number, word in enumerate(
        ("два", "три", "четыре", "пять", "шесть", "семь", "восемь", "девять", "десять", "одиннадцать", "двенадцать"), start=2
    )
}


@dataclass(frozen=True, slots=True)
class Hour:
    """One named hour of the day with all its readings, the more likely first: «в 5» is 17:00 or 5:00."""

    options: tuple[time, ...]


def find_hour(text: str) -> Hour | None:
    """Return the hour that a folded text names, None if there is none; raises `UnclearPhrase` for several hours or an impossible one."""
    text = _WORD_HOURS.sub(lambda match: _HOUR_VALUES[match["word"]], text)
    hours: list[tuple[int, int, str | None, bool]] = []
    for pattern in (_CLOCK, _DOTTED, _HALVED, _UNITED, _BARE):
        hours += [_parse_match(match) for match in pattern.finditer(text)]
        text = pattern.sub("|", text)
    hours += [(1, 0, match["half"], False) for match in _ONE_O_CLOCK.finditer(text)]
    if len(hours) > 1:
        raise UnclearPhrase("several")
    part = _find_part(text)
    if not hours:
        if _VAGUE.search(text):
            raise UnclearPhrase("which_hour")
        return Hour((part[1],)) if part else None
    hour, minute, half, written = hours[0]
    return Hour(_list_readings(hour, minute, half or (part[0] if part else None), written=written))


def _parse_match(match: re.Match[str]) -> tuple[int, int, str | None, bool]:
    groups = match.groupdict()
    minute = groups.get("m")
    return int(groups["h"] or groups["late"]), int(minute or 0), groups.get("half"), minute is not None


def _find_part(text: str) -> tuple[str, time] | None:
    noon = _NOON_WORDS.search(text)
    if noon:
        return "дня", time(_NOON)
    names = ("утра", "дня", "дня", "вечера")
    found = [(name, value) for name, (pattern, value) in zip(names, _PARTS, strict=True) if re.search(rf"(?<!\w)(?:{pattern})(?!\w)", text)]
    if len(found) > 1:
        raise UnclearPhrase("several")
    return found[0] if found else None


def _list_readings(hour: int, minute: int, half: str | None, *, written: bool) -> tuple[time, ...]:
    """Return the times that an hour may mean: a bare 1 to 7 is more likely the afternoon, «05:00» and «8» mean only themselves."""
    if hour >= _MIDNIGHT or minute > 59:  # noqa: PLR2004 — minutes of an hour
        raise UnclearPhrase("impossible")
    if half is not None:
        return (time(_to_24_hours(hour, half.replace(".", "")), minute),)
    if written or hour >= _FIRST_SURE_HOUR or hour == 0:
        return (time(hour, minute),)
    return (time(hour + _NOON, minute), time(hour, minute))


def _to_24_hours(hour: int, half: str) -> int:
    first, last, shift = {
        "утра": (3, 12, 0),
        "дня": (1, 6, 12),
        "вечера": (4, 11, 12),
        "ночи": (1, 4, 0),
        "am": (1, 11, 0),
        "pm": (1, 11, 12),
    }[half]
    if hour == _NOON:
        if half in {"вечера", "ночи", "утра"}:  # could be the midnight before that day or the one after it
            raise UnclearPhrase("which_hour")
        return 12 if half in {"дня", "pm"} else 0
    if hour > _NOON and half in {"дня", "вечера", "pm"}:
        return hour
    if half == "дня" and hour in {10, 11}:
        return hour
    if half == "ночи" and hour in {10, 11}:
        return hour + _NOON
    if not first <= hour <= last:
        raise UnclearPhrase("impossible")
    return hour + shift
