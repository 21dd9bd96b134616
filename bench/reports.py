"""How long reports over a large mirror take, each in the worker as in the product, and how long the event loop waits meanwhile."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench.pictures import beat, find_quantile
from orchestrator.analytics.counting import WorkerCounter
from orchestrator.analytics.definitions import load_definitions
from orchestrator.analytics.service import Analytics, Asker
from orchestrator.analytics.stretches import Clock
from orchestrator.domain.report import ReportAnswer

ROUNDS: Final = 5
LONGEST_REPORT: Final = 0.6
LONGEST_LAG: Final = 0.03
QUESTIONS: Final[tuple[dict[str, Any], ...]] = (
    {"of": "deals", "where": "won", "period": "@date:этот квартал", "group_by": ["person", "source"], "measures": ["sum", "count"]},
    {"of": "deals", "where": "open", "group_by": ["stage", "person"], "measures": ["count", "sum", "avg", "median", "max"]},
    {"of": "deals", "period": "@date:этот год", "by": "created", "group_by": ["week"], "compare": "year_ago", "measures": ["count", "sum"]},
    {"of": "deals", "where": "closed", "period": "@date:этот год", "group_by": ["month"], "measures": ["win_rate", "days_to_close"]},
    {"of": "deals", "where": "open", "group_by": ["company"], "measures": ["weighted", "share:sum"], "top": 10},
    {"of": "deals", "where": ["open", "idle:30"], "group_by": ["person"], "measures": ["count", "sum", "days_in_stage"]},
    {"of": "deals", "funnel": True, "period": "@date:этот год", "by": "created"},
    {"of": "deals", "at": "week", "period": "@date:этот год", "measures": ["count", "sum"]},
    {"of": "deals", "where": "won", "period": "@date:этот год", "abc": True, "group_by": ["company"], "measures": ["sum"]},
    {"of": "moves", "period": "@date:этот год", "group_by": ["stage"], "measures": ["count", "days", "median_days"]},
    {"of": "moves", "back": True, "period": "@date:этот год", "group_by": ["person"], "measures": ["deals"]},
    {"of": "leads", "period": "@date:этот год", "group_by": ["source"], "measures": ["count", "conversion", "hours_to_first_call"]},
    {"of": "calls", "period": "@date:этот год", "group_by": ["person", "hour"], "measures": ["count", "missed_rate", "minutes"]},
    {"of": "activities", "where": "overdue", "group_by": ["person"], "measures": ["count"]},
)  # fmt: skip
Row = dict[str, Any]


async def measure_reports(mirror: Path) -> list[Row]:
    """The questions of a head of sales who sees everything, several times over, in turn."""
    counter = WorkerCounter()
    analytics = Analytics(counter, load_definitions())
    asker = Asker(clock=Clock(datetime.now(UTC), "Europe/Moscow"), sees=None, locale="ru", names=_Codes())
    times: list[tuple[float, int]] = []
    lags: list[float] = []
    await analytics.answer(mirror, QUESTIONS[0], asker)
    beating = asyncio.create_task(beat(lags))
    try:
        for _ in range(ROUNDS):
            for number, question in enumerate(QUESTIONS):
                begun = time.perf_counter()
                answer = await analytics.answer(mirror, question, asker)
                times.append((time.perf_counter() - begun, number))
                assert isinstance(answer, ReportAnswer), answer
    finally:
        beating.cancel()
        counter.close()
    p95 = find_quantile([took for took, _ in times], 0.95)
    longest, slowest = max(times)
    subject = QUESTIONS[slowest]["of"]
    return [
        {
            "name": "a report over all of it, p95",
            "value": round(p95, 3),
            "unit": "s",
            "bar": f"<= {LONGEST_REPORT}",
            "holds": p95 <= LONGEST_REPORT,
            "versus": f"{len(times)} of {len(QUESTIONS)} kinds, median {find_quantile([took for took, _ in times], 0.5):.3f}, "
            f"longest {longest:.3f} ({subject})",
        },
        {
            "name": "lag of the loop while reports are counted, longest",
            "value": round(max(lags), 3),
            "unit": "s",
            "bar": f"<= {LONGEST_LAG}",
            "holds": max(lags) <= LONGEST_LAG,
            "versus": f"p99 {find_quantile(lags, 0.99):.3f}",
        },
    ]


class _Codes:
    """Names are read from the portal once an hour; here codes stand for them."""

    async def find_names(self, what: str, record: str, codes: Sequence[str]) -> Mapping[str, str]:  # noqa: ARG002 - the port's
        return {code: f"{what} {code}" for code in codes}

    async def find_field_title(self, record: str, field: str) -> str:  # noqa: ARG002 - the port's
        return ""
