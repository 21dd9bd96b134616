"""Recognises hours and their time zones: «в 11», «в 5 вечера», «утром», "at 3 pm", «в 10 по Москве»."""

import re
from dataclasses import dataclass
from datetime import time, timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.language.day_phrase import UnclearPhrase
from orchestrator.language.lexicon import load_lexicon
from orchestrator.language.number_words import PATTERN, read_words

_WORDS: Final = load_lexicon("hours")
_MOST_HOURS: Final = 14
_OFFSET: Final = re.compile(
    rf"(?:(?<!\w)|(?<=:[0-9]{{2}}))({_WORDS.read_text('offset')})?([+−-])([0-9]{{1,2}})(?::?([0-9]{{2}}))?(?![\w:.])"
)
_OTHER: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('other_zone')})(?!\w)")
_MOSCOW: Final = timedelta(hours=3)


def find_named_zone(text: str) -> tuple[tzinfo | None, str]:
    """`text` is normalized. Raises `UnclearPhrase` for a zone that cannot be known («по местному времени»), and for two."""
    zones: list[tzinfo] = []
    for match in reversed([*_OFFSET.finditer(text)]):
        if match[1] is None and (match[2] != "+" or match[4] is None):
            continue  # «-5» may be anything, and «10:00 -12:00» is two hours
        zones.append(_read_offset(match))
        text = f"{text[: match.start()]}|{text[match.end() :]}"
    for name, pattern in _list_zones():
        text, count = pattern.subn("|", text)
        zones += [ZoneInfo(name)] * bool(count)
    if len(zones) > 1 or _OTHER.search(text):
        raise UnclearPhrase("which_hour")
    return zones[0] if zones else None, text


def _read_offset(match: re.Match[str]) -> tzinfo:
    hours, minutes = int(match[3]), int(match[4] or 0)
    if hours > _MOST_HOURS or minutes > 59:  # noqa: PLR2004 — minutes of an hour
        raise UnclearPhrase("impossible")
    span = timedelta(hours=hours, minutes=minutes) * (1 if match[2] == "+" else -1)
    return timezone(span + _MOSCOW if (match[1] or "").strip() in {"мск", "msk"} else span)


@cache
def _list_zones() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)")) for name, words in _WORDS.read_lists("zones").items())


