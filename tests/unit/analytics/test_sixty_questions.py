"""The compiler of reports gives the rows of the SQL that somebody else has written for the same sixty questions."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.domain.report import Cell, ReportAnswer, ReportMeasure, ReportTrouble
from tests.unit.analytics.analytics_kit import Desk
from tests.unit.analytics.edged_firm import build_edged_firm
from tests.unit.analytics.mirror_firm import FIELD, NOW
from tests.unit.analytics.sql_answers import Expected, Scalar, build_bounds, fetch_rows, load_expected, open_mirror

QUESTIONS: dict[int, Any] = {
    entry["number"]: entry["question"] for entry in yaml.safe_load(Path(__file__).with_name("questions.yaml").read_text(encoding="utf-8"))
}
EXPECTED = load_expected()
BOUNDS = build_bounds(int(NOW.timestamp()), boris=7, vera=8, own_field=FIELD)
SCALE = {"money": 100.0, "percent": 0.01}
SLACK = {"money": 0.51, "percent": 1e-9, "count": 1e-6}
"""The answer rounds money to hundredths."""
ROUNDED_BY_DEAL = 50.0
"""A weighted sum is one of whole hundredths: half a hundredth a deal."""
Numbers = dict[str, tuple[Scalar, float]]
"""By the column of `Expected`: the number in its unit, and how far from it the SQL may be."""


def read_numbers(measures: tuple[ReportMeasure, ...], cells: tuple[Cell, ...], expected: Expected) -> Numbers:
    columns = [name for name in expected.columns[expected.by :] if not name.startswith(("before_", "plan_")) or expected.number == 47]
    assert len(measures) == len(columns), (expected.columns, measures)
    numbers: Numbers = {}
    for name, measure, cell in zip(columns, measures, cells, strict=True):
        scale, slack = SCALE.get(measure.unit, 1.0), ROUNDED_BY_DEAL if name == "weighted" else SLACK.get(measure.unit, 1e-6)
        numbers[name] = (None if cell.value is None else cell.value * scale, slack)
        numbers[f"before_{name}"] = (None if cell.before is None else cell.before * scale, slack)
    return numbers


def read_answer(answer: ReportAnswer, expected: Expected) -> dict[tuple[str | None, ...], Numbers]:
    if answer.dimensions:
        return {row.keys: read_numbers(answer.measures, row.cells, expected) for row in answer.rows if row.kind == "group"}
    numbers = read_numbers(answer.measures, answer.total, expected)
    if answer.plan and answer.plan.left.value is not None:
        plan = {"left": answer.plan.left.value * 100, "done": (answer.plan.done_percent.value or 0) / 100}
        plan["elapsed"] = (answer.plan.elapsed_percent.value or 0) / 100
        numbers |= {f"plan_{name}": (number, 1e-6 * max(1, abs(number))) for name, number in plan.items()}
    return {(): numbers}


def list_differences(answer: ReportAnswer, expected: Expected, rows: list[tuple[Scalar, ...]]) -> list[str]:
    by_sql = {tuple(None if key is None else str(key) for key in row[: expected.by]): row[expected.by :] for row in rows}
    by_report = read_answer(answer, expected)
    names = expected.columns[expected.by :]
    differences = []
    for keys in sorted({*by_sql, *by_report}, key=str):
        numbers = by_report.get(keys, {})
        right = dict(zip(names, by_sql.get(keys, (None,) * len(names)), strict=True))
        for name in names:
            number, slack = numbers.get(name, (None, 0.0))
            if not is_near(number, right[name], slack):
                differences.append(f"{keys} {name}: report {number}, SQL {right[name]}")
    return differences


def is_near(number: Scalar, right: Scalar, slack: float) -> bool:
    """A group that is missing has nothing but zeros, or no number."""
    assert not isinstance(number, str)
    assert not isinstance(right, str)
    return abs((number or 0) - (right or 0)) <= slack + 1e-9 * abs(right or 0)


@pytest.fixture(scope="module")
def edged_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_edged_firm().write(Path(tmp_path_factory.mktemp("sixty")) / "mirror.sqlite")


@pytest.fixture(scope="module")
def edged_desk(edged_path: Path) -> Desk:
    return Desk(edged_path)


@pytest.fixture(scope="module")
def mirror(edged_path: Path) -> sqlite3.Connection:
    return open_mirror(edged_path)


@pytest.mark.parametrize("number", [number for number, expected in EXPECTED.items() if expected.sql])
async def test_a_report_has_the_rows_of_the_sql(number: int, edged_desk: Desk, mirror: sqlite3.Connection) -> None:
    answer = await edged_desk.answer(QUESTIONS[number])
    expected = EXPECTED[number]
    differences = list_differences(answer, expected, fetch_rows(mirror, expected, BOUNDS))
    assert not differences, "\n".join([expected.question, *differences])


@pytest.mark.parametrize("number", [number for number, expected in EXPECTED.items() if expected.refused])
async def test_what_the_portal_does_not_tell_is_refused(number: int, edged_desk: Desk) -> None:
    trouble = await edged_desk.ask(QUESTIONS[number])
    assert isinstance(trouble, ReportTrouble)
    assert trouble.code == "unkept"
    assert "кто кому передал" in trouble.text


def test_the_questions_are_the_same_sixty() -> None:
    assert list(QUESTIONS) == list(EXPECTED) == list(range(1, 61))
