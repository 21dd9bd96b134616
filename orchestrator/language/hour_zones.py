"""The time zone beside an hour: «в 10 по Москве», "10:00 UTC+5"."""

import re
from datetime import timedelta, timezone, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from orchestrator.language.day_phrase import UnclearPhrase
from orchestrator.language.lexicon import load_lexicon

_WORDS: Final = load_lexicon("hours")
_MOST_HOURS: Final = 14
_OFFSET: Final = re.compile(rf"(?<!\w)({_WORDS.read_text('offset')})?([+−-])([0-9]{{1,2}})(?::?([0-9]{{2}}))?(?![\w:.])")
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