_NOON: Final = 12
_MIDNIGHT: Final = 24
_FIRST_SURE_HOUR: Final = 8
_CENTURIES: Final = {"19", "20"}
"""«в 2030» is an hour or a year."""
# For each part of the day: the half of the day that it gives to an hour beside it, its words, and the time that it means without an hour.
_PARTS: Final = (
    ("morning", _WORDS.join_patterns("parts", "morning"), time(10)),
    ("day", _WORDS.join_patterns("parts", "before_lunch"), time(13)),
    ("day", _WORDS.join_patterns("parts", "after_lunch"), time(15)),
    ("evening", _WORDS.join_patterns("parts", "evening"), time(19)),
)
_PART_WORDS: Final = tuple(re.compile(rf"(?<!\w)(?:{pattern})(?!\w)") for _, pattern, _ in _PARTS)
_NOON_WORDS: Final = re.compile(_WORDS.join_patterns("noon"))
_HALF_NAMES: Final = _WORDS.read_table("halves")
_HALF: Final = rf"(?P<half>{_WORDS.join_patterns('half_patterns')})"
_AFTER_CLOCK: Final = rf"(?![\w:]|[.,][0-9])(?: ?{_HALF}(?!\w))?"
_CLOCK: Final = re.compile(rf"(?<![\w.,:/+-])(?P<hour>[0-9]{{1,2}}):(?P<minute>[0-9]{{2}})(?::[0-9]{{2}})?{_AFTER_CLOCK}")
_DOTTED: Final = re.compile(
    rf"(?<!\w)(?:{_WORDS.join_patterns('before_dotted')}) (?P<hour>[0-9]{{1,2}})\.(?P<minute>[0-9]{{2}}){_AFTER_CLOCK}"
)
_UNIT: Final = rf"(?:{_WORDS.join_patterns('unit')})"
_HALVED: Final = re.compile(rf"(?<![\w.,:/+-])(?P<hour>[0-9]{{1,2}})(?: ?{_UNIT}\.?)? ?{_HALF}(?!\w)")
# «на 15 часов» is an hour, «на 3 часа» how long something takes.
_JOINED: Final = re.compile(
    rf"(?<!\w)(?:{_WORDS.join_patterns('before_joined')}) (?P<hour>[01][0-9]|2[0-3])(?P<minute>[0-5][0-9])(?= *(?:$|[,;!?|]|\.(?:\s|$)))"
)
_UNITED: Final = re.compile(
    rf"(?<!\w)(?:(?:{_WORDS.join_patterns('before_united')})|{_WORDS.read_text('before_long_hour')}(?= (?:[89]|[12][0-9]) ))"
    rf" (?P<hour>[0-9]{{1,2}}) ?{_UNIT}(?!\w)"
)
_NOT_AN_HOUR: Final = rf"(?![\w%:₽$€]|[.,/-][0-9]| [0-9%₽$€]| ?(?:{_WORDS.join_patterns('not_an_hour')}))"
_BARE: Final = re.compile(
    rf"(?<!\w)(?:(?:{_WORDS.join_patterns('at')}) (?P<hour>[0-9]{{1,2}}){_NOT_AN_HOUR}"
    rf"|(?:{_WORDS.join_patterns('until')}|{_WORDS.join_patterns('beginning')}) (?P<late>[0-9]{{1,2}})(?= *(?:$|[,;!?|]|\.(?:\s|$))))"
)
_VAGUE: Final = re.compile(rf"(?<!\w)(?:{_WORDS.join_patterns('vague')})(?!\w)")
_ONE_O_CLOCK: Final = re.compile(rf"(?<!\w){_WORDS.read_text('one_o_clock')}(?: ({_WORDS.join_patterns('one_o_clock_halves')}))?(?!\w)")
_ENDS: Final = r"(?= *(?:$|[,;!?|]|\.(?:\s|$)))"
_SPOKEN_VALUES: Final = {word: int(hour) for hour, words in _WORDS.read_table("spoken_hours").items() for word in words.split()}
_WORD_HOURS: Final = re.compile(rf"(?<!\w)(?:{'|'.join(_SPOKEN_VALUES)})(?= (?:{_WORDS.join_patterns('after_hour_word')}))")
_BEFORE: Final = rf"(?<!\w)(?:{_WORDS.join_patterns('at')}|{_WORDS.join_patterns('until')}) "
# «в десять», «к двум», «в девять тридцать»
_SPOKEN: Final = re.compile(
    rf"{_BEFORE}({'|'.join(_SPOKEN_VALUES)})(?: ((?:{PATTERN})(?: (?:{PATTERN}))?))?(?: ?{_HALF}(?!\w)|{_ENDS})",
)
# «пол одиннадцатого», "half past ten"
_NEXT_HOURS: Final = {word: hour or _NOON for hour, word in enumerate(_WORDS.read_words("half_to_hours"))}
_HALF_HOUR: Final = re.compile(
    rf"(?<!\w)(?:(?:{_WORDS.join_patterns('half_to')})({'|'.join(_NEXT_HOURS)})"
    rf"|{_WORDS.read_text('half_past')}({'|'.join(_SPOKEN_VALUES)}))(?!\w)(?: ?{_HALF}(?!\w))?",
)
# «в 15-30»
_DASHED: Final = re.compile(rf"({_BEFORE}[0-9]{{1,2}})-(?=(?:{_WORDS.read_text('dashed_minutes')})(?![\w:.-]))")

# «в 9 30», «15 00»
_SPACED: Final = re.compile(rf"({_BEFORE}|^ *|\| *)([0-9]{{1,2}}) (?=(?:{_WORDS.read_text('spaced_minutes')}){_ENDS})")
_RANGE: Final = re.compile(
    rf"(?<!\w)(?:{_WORDS.join_patterns('range_from')}) [0-9]{{1,2}}(?:[:.][0-9]{{2}})? (?:{_WORDS.join_patterns('range_to')}) [0-9]"
)


@dataclass(frozen=True, slots=True)
class Hour:
    options: tuple[time, ...]


