"""What the words of the grammar are: subjects, measures, dimensions, states and fields, with the SQL that code wrote for each.

SQL of this package uses only the named values `:now` (seconds), `:today` (ISO date), `:length_of` (S or F) and those that the compiler
binds. The record under count is always called `d`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

from orchestrator.domain.report import Unit

How = Literal["add", "ratio", "max", "alone"]
"""How groups join: parts add up; the ratio of two parts that add up; the largest; a number that only its own records give."""
Kind = Literal["number", "code", "money", "moment", "day", "percent", "flag"]
TimeUnit = Literal["day", "week", "month", "quarter", "year", "weekday", "hour"]
TIME_UNITS: Final[tuple[TimeUnit, ...]] = ("day", "week", "month", "quarter", "year", "weekday", "hour")
STRETCHES: Final[tuple[TimeUnit, ...]] = ("day", "week", "month", "quarter", "year")
"""Units whose groups follow one another."""
PAST: Final = "past"
"""The group of expected dates that are over."""
AHEAD: Final = frozenset({"expected", "deadline"})
"""Times that lie ahead: a period of them is not cut at today."""
SECONDS_A_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Measure:
    """`scale` turns the parts into the unit: hundredths for money are left to who shows them."""

    unit: Unit
    parts: tuple[str, ...]
    how: How = "add"
    scale: float = 1
    of_state: Literal["", "open", "closed"] = ""
    """The only records of which it means anything."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """`names` says whose names its codes are; "" for words of this package."""

    sql: str
    names: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    sql: str
    kind: Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """`record` is the name of its records in the mirror's `stage` and `choice`."""

    name: str
    record: str
    source: str
    key: str = "d.id"
    owner: str = "d.person"
    times: Mapping[str, Field]
    usual_time: str
    states: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    measures: Mapping[str, Measure]
    dimensions: Mapping[str, Dimension]
    fields: Mapping[str, Field] = field(default_factory=lambda: MappingProxyType({}))
    condition: str = ""
    """Of every record of the subject."""


def build_share(done: str, of: str) -> Measure:
    return Measure("percent", (f"coalesce(sum({done}), 0)", f"coalesce(sum({of}), 0)"), "ratio", 100)


def build_span(seconds: str, *, unit: Unit = "days", of_state: Literal["", "open", "closed"] = "") -> Measure:
    """The average of a length, which is NULL for the records that have none."""
    scale = {"days": 1 / SECONDS_A_DAY, "hours": 1 / 3600, "minutes": 1 / 60}[unit]
    return Measure(unit, (f"coalesce(sum({seconds}), 0)", f"count({seconds})"), "ratio", scale, of_state)


def build_median(seconds: str, *, unit: Unit = "days", of_state: Literal["", "open", "closed"] = "") -> Measure:
    scale = {"days": 1 / SECONDS_A_DAY, "hours": 1 / 3600, "minutes": 1 / 60}[unit]
    return Measure(unit, (f"median({seconds})",), "alone", scale, of_state)


def build_count(condition: str) -> Measure:
    return Measure("count", (f"coalesce(sum({condition}), 0)",))


def build_sum(amount: str, condition: str = "") -> Measure:
    return Measure("money", (f"coalesce(sum(CASE WHEN {condition} THEN {amount} END), 0)" if condition else f"coalesce(sum({amount}), 0)",))
