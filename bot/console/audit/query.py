"""Searches of the audit in the address of the page."""

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
    """In their own words; "" for what is not named."""

    person: str = ""
    record: str = ""
    method: str = ""
    outcome: str = ""
    since: str = ""
    """"2026-11-20"."""
    until: str = ""

    @property
    def is_empty(self) -> bool:
        return self == AuditSearch()

    def to_address(self) -> str:
        fields = {"person": self.person, "record": self.record, "method": self.method, "outcome": self.outcome}
        query = {name: value for name, value in {**fields, "from": self.since, "to": self.until}.items() if value}
        return f"{ADDRESS}?{urlencode(query)}" if query else ADDRESS

    def with_value(self, name: str, value: object) -> "AuditSearch":
        return replace(self, **{name: str(value or "").strip()[:_LONGEST]})


def parse_search(query: Mapping[str, str]) -> AuditSearch:
    """What cannot be one is left out."""
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
    """In the time zone `zone`; None without a day."""
    day = _parse_day(search.since)
    return datetime.combine(day, time(), ZoneInfo(zone)) if day is not None else None


def find_end(search: AuditSearch, zone: str) -> datetime | None:
    """In the time zone `zone`; None without a day."""
    day = _parse_day(search.until)
    return datetime.combine(day + timedelta(days=1), time(), ZoneInfo(zone)) if day is not None else None


def find_methods(words: str, names: list[str], tr: Translator) -> dict[str, str]:
    """By code or a part of its words, each with what it does."""
    needle = words.casefold()
    acts_by_name = {name: tr.describe_call(name, *split_method(name)) for name in names}
    if words.lower() in (name.lower() for name in names):
        return {name: act for name, act in acts_by_name.items() if name.lower() == words.lower()}
    parts = needle.split()
    return {
        name: act for name, act in acts_by_name.items() if needle in name.lower() or (act and all(part in act.casefold() for part in parts))
    }
