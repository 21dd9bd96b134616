"""Which records a number is of: exactly those that are listed, and none of people whose records are not seen."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.analytics.reading import Misunderstood
from orchestrator.domain.report import ReportTrouble
from tests.unit.analytics.analytics_kit import NOVEMBER, at, build_asker, build_deal, build_desk, build_won, read_rows


async def test_a_plan_by_person_and_classes_have_exactly_their_records(tmp_path: Path) -> None:
    """People without a plan, and deals without a company, are neither in the number nor among its records."""
    deals = [build_won(number, 100, company=None if number == 3 else number, person=7 + number % 3) for number in range(1, 10)]
    desk = build_desk(tmp_path, deals)
    question = {"of": "deals", "where": "won", "period": NOVEMBER, "measures": ["sum"]}
    planned = await desk.answer({**question, "plan": {"7": 500, "8": 100}})
    assert (planned.records, await desk.list_records(planned.question)) == (6, (9, 7, 6, 4, 3, 1))
    assert planned.notes == ("без истории стадий, закрытие — по смене стадии: 6",)
    classes = await desk.answer({**question, "group_by": "company", "abc": True})
    assert (classes.records, await desk.list_records(classes.question)) == (8, (9, 8, 7, 6, 5, 4, 2, 1))


async def test_who_sees_some_reads_nothing_of_the_plans_and_the_divisors_of_others(tmp_path: Path) -> None:
    """A zero would look like their number."""
    desk = build_desk(tmp_path, [build_won(1, 100, person=7), build_won(2, 900, person=8)])
    question = {"of": "deals", "where": "won", "period": NOVEMBER, "measures": ["sum"]}
    seven = build_asker(sees=frozenset({7}))
    answer = await desk.answer({**question, "plan": {"7": 200, "8": 1000}}, seven)
    assert {keys: numbers[:2] for keys, numbers in read_rows(answer).items()} == {("7",): (100, 200)}
    assert [cell.value for cell in answer.total] == [100, 200, 50, 100]
    assert answer.plan is not None
    assert answer.plan.plan.value == 200
    for foreign in ({"plan": {"8": 1000}}, {"per": {"of": "deals", "where": "won", "filter": {"ASSIGNED_BY_ID": 8}}}):
        trouble = await desk.ask({**question, **foreign}, seven)
        assert isinstance(trouble, ReportTrouble)
        assert trouble.code == "foreign"


async def test_a_plan_for_all_leaves_the_top_as_it_is(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(number, 100 * number, company=number) for number in range(1, 6)])
    question = {"of": "deals", "where": "won", "period": NOVEMBER, "group_by": "company", "measures": ["sum"], "plan": 3000, "top": 2}
    answer = await desk.answer(question)
    assert [(row.keys, row.cells[0].value) for row in answer.rows] == [(("5",), 500), (("4",), 400), ((), 600)]
    del question["plan"]
    assert '"per"' in await desk.refuse({**question, "per": {"of": "deals"}})


async def test_a_filter_of_a_stage_at_a_moment_is_that_of_then(tmp_path: Path) -> None:
    """As many as the group of this stage has; the deal that has gone on since was there, too."""

    def stay(number: int, deal: int, stage: str, entered: str, left: str | None = None) -> dict[str, Any]:
        moments = {"entered": at(f"{entered}T10:00:00"), "left": at(f"{left}T10:00:00") if left else None}
        return {"id": number, "deal": deal, "type": 2, "funnel": 0, "stage": stage, "semantics": "P", **moments, "came_from": None}

    moves = [stay(1, 1, "NEW", "2026-10-01", "2026-11-05"), stay(2, 1, "PREP", "2026-11-05"), stay(3, 2, "NEW", "2026-10-20")]
    desk = build_desk(tmp_path, [build_deal(1, stage="PREP"), build_deal(2)], move=moves)
    new = {"of": "deals", "filter": {"STAGE_ID": "NEW"}}
    day = {**new, "at": "@date:1 ноября"}
    assert ((await desk.answer(day)).total[0].value, await desk.list_records(day)) == (2, (2, 1))
    weeks = await desk.answer({**new, "at": "week", "period": NOVEMBER})
    assert [row.cells[0].value for row in weeks.rows] == [2, 1, 1, 1, 1]
    assert await desk.list_records(weeks.question, ["2026-11-02"]) == (2, 1)


async def test_a_sum_of_some_of_the_records_is_not_explained_by_the_number_of_all(tmp_path: Path) -> None:
    """One more lost deal changes nothing of what was won."""
    lost = build_deal(3, semantics="F", stage="LOSE", closed=at("2026-11-11T10:00:00"))
    desk = build_desk(tmp_path, [build_won(1, 100, "2026-10-10"), build_won(2, 100, "2026-11-10"), lost])
    question = {"of": "deals", "measures": ["won_sum"], "period": "@date:этот месяц", "compare": "previous", "explain": True}
    assert not [cause for cause in (await desk.answer(question)).causes if cause.change.value]
    causes = (await desk.answer({**question, "where": "won"})).causes
    assert [cause.change.value for cause in causes[:2]] == [0, 0]


@pytest.mark.parametrize(("period", "unit"), [("@date:следующий месяц", "week"), ("@date:прошлая неделя", "month")])
async def test_a_period_without_a_first_day_has_no_states(period: str, unit: str, tmp_path: Path) -> None:
    """Nothing open would be a wrong number, and there are no records to list."""
    desk = build_desk(tmp_path, [build_deal(1)])
    question = {"of": "deals", "period": period, "at": unit}
    assert '"at"' in await desk.refuse(question)
    with pytest.raises(Misunderstood):
        await desk.list_records(question)
