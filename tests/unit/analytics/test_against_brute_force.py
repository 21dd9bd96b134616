"""Random questions give what plain loops over the same rows give."""

import math
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from orchestrator.domain.report import ReportAnswer
from tests.unit.analytics.analytics_kit import Desk, build_asker
from tests.unit.analytics.brute_force import Brute
from tests.unit.analytics.mirror_firm import NOW, PEOPLE, Firm, build_firm
from tests.unit.analytics.random_questions import draw_question


def is_same(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is None and right is None
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=0.0051)


def check_answer(answer: ReportAnswer, brute: Brute, question: dict[str, Any]) -> None:
    groups, total, before, total_before = brute.answer(question)
    cells = {row.keys: row for row in answer.rows if row.kind == "group"}
    assert all(is_same(cell.value, number) for cell, number in zip(answer.total, total, strict=True)), (
        "total",
        question,
        answer.total,
        total,
    )
    if total_before:
        assert all(is_same(cell.before, number) for cell, number in zip(answer.total, total_before, strict=True)), ("before", question)
    if not question.get("group_by"):
        assert not cells
        return
    is_long = answer.groups > len(cells)
    for key, row in cells.items():
        numbers, count = groups.get(key, (None, 0))
        assert row.records == count, (question, key)
        if numbers is None:
            assert all(not cell.value for cell in row.cells)
        else:
            assert all(is_same(cell.value, number) for cell, number in zip(row.cells, numbers, strict=True)), (question, key, row, numbers)
        if total_before and not any(row_dimension.is_time for row_dimension in answer.dimensions):
            earlier, _ = before.get(key, ([cell.before for cell in row.cells], 0))
            assert all(is_same(cell.before, number) for cell, number in zip(row.cells, earlier, strict=True)), (question, key)
    assert is_long or set(groups) <= set(cells), question


@pytest.mark.slow
@pytest.mark.parametrize("many", [100, pytest.param(300, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("zone", "now", "sees"),
    [
        ("Europe/Moscow", NOW, None),
        ("Europe/Berlin", datetime(2026, 11, 28, 22, 59, 59, tzinfo=UTC), None),
        ("America/New_York", NOW, frozenset({7, 12})),
    ],
)
async def test_random_questions_equal_plain_loops(many: int, zone: str, now: datetime, sees: frozenset[int] | None, tmp_path: Path) -> None:
    firm = build_firm(400, now=now, zone=zone)
    desk = Desk(firm.write(tmp_path / "mirror.sqlite"))
    brute = Brute(firm, now, zone, sees)
    asker = build_asker(sees=sees, now=now, zone=zone)
    random = Random(f"{zone}{sees}")  # noqa: S311 - questions are no secret
    answered = refused = 0
    while answered < many:
        question = draw_question(random)
        answer = await desk.ask(question, asker)
        if isinstance(answer, ReportAnswer):
            check_answer(answer, brute, question)
            answered += 1
        else:
            assert answer.code in {"question", "foreign"}, (question, answer)
            refused += 1
    assert refused < many


@pytest.mark.slow
@pytest.mark.parametrize(("many", "least"), [(100, 400), pytest.param(1000, 5_000, marks=pytest.mark.long)])
async def test_no_random_question_of_a_restricted_person_counts_others_records(many: int, least: int, firm: Firm, desk: Desk) -> None:
    own = {name: {row["id"]: row["person"] for row in firm.tables[name]} for name in ("deal", "lead", "call", "activity", "task", "item")}
    tables = {
        "deals": "deal",
        "leads": "lead",
        "calls": "call",
        "activities": "activity",
        "tasks": "task",
        "moves": "deal",
        "item:31": "item",
    }
    random = Random(5)  # noqa: S311 - questions are no secret
    listed = asked = 0
    while asked < many:
        question = draw_question(random)
        sees = frozenset(random.sample(list(PEOPLE), random.choice([0, 1, 1, 2])))
        asker = build_asker(sees=sees)
        answer = await desk.ask(question, asker)
        if not isinstance(answer, ReportAnswer):
            continue
        asked += 1
        assert all(
            key[place] is None or int(key[place] or 0) in sees
            for key in (row.keys for row in answer.rows if row.kind == "group")
            for place, name in enumerate(answer.dimensions)
            if name.code == "person"
        )
        if question["of"] == "companies":
            continue
        numbers = await desk.list_records(question, None, asker)
        listed += len(numbers)
        assert {own[tables[question["of"]]][number] for number in numbers} <= sees, question
    assert listed > least
