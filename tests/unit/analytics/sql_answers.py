"""Answers the sixty questions by plain SQL over a mirror file, apart from the compiler of reports: what the compiler has to equal."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from math import isclose
from pathlib import Path
from statistics import median
from typing import Final
from zoneinfo import ZoneInfo

import yaml

QUESTIONS: Final = Path(__file__).with_name("expected.yaml")
ZONE: Final = ZoneInfo("Europe/Moscow")
"""Three hours ahead of UTC in all the years of the data: the SQL adds 10800 seconds for the days of the person."""

Scalar = str | int | float | None
Bounds = dict[str, Scalar]


@dataclass(frozen=True, slots=True)
class Expected:
    number: int
    question: str
    by: int = 0
    """How many of the columns are dimensions."""
    columns: tuple[str, ...] = ()
    sql: str = ""
    refused: str = ""
    portal: bool = False


class _Median:
    def __init__(self) -> None:
        self._numbers: list[float] = []

    def step(self, number: float | None) -> None:
        if number is not None:
            self._numbers.append(number)

    def finalize(self) -> float | None:
        return median(self._numbers) if self._numbers else None


def load_expected() -> dict[int, Expected]:
    questions = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    return {entry["number"]: Expected(**{**entry, "columns": tuple(entry.get("columns", ()))}) for entry in questions}


def open_mirror(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.create_aggregate("median", 1, _Median)  # type: ignore[arg-type]
    return connection


def fetch_rows(connection: sqlite3.Connection, expected: Expected, bounds: Bounds) -> list[tuple[Scalar, ...]]:
    return list(connection.execute(expected.sql, bounds))


def are_near(left: Sequence[Scalar], right: Sequence[Scalar]) -> bool:
    """Equal but for what summing in another order does to a fraction."""
    return len(left) == len(right) and all(
        isclose(number, twin, rel_tol=1e-9) if isinstance(number, (int, float)) and isinstance(twin, (int, float)) else number == twin
        for number, twin in zip(left, right, strict=True)
    )


def build_bounds(now: int, **named: Scalar) -> Bounds:
    """Starts are midnights of the person's zone.

    `weeks_12`, `calendar_months_6` and `months_12` end with the present one, `months_6` and `days_90` reach back from today; `…_same` is as many
    seconds into the earlier period as `now` is into this one.
    """
    here = datetime.fromtimestamp(now, ZONE)
    today = here.date()
    month, year, week = today.replace(day=1), today.replace(month=1, day=1), today - timedelta(days=today.weekday())
    quarter = month.replace(month=(month.month - 1) // 3 * 3 + 1)
    starts = {
        "week": week,
        "last_week": week - timedelta(weeks=1),
        "month": month,
        "last_month": shift_months(month, -1),
        "next_month": shift_months(month, 1),
        "month_16": month.replace(day=16),
        "last_month_16": shift_months(month, -1).replace(day=16),
        "quarter": quarter,
        "last_quarter": shift_months(quarter, -3),
        "year": year,
        "last_year": shift_months(year, -12),
        "year_ago_month": shift_months(month, -12),
        "days_90": today - timedelta(days=90),
        "weeks_12": week - timedelta(weeks=11),
        "months_6": shift_months(today, -6),
        "calendar_months_6": shift_months(month, -5),
        "months_12": shift_months(month, -11),
    }
    bounds: Bounds = {"now": now, "today_day": today.isoformat(), "final_invoice": "FINAL_INVOICE"}
    seconds = {name: find_midnight(day) for name, day in starts.items()}
    bounds |= seconds
    for name in ("month", "quarter", "year"):
        same = seconds[f"last_{name}"] + now - seconds[name]
        bounds[f"last_{name}_same"] = min(same, seconds[name] - 1)
    bounds["year_ago_now"] = int(datetime.combine(shift_months(today, -12), here.time(), ZONE).timestamp())
    bounds["next_month_day"] = starts["next_month"].isoformat()
    bounds["month_after_next_day"] = shift_months(month, 2).isoformat()
    return bounds | named


def find_midnight(day: date) -> int:
    return int(datetime.combine(day, time(), ZONE).timestamp())


def shift_months(day: date, months: int) -> date:
    """The last day of the month if it has no such day."""
    years, month = divmod(day.month - 1 + months, 12)
    first = date(day.year + years, month + 1, 1)
    following = date(first.year + first.month // 12, first.month % 12 + 1, 1)
    return min(first + timedelta(days=day.day - 1), following - timedelta(days=1))
