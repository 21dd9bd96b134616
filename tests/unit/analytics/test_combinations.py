"""Shapes, variants and follow-ups of random questions: whatever goes together is answered, the rest is refused in a sentence."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from orchestrator.analytics.counting import InlineCounter
from orchestrator.analytics.definitions import load_definitions
from orchestrator.analytics.findings import Findings, Job
from orchestrator.analytics.orders import Tables
from orchestrator.analytics.service import Analytics
from orchestrator.analytics.statements import Statement
from orchestrator.domain.report import ReportAnswer, describe_report
from tests.unit.analytics.analytics_kit import Desk, build_asker
from tests.unit.analytics.mirror_firm import FIELD
from tests.unit.analytics.random_questions import draw_period, draw_question

_EXTRAS: list[dict[str, Any]] = [
    {"plan": 1_000_000}, {"plan": {"7": 500_000, "18": 10}}, {"funnel": 0}, {"funnel": True}, {"at": "week"}, {"at": "month"}, {"at": "@date:1 октября"},
    {"abc": True}, {"explain": True}, {"explain": True, "expects": "fall"}, {"expects": "rise"}, {"per": {"of": "deals", "where": "won"}},
    {"per": {"of": "calls"}}, {"top": 2}, {"top": 3, "order": "count:asc"}, {"back": True}, {"show": "table"}, {"group_by": "month"}, {"group_by": ["person", "week"]},
    {"measures": ["share:count", "count"]}, {"measures": ["share:sum"]}, {"measures": None, "group_by": None}, {"where": None}, {"compare": "previous"},
]  # fmt: skip


@pytest.mark.slow
async def test_no_combination_of_keys_raises(desk: Desk) -> None:
    random = Random(9)  # noqa: S311 - questions are no secret
    answered: set[str] = set()
    for _ in range(600):
        period = draw_period(random)
        plain = random.choice([{}, {"group_by": "company", "measures": ["sum"]}, {"filter": {"SOURCE_ID": "WEB"}}])
        question = random.choice([draw_question(random), {"of": "deals", "period": period} | plain])
        for extra in random.sample(_EXTRAS, random.choice([1, 1, 2])):
            question |= extra
        asker = build_asker(sees=random.choice([None, None, frozenset({7, 8})]), locale=random.choice(["ru", "en"]))
        answer = await desk.ask(question, asker)
        if isinstance(answer, ReportAnswer):
            answered |= {key for key in question if question[key]}
            await follow(answer, desk, asker)
    assert answered >= {"plan", "funnel", "at", "abc", "explain", "expects", "per", "top", "order", "back", "show", "compare"}


async def follow(answer: ReportAnswer, desk: Desk, asker: Any) -> None:
    """What a door may do with an answer."""
    assert json.dumps(describe_report(answer))
    assert ReportAnswer.model_validate_json(answer.model_dump_json()) == answer
    assert len(answer.variants) <= 6
    for variant in answer.variants[-3:]:
        outcome = await desk.ask({"again": dict(variant.change)}, asker, last=answer.question)
        assert isinstance(outcome, ReportAnswer) or outcome.code == "no_products", (answer.question, variant, outcome)
    if (
        answer.rows
        and answer.rows[0].kind == "group"
        and answer.question["of"] not in {"moves", "companies"}
        and "per" not in answer.question
    ):
        numbers = await desk.list_records(answer.question, answer.rows[0].keys, asker)
        assert len(numbers) == answer.rows[0].records, (answer.question, answer.rows[0])


class WatchingCounter(InlineCounter):
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def count(self, path: Path, job: Job) -> Findings:
        statements = [
            job.groups,
            job.total,
            job.groups_before,
            job.total_before,
            job.left_out,
            *(one for cause in job.causes for one in cause[1:]),
        ]
        self.texts += [statement.sql for statement in statements if statement is not None]
        return await super().count(path, job)

    async def read(self, path: Path, statements: tuple[Statement, ...]) -> Tables:
        self.texts += [statement.sql for statement in statements]
        return await super().read(path, statements)


async def test_nothing_that_was_written_in_a_question_becomes_sql(desk: Desk) -> None:
    counter = WatchingCounter()
    analytics = Analytics(counter, load_definitions())
    mark = "q7x'\"--"
    for question in (
        {
            "of": "deals",
            "filter": {"SOURCE_ID": mark, "!STAGE_ID": [mark, ""], FIELD: mark, ">OPPORTUNITY": 774411},
            "group_by": [FIELD, "month"],
        },
        {
            "of": "deals",
            "where": "won",
            "period": {"from": "2019-07-14", "to": "2019-07-15"},
            "compare": "previous",
            "explain": True,
            "measures": ["sum"],
        },
        {"of": "deals", "where": "idle:7744", "group_by": "person"},
        {"of": "deals", "at": "week", "period": {"from": "2026-07-14", "to": "2026-09-15"}, "filter": {"SOURCE_ID": mark}},
        {"of": "companies", "filter": {"<LAST_WON": "2019-07-14"}},
    ):
        asker = build_asker(sees=frozenset({774499}))
        assert isinstance(await analytics.answer(desk.path, question, asker), ReportAnswer), question
        await analytics.list_records(desk.path, question, [mark] * 2 if question.get("group_by") == [FIELD, "month"] else None, asker)
    text = "\n".join(counter.texts)
    assert len(counter.texts) > 40
    assert not any(part in text for part in ("q7x", "7744", "774411", "774499", "2019-07", "2026-07", FIELD))
