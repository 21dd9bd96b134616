"""Reads what somebody searches for from the address of the page, and writes such an address. Pure: no input or output."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from bot.i18n.translate import Translator, split_method

ADDRESS: Final = "/audit"
OUTCOMES: Final = ("waiting", "approved", "denied", "expired", "superseded", "started", "succeeded", "refused", "unknown")
_LONGEST: Final = 300
_YEARS: Final = range(2000, 3000)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSearch:
    """What somebody searches for, in their own words; "" for what they have not named."""

    person: str = ""
    record: str = ""
    method: str = ""
    outcome: str = ""
    since: str = ""
    """The first day, "2026-11-20"."""
    until: str = ""
    """The last day."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is searched for in particular."""
        return self == AuditSearch()

    def to_address(self) -> str:
        """Return the address of the page that shows what is found."""
        named = {"person": self.person, "record": self.record, "method": self.method, "outcome": self.outcome}
        given = {name: value for name, value in {**named, "from": self.since, "to": self.until}.items() if value}
        return f"{ADDRESS}?{urlencode(given)}" if given else ADDRESS

    def with_value(self, name: str, value: object) -> "AuditSearch":
        """Return the search with another value of a field."""
        return replace(self, **{name: str(value or "").strip()[:_LONGEST]})


def parse_search(query: Mapping[str, str]) -> AuditSearch:
    """Return the search of an address; what cannot be one is left out."""
    texts = {name: query.get(name, "").strip()[:_LONGEST] for name in ("person", "record", "method", "outcome")}
    texts["outcome"] = texts["outcome"] if texts["outcome"] in OUTCOMES else ""
    return AuditSearch(**texts, since=_keep_day(query.get("from", "")), until=_keep_day(query.get("to", "")))


def _keep_day(text: str) -> str:
    return text if _parse_day(text) is not None else ""


def _parse_day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.year in _YEARS else None


def find_begin(search: AuditSearch, zone: str) -> datetime | None:
    """Return when the first day begins for somebody in the time zone `zone`; None without one."""
    day = _parse_day(search.since)
    return datetime.combine(day, time(), ZoneInfo(zone)) if day is not None else None


def find_end(search: AuditSearch, zone: str) -> datetime | None:
    """Return when the last day is over for somebody in the time zone `zone`; None without one."""
    day = _parse_day(search.until)
    return datetime.combine(day + timedelta(days=1), time(), ZoneInfo(zone)) if day is not None else None


def find_methods(words: str, names: list[str], tr: Translator) -> dict[str, str]:
    """Return the methods among `names` that these words mean, each with what it does: by its code or by a part of its words."""
    wanted = words.casefold()
    told = {name: tr.describe_call(name, *split_method(name)) for name in names}
    if words.lower() in (name.lower() for name in names):
        return {name: act for name, act in told.items() if name.lower() == words.lower()}
    parts = wanted.split()
    return {name: act for name, act in told.items() if wanted in name.lower() or (act and all(part in act.casefold() for part in parts))}
