"""Conditions: empty values, days, rights, and states at their edges."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.report import ReportTrouble
from tests.unit.analytics.analytics_kit import at, build_asker, build_deal, build_desk


async def test_empty_values_are_neither_lost_nor_taken_for_zero(tmp_path: Path) -> None:
    desk = build_desk(
        tmp_path,
        [build_deal(1, source="WEB"), build_deal(2), build_deal(3, source="CALL"), build_deal(4, amount=0), build_deal(5, amount=None)],
    )

    async def count(conditions: dict[str, Any]) -> float | None:
        return (await desk.answer({"of": "deals", "filter": conditions, "measures": ["count"]})).total[0].value

    assert await count({"!SOURCE_ID": "WEB"}) == 4
    assert await count({"!SOURCE_ID": ["WEB", "CALL"]}) == 3
    assert await count({"SOURCE_ID": ""}) == 3
    assert await count({"!SOURCE_ID": ""}) == 2
    assert await count({"SOURCE_ID": ["WEB", ""]}) == 4
    assert await count({"OPPORTUNITY": 0}) == 2


async def test_a_filter_by_others_only_is_refused_to_who_does_not_see_them(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_deal(1), build_deal(2, person=8)])
    own = build_asker(sees=frozenset({7}))
    trouble = await desk.ask({"of": "deals", "filter": {"ASSIGNED_BY_ID": 8}}, own)
    assert isinstance(trouble, ReportTrouble)
    assert trouble.code == "foreign"
    both = await desk.answer({"of": "deals", "filter": {"ASSIGNED_BY_ID": [7, 8]}}, own)
    assert both.total[0].value == 1
    note = "посчитаны только записи, которые вам видны"
    assert note in both.notes
    assert note in (await desk.answer({"of": "deals"}, own)).notes
    assert note not in (await desk.answer({"of": "deals", "filter": {"ASSIGNED_BY_ID": 7}}, own)).notes, "the definition names the person"


@pytest.mark.parametrize(
    ("condition", "numbers"),
    [
        ({">=DATE_CREATE": "2026-10-02T00:00:00+03:00", "<DATE_CREATE": "2026-10-03T00:00:00+03:00"}, {2, 3}),
        ({"<=DATE_CREATE": "2026-10-02T00:00:00+03:00"}, {1, 2}),
        ({">DATE_CREATE": "2026-10-02T00:00:00+03:00"}, {3, 4}),
        ({"DATE_CREATE": "@date:2 октября"}, {2, 3}),
        ({"<DATE_CREATE": "@date:2 октября"}, {1}),
        ({">DATE_CREATE": "@date:2 октября"}, {4}),
        ({"><DATE_CREATE": ["2026-10-02", "2026-10-03"]}, {2, 3, 4}),
        ({"<=CLOSEDATE": "2026-12-02"}, {1, 2}),
        ({"<CLOSEDATE": "2026-12-02"}, {1}),
        ({"CLOSEDATE": ""}, {4}),
        ({"!CLOSEDATE": ""}, {1, 2, 3}),
    ],
)
async def test_days_in_a_filter_are_bounds(condition: dict[str, Any], numbers: set[int], tmp_path: Path) -> None:
    created = ["2026-10-01T23:59:59", "2026-10-02T00:00:00", "2026-10-02T12:00:00", "2026-10-03T00:00:00"]
    expected = ["2026-12-01", "2026-12-02", "2026-12-03", None]
    desk = build_desk(
        tmp_path,
        [
            build_deal(number, created=at(moment), expected=day)
            for number, (moment, day) in enumerate(zip(created, expected, strict=True), 1)
        ],
    )
    assert set(await desk.list_records({"of": "deals", "filter": condition})) == numbers


async def test_what_is_expected_today_is_not_overdue_and_an_idle_day_is_a_whole_one(tmp_path: Path) -> None:
    moved = {"2026-11-26T18:00:00": 3, "2026-11-26T17:59:59": 4}
    deals = [
        build_deal(1, expected="2026-11-27"),
        build_deal(2, expected="2026-11-28"),
        *(build_deal(number, moved=at(moment)) for moment, number in moved.items()),
    ]
    for deal in deals[:2]:
        deal["moved"] = at("2026-11-28T10:00:00")
    desk = build_desk(tmp_path, deals)
    assert await desk.list_records({"of": "deals", "where": "overdue"}) == (1,)
    assert await desk.list_records({"of": "deals", "where": "idle:2"}) == (4,)


async def test_tasks_overdue_now_are_not_done_and_those_of_a_period_may_be(tmp_path: Path) -> None:
    """Both say which of them are counted."""
    deadline, late = at("2026-11-10T12:00:00"), at("2026-11-12T12:00:00")
    common = {"person": 7, "author": 7, "status": 2, "created": deadline - 86_400, "modified": late, "deadline": deadline}
    tasks = [{**common, "id": 1, "done": late}, {**common, "id": 2, "done": None}, {**common, "id": 3, "done": deadline}]
    desk = build_desk(tmp_path, [], task=tasks)
    now = {"of": "tasks", "where": "overdue"}
    month = {**now, "period": "@date:ноябрь"}
    assert await desk.list_records(now) == (2,)
    assert set(await desk.list_records(month)) == {1, 2}
    assert await desk.list_records({**now, "where": ["overdue", "done"]}) == (1,)
    assert (await desk.answer(now)).filter_text == "просроченные; открытые"
    assert "завершена позже срока или не завершена" in (await desk.answer(month)).definition


async def test_a_repeat_customer_bought_before_this_deal_closed(tmp_path: Path) -> None:
    closed = {1: "2026-09-01T10:00:00", 2: "2026-10-01T10:00:00", 3: "2026-10-01T10:00:00"}
    deals = [build_deal(number, semantics="S", company=5 if number < 3 else 6, closed=at(moment)) for number, moment in closed.items()]
    desk = build_desk(tmp_path, [*deals, build_deal(4, company=6), build_deal(5, company=7), build_deal(6)])
    assert await desk.list_records({"of": "deals", "where": "repeat"}) == (4, 2)
    answer = await desk.answer({"of": "deals", "group_by": "customer", "measures": ["count"]}, build_asker(sees=frozenset({7})))
    assert {row.labels[0]: row.records for row in answer.rows} == {"новые": 3, "повторные": 2, "без компании": 1}


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"<MOVED_TIME": "2026-10-31"}, "стадия изменена раньше 31 октября 2026"),
        ({">=DATE_CREATE": "2026-10-31"}, "создано не раньше 31 октября 2026"),
        ({">OPPORTUNITY": 1000}, "сумма больше 1\xa0000"),
        ({"<=PROBABILITY": 50}, "вероятность не больше 50"),
    ],
)
async def test_a_bound_is_told_in_words(condition: dict[str, Any], words: str, tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_deal(1)])
    assert (await desk.answer({"of": "deals", "filter": condition})).filter_text == words