def find_hour(text: str) -> tuple[Hour | None, str]:
    """None if no hour is named; "|" stands in place of its words. `text` is folded. Raises `UnclearPhrase`."""
    if _RANGE.search(text):
        raise UnclearPhrase("several")
    hours: list[tuple[int, int, str | None, bool]] = []
    for pattern, read in ((_SPOKEN, _read_spoken), (_HALF_HOUR, _read_half_hour)):
        hours += [read(match) for match in pattern.finditer(text)]
        text = pattern.sub("|", text)
    text = _WORD_HOURS.sub(lambda match: str(_SPOKEN_VALUES[match.group()]), _SPACED.sub(r"\1\2:", _DASHED.sub(r"\1:", text)))
    if any(match["hour"] in _CENTURIES for match in _JOINED.finditer(text)):
        raise UnclearPhrase("which_hour")
    for pattern in (_CLOCK, _DOTTED, _JOINED, _HALVED, _UNITED, _BARE):
        hours += [_read_groups(**match.groupdict()) for match in pattern.finditer(text)]
        text = pattern.sub("|", text)
    hours += [(1, 0, _find_half(match[1]), False) for match in _ONE_O_CLOCK.finditer(text)]
    if len(hours) > 1:
        raise UnclearPhrase("several")
    part = _find_part(text)
    if not hours and _VAGUE.search(text):
        raise UnclearPhrase("which_hour")
    for pattern in (_ONE_O_CLOCK, _NOON_WORDS, *_PART_WORDS):
        text = pattern.sub("|", text)
    if not hours:
        return Hour((part[1],)) if part else None, text
    hour, minute, half, has_minute = hours[0]
    return Hour(_list_readings(hour, minute, half or (part[0] if part else None), has_minute=has_minute)), text


def _find_half(word: str | None) -> str | None:
    return _HALF_NAMES[word.replace(".", "")] if word else None


def _read_groups(
    hour: str | None, minute: str | None = None, half: str | None = None, late: str | None = None
) -> tuple[int, int, str | None, bool]:
    """(hour, minute, part of the day or None, whether the minute was written)."""
    return int(hour or late or 0), int(minute or 0), _find_half(half), minute is not None


def _read_spoken(match: re.Match[str]) -> tuple[int, int, str | None, bool]:
    minutes = read_words(match[2].split()) if match[2] else 0
    if minutes is None:
        raise UnclearPhrase("which_hour")
    return _SPOKEN_VALUES[match[1]], minutes, _find_half(match["half"]), False


def _read_half_hour(match: re.Match[str]) -> tuple[int, int, str | None, bool]:
    """«пол одиннадцатого», "half past ten": 10:30."""
    return _NEXT_HOURS[match[1]] if match[1] else _SPOKEN_VALUES[match[2]], 30, _find_half(match["half"]), False


def _find_part(text: str) -> tuple[str, time] | None:
    noon = _NOON_WORDS.search(text)
    if noon:
        return "day", time(_NOON)
    parts_of_day = [(name, value) for (name, _, value), pattern in zip(_PARTS, _PART_WORDS, strict=True) if pattern.search(text)]
    if len(parts_of_day) > 1:
        raise UnclearPhrase("several")
    return parts_of_day[0] if parts_of_day else None


def _list_readings(hour: int, minute: int, half: str | None, *, has_minute: bool) -> tuple[time, ...]:
    """The more likely first: an hour from 1 to 7 without a part of the day is rather in the afternoon."""
    if hour >= _MIDNIGHT or minute > 59:  # noqa: PLR2004 — minutes of an hour
        raise UnclearPhrase("impossible")
    if half is not None:
        return (time(_to_24_hours(hour, half), minute),)
    if has_minute or hour >= _FIRST_SURE_HOUR or hour == 0:
        return (time(hour, minute),)
    return (time(hour + _NOON, minute), time(hour, minute))


def _to_24_hours(hour: int, half: str) -> int:
    first, last, shift = {
        "morning": (3, 12, 0),
        "day": (1, 6, 12),
        "evening": (4, 11, 12),
        "night": (1, 4, 0),
        "am": (1, 11, 0),
        "pm": (1, 11, 12),
    }[half]
    if hour == _NOON:
        if half in {"evening", "night", "morning"}:  # the midnight before that day or after it?
            raise UnclearPhrase("which_hour")
        return 12 if half in {"day", "pm"} else 0
    if hour > _NOON and half in {"day", "evening", "pm"}:
        return hour
    if half == "day" and hour in {10, 11}:
        return hour
    if half == "night" and hour in {10, 11}:
        return hour + _NOON
    if not first <= hour <= last:
        raise UnclearPhrase("impossible")
    return hour + shift
