"""The worker counts beside the loop as the thread does, and a report without it is a sentence."""

import asyncio
import time

import pytest

from orchestrator.analytics.counting import CountingFailed, WorkerCounter
from orchestrator.analytics.definitions import load_definitions
from orchestrator.analytics.service import Analytics
from orchestrator.analytics.statements import Statement
from orchestrator.domain.report import ReportAnswer, ReportTrouble
from tests.unit.analytics.analytics_kit import Desk, build_asker

QUESTION = {"of": "deals", "where": "won", "period": "@date:этот год", "group_by": ["person", "month"], "measures": ["sum", "median"]}
ENDLESS = Statement("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n")


@pytest.mark.slow
async def test_a_worker_counts_the_same_and_after_its_end_there_are_no_numbers(desk: Desk) -> None:
    counter = WorkerCounter()
    analytics = Analytics(counter, load_definitions())
    try:
        answer = await analytics.answer(desk.path, QUESTION, build_asker())
        assert isinstance(answer, ReportAnswer)
        assert answer.rows == (await desk.answer(QUESTION)).rows
    finally:
        await asyncio.to_thread(counter.close)
    ended = await analytics.answer(desk.path, QUESTION, build_asker())
    assert isinstance(ended, ReportTrouble)
    assert ended.code == "no_numbers"


@pytest.mark.slow
async def test_a_report_that_takes_too_long_is_ended_and_the_next_is_counted(desk: Desk) -> None:
    counter = WorkerCounter(seconds=0.3)
    try:
        await counter.read(desk.path, (Statement("SELECT 1"),))
        begun = time.monotonic()
        with pytest.raises(CountingFailed) as failure:
            await counter.read(desk.path, (ENDLESS,))
        assert failure.value.is_late
        assert time.monotonic() - begun < 5
        assert await counter.read(desk.path, (Statement("SELECT count(*) FROM person"),)) == [[(12,)]]
    finally:
        await asyncio.to_thread(counter.close)


@pytest.mark.slow
async def test_the_worker_can_only_read(desk: Desk) -> None:
    counter = WorkerCounter()
    try:
        with pytest.raises(CountingFailed, match="readonly"):
            await counter.read(desk.path, (Statement("DELETE FROM deal"),))
    finally:
        await asyncio.to_thread(counter.close)
