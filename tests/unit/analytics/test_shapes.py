"""Each shape of a report, by hand-made rows whose numbers can be seen at a glance, and the traps of the facts."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from orchestrator.analytics.counting import InlineCounter
from orchestrator.analytics.definitions import load_definitions
from orchestrator.analytics.products import ProductRow
from orchestrator.analytics.service import Analytics
from orchestrator.domain.report import ReportAnswer, ReportTrouble, describe_report
from tests.unit.analytics.analytics_kit import NBSP, NOVEMBER, Desk, at, build_asker, build_deal, build_desk, build_won, read_rows
from tests.unit.analytics.mirror_firm import Firm
from tests.unit.analytics.random_questions import draw_question


async def test_an_unfinished_period_is_compared_with_as_much_of_the_one_before(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 100), build_won(2, 80, "2026-10-05"), build_won(3, 900, "2026-10-30")])
    answer = await desk.answer({"of": "deals", "where": "won", "period": "@date:этот месяц", "compare": "previous", "measures": ["sum"]})
    cell = answer.total[0]
    assert (cell.value, cell.before, cell.change_text) == (100, 80, f"+25{NBSP}%")
    assert answer.compared is not None
    assert (answer.compared.first, answer.compared.last) == ("2026-10-01", "2026-10-28")
    whole = await desk.answer(
        {"of": "deals", "where": "won", "period": NOVEMBER, "compare": {"from": "2026-10-01", "to": "2026-10-31"}, "measures": ["sum"]}
    )
    assert whole.total[0].before == 980
    assert any("неполный" in note for note in whole.notes)


async def test_a_premise_is_checked_by_code_and_a_change_taken_apart(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 300), build_won(2, 100, person=8), build_won(3, 100, "2026-10-05")])
    question = {
        "of": "deals",
        "where": "won",
        "period": "@date:этот месяц",
        "compare": "previous",
        "measures": ["sum"],
        "explain": True,
        "expects": "fall",
    }
    answer = await desk.answer(question)
    assert answer.headline == f"Не упало: +300{NBSP}%"
    changes = {cause.label: cause.change.value for cause in answer.causes}
    assert changes["за счёт количества"] == 150
    assert changes["за счёт среднего"] == 150
    assert changes["менеджер: person 7"] == 200
    assert changes["менеджер: person 8"] == 100
    agreed = await desk.answer({**question, "expects": "rise", "explain": None})
    assert agreed.headline == f"Выросло: +300{NBSP}%"


async def test_funnel_zero_is_a_value_and_skipped_stages_count(tmp_path: Path) -> None:
    deals = [
        build_deal(1),
        build_deal(2, reached=20),
        build_won(3, 5, reached=30),
        build_deal(4, semantics="F", stage="LOSE", closed=at("2026-10-09T10:00:00")),
        build_deal(5, funnel=1),
    ]
    desk = build_desk(tmp_path, deals)
    answer = await desk.answer({"of": "deals", "funnel": 0, "period": "@date:октябрь"})
    assert [cell.cells[0].value for cell in answer.rows] == [4, 2, 1]
    assert answer.rows[1].cells[1].text == f"50{NBSP}%"
    assert answer.total[1].text == f"25{NBSP}%"
    assert answer.shown_as == "funnel"
    assert await desk.list_records(answer.question, ["PREP"]) == (3, 2)
    assert await desk.list_records(answer.question) == (4, 3, 2, 1)
    assert (await desk.answer({"of": "deals", "filter": {"CATEGORY_ID": 0}, "measures": ["count"]})).total[0].value == 4


async def test_a_record_of_this_very_second_counts_and_one_of_the_next_does_not(tmp_path: Path) -> None:
    now = datetime(2026, 11, 28, 15, 0, tzinfo=UTC)
    second = int(now.timestamp())
    desk = build_desk(tmp_path, [build_deal(1, created=second), build_deal(2, created=second + 1)])
    answer = await desk.answer({"of": "deals", "period": "@date:сегодня", "measures": ["count"]}, build_asker(now=now))
    assert answer.total[0].value == 1


async def test_sums_without_a_rate_are_told_and_left_out(tmp_path: Path) -> None:
    deals = [build_won(1, 100), build_won(2, 50, currency="CNY", base=None), build_won(3, 2, currency="USD", base=180_00), build_won(4, 0)]
    desk = build_desk(tmp_path, deals)
    answer = await desk.answer({"of": "deals", "where": "won", "period": NOVEMBER, "measures": ["sum", "avg", "count"]})
    assert [cell.value for cell in answer.total] == [280, 140, 4]
    assert "без курса валюты, в сумму не вошли: 1" in answer.notes
    assert "без суммы: 1" in answer.notes
    assert "курсы портала обновлены 27 ноября 2026" in answer.notes
    assert "сделки без суммы в среднее и медиану не входят" in answer.definition


async def test_parts_and_the_rest_make_a_hundred(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(number, 100, company=number) for number in range(1, 8)])
    answer = await desk.answer(
        {"of": "deals", "where": "won", "period": NOVEMBER, "group_by": "company", "measures": ["share:sum", "sum"], "top": 3}
    )
    assert answer.rows[-1].labels == ("ещё 4",)
    assert answer.rows[-1].kind == "rest"
    assert [row.cells[0].value for row in answer.rows] == [100 / 7, 100 / 7, 100 / 7, 400 / 7]
    assert [row.cells[0].text for row in answer.rows] == [f"{share}{NBSP}%" for share in ("14,3", "14,3", "14,3", "57,1")]
    shown = [row.keys for row in answer.rows if row.kind == "group"]
    assert shown == [("1",), ("2",), ("3",)], "ties by id"
    assert await desk.list_records(answer.question, besides=shown) == (7, 6, 5, 4)


async def test_the_empty_company_stands_in_no_top_and_in_no_class_but_in_the_total(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 900), build_won(2, 80, company=1), build_won(3, 15, company=2), build_won(4, 5, company=3)])
    top = await desk.answer({"of": "deals", "where": "won", "period": NOVEMBER, "group_by": "company", "measures": ["sum"], "top": 2})
    assert [row.keys for row in top.rows] == [("1",), ("2",), ()]
    assert top.total[0].value == 1000
    classes = await desk.answer(
        {"of": "deals", "where": "won", "period": NOVEMBER, "group_by": "company", "measures": ["sum"], "abc": True}
    )
    assert read_rows(classes) == {("A",): (1, 80, 80), ("B",): (1, 15, 15), ("C",): (1, 5, 5)}
    assert await desk.list_records(classes.question, ["B"]) == (3,)


async def test_a_plan_says_what_is_left_and_how_much_time_has_gone(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 600), build_won(2, 500, person=8)])
    plan = (await desk.answer({"of": "deals", "where": "won", "period": "@date:этот месяц", "measures": ["sum"], "plan": 2000})).plan
    assert plan is not None
    assert (plan.left.value, plan.done_percent.value, plan.elapsed_percent.text) == (900, 55, f"92,5{NBSP}%")
    assert plan.needed_a_day is not None
    assert plan.needed_a_day.value == 300
    exceeded = (await desk.answer({"of": "deals", "where": "won", "period": "@date:этот месяц", "measures": ["sum"], "plan": 1000})).plan
    assert exceeded is not None
    assert exceeded.left.value == -100
    assert exceeded.needed_a_day is None
    people = await desk.answer(
        {"of": "deals", "where": "won", "period": "@date:этот месяц", "measures": ["sum"], "plan": {"7": 1000, "9": 50}}
    )
    assert read_rows(people) == {("7",): (600, 1000, 60, 400), ("9",): (0, 50, 0, 50)}
    assert people.rows[1].labels == ("person 9 (уволен)",)


async def test_a_state_on_a_day_is_what_had_begun_and_not_ended(tmp_path: Path) -> None:
    def stay(number: int, deal: int, entered: str, left: str | None, stage: str = "NEW", semantics: str = "P") -> dict[str, Any]:
        moments = {"entered": at(f"{entered}T10:00:00"), "left": at(f"{left}T10:00:00") if left else None}
        return {"id": number, "deal": deal, "type": 1, "funnel": 0, "stage": stage, "semantics": semantics, **moments, "came_from": None}

    moves = [stay(1, 1, "2026-08-10", "2026-10-20"), stay(2, 1, "2026-10-20", None, "WON", "S"), stay(3, 2, "2026-09-15", None)]
    desk = build_desk(tmp_path, [build_won(1, 100), build_deal(2, amount=50_00)], move=moves)
    question = {"of": "deals", "at": "month", "period": {"from": "2026-08-01", "to": "2026-11-28"}, "measures": ["count", "sum"]}
    answer = await desk.answer(question)
    assert [[cell.value for cell in row.cells] for row in answer.rows] == [[0, 0], [1, 100], [2, 150], [1, 50], [1, 50]]
    assert [(row.labels, row.is_unfinished) for row in answer.rows[-2:]] == [(("1 ноября",), False), (("28 ноября",), True)]
    assert await desk.list_records(question, ["2026-10"]) == (2, 1)
    day = await desk.answer({"of": "deals", "at": "@date:15 октября", "group_by": "stage", "measures": ["count"]})
    assert day.total[0].value == 2
    assert read_rows(day) == {("NEW",): (2,)}


async def test_a_deal_without_history_was_open_from_its_creation_to_its_closing(tmp_path: Path) -> None:
    deals = [build_won(1, 100, "2026-10-20", created=at("2026-08-10T10:00:00")), build_deal(2, amount=50_00)]
    desk = build_desk(tmp_path, deals)
    question = {"of": "deals", "at": "month", "period": {"from": "2026-09-01", "to": "2026-11-28"}, "measures": ["count", "sum"]}
    answer = await desk.answer(question)
    assert [[cell.value for cell in row.cells] for row in answer.rows] == [[1, 100], [1, 100], [1, 50], [1, 50]]
    assert "без истории стадий, считаны открытыми от создания до закрытия: 2" in answer.notes
    assert await desk.list_records(question, ["2026-10"]) == (1,)
    assert await desk.list_records(question, ["2026-12"]) == (2,), "the state now"


async def test_groups_of_a_currency_are_in_that_one_and_have_no_total(tmp_path: Path) -> None:
    deals = [build_won(1, 100), build_won(2, 2, currency="USD", base=180_00), build_won(3, 1, currency="USD", base=90_00)]
    desk = build_desk(tmp_path, deals)
    question = {"of": "deals", "where": "won", "period": NOVEMBER, "group_by": "currency", "measures": ["sum", "count", "share:sum"]}
    answer = await desk.answer(question)
    assert {row.keys[0]: [cell.value for cell in row.cells[:2]] for row in answer.rows} == {"RUB": [100, 1], "USD": [3, 2]}
    assert {row.keys[0]: row.cells[2].text for row in answer.rows} == {"RUB": f"27{NBSP}%", "USD": f"73{NBSP}%"}
    assert next(row.cells[0].text for row in answer.rows if row.keys == ("USD",)) == f"3{NBSP}$"
    assert [cell.text for cell in answer.total] == ["–", "3", f"100{NBSP}%"]
    assert answer.measures[0].currency == ""
    assert "в валюте самих сделок" in answer.definition
    assert "базовой" not in answer.definition
    assert "суммы — в валюте сделок, поэтому общего итога нет" in answer.notes


async def test_calls_for_each_won_deal_are_a_quotient(tmp_path: Path) -> None:
    calls = [
        {"id": number, "person": 7 if number < 5 else 8, "direction": 1, "code": "200", "seconds": 60, "started": at("2026-11-05T12:00:00")}
        for number in range(1, 7)
    ]
    desk = build_desk(tmp_path, [build_won(1, 5), build_won(2, 5)], call=calls)
    answer = await desk.answer({"of": "calls", "period": NOVEMBER, "group_by": "person", "per": {"of": "deals", "where": "won"}})
    assert read_rows(answer) == {("7",): (4, 2, 2), ("8",): (2, 0, None)}
    assert [measure.label for measure in answer.measures] == ["Звонки: количество", "Выигранные сделки: количество", "на одну"]


async def test_without_telephony_calls_are_activities(tmp_path: Path) -> None:
    activity = {
        "owner_type": 2,
        "owner": 1,
        "type": 2,
        "person": 7,
        "direction": 2,
        "created": 1,
        "started": at("2026-11-05T12:00:00"),
        "is_done": 1,
        "modified": 1,
    }
    desk = build_desk(
        tmp_path, [], activity=[{"id": 1, **activity}, {"id": 2, **activity, "type": 1}], meta=[{"name": "calls", "value": "activities"}]
    )
    answer = await desk.answer({"of": "calls", "period": NOVEMBER, "measures": ["count", "outgoing"]})
    assert [cell.value for cell in answer.total] == [1, 1]
    assert "дела типа «звонок»" in answer.definition
    assert 'calls have no measure "minutes"' in await desk.refuse({"of": "calls", "measures": ["minutes"]})


async def test_what_should_have_come_is_told_apart_from_what_will(tmp_path: Path) -> None:
    deals = [
        build_deal(1, expected="2026-11-27"),
        build_deal(2, expected="2026-11-28"),
        build_deal(3, expected="2026-12-05", probability=50),
        build_deal(4),
    ]
    desk = build_desk(tmp_path, deals, chance=[{"funnel": 0, "stage": "NEW", "share": 0.25, "closed": 40}])
    answer = await desk.answer({"of": "deals", "by": "expected", "group_by": "month", "measures": ["weighted", "count"]})
    assert read_rows(answer) == {("past",): (25, 1), ("2026-11",): (25, 1), ("2026-12",): (50, 1), (None,): (25, 1)}
    assert answer.rows[0].labels == ("срок прошёл",)
    assert answer.filter_text == "открытые"


async def test_what_is_to_come_is_not_cut_at_today(tmp_path: Path) -> None:
    """Neither the period nor its present month ends today."""
    desk = build_desk(tmp_path, [build_deal(1, expected="2026-11-28"), build_deal(2, expected="2026-12-05")])
    answer = await desk.answer({"of": "deals", "where": "open", "by": "expected", "period": "@date:до конца года", "group_by": "month"})
    assert answer.subtitle == "по 31 декабря 2026"
    assert answer.period is not None
    assert answer.period.last == "2026-12-31"
    assert [row.is_unfinished for row in answer.rows] == [False, False]
    created = await desk.answer({"of": "deals", "period": "@date:этот месяц", "group_by": "week"})
    assert created.subtitle == "ноябрь 2026, по сегодня"


async def test_what_is_to_come_is_compared_whole_with_whole(tmp_path: Path) -> None:
    """And the sentence says so."""
    days = [f"2026-{month}-{day:02d}" for month in (10, 11) for day in range(1, 31)]
    desk = build_desk(tmp_path, [build_deal(number, expected=day) for number, day in enumerate(days, 1)])
    question = {"of": "deals", "where": "open", "by": "expected", "period": "@date:этот месяц", "compare": "previous"}
    answer = await desk.answer(question)
    assert (answer.total[0].value, answer.total[0].before) == (30, 30)
    assert "целиком" in answer.definition


async def test_a_year_ago_is_the_same_dates_or_of_whole_weeks_the_same_weekdays(tmp_path: Path) -> None:
    desk = build_desk(
        tmp_path, [build_won(number, number, day) for number, day in enumerate(("2025-11-01", "2025-11-14", "2025-11-15"), 1)]
    )
    question = {"of": "deals", "where": "won", "compare": "year_ago", "measures": ["sum"]}
    dates = await desk.answer({**question, "period": {"from": "2026-11-01", "to": "2026-11-14"}})
    assert dates.total[0].before == 1 + 2
    assert "с теми же датами" in dates.definition
    weeks = await desk.answer({**question, "period": {"from": "2026-11-02", "to": "2026-11-15"}})
    assert weeks.total[0].before == 2 + 3
    assert "с теми же днями недели" in weeks.definition


async def test_a_reopened_deal_has_not_moved_back(tmp_path: Path) -> None:
    def move(number: int, stage: str, came_from: str) -> dict[str, Any]:
        return {
            "id": number,
            "deal": 1,
            "type": 2,
            "funnel": 0,
            "stage": stage,
            "semantics": "P",
            "entered": at("2026-11-05T12:00:00"),
            "left": None,
            "came_from": came_from,
        }

    desk = build_desk(tmp_path, [build_deal(1)], move=[move(1, "NEW", "PREP"), move(2, "PREP", "LOSE"), move(3, "PREP", "NEW")])
    answer = await desk.answer({"of": "moves", "back": True, "group_by": ["from_stage", "stage"], "measures": ["count"]})
    assert read_rows(answer) == {("PREP", "NEW"): (1,)}


async def test_leads_are_converted_and_deals_won(desk: Desk) -> None:
    """A measure is called by what is counted, in its share too."""
    leads = await desk.answer({"of": "leads", "measures": ["won", "share:won"], "group_by": "source"})
    assert [measure.label for measure in leads.measures] == ["сконвертировано", "доля (сконвертировано)"]
    assert leads.title == "Лиды по источникам: сконвертировано"
    deals = await desk.answer({"of": "deals", "where": "closed", "measures": ["won", "days_to_close", "median_days_to_close"]})
    assert deals.measures[0].label == "выиграно"
    assert "дни — в среднем от создания до закрытия; медиана — за столько дней" in deals.definition


async def test_a_rate_of_few_says_so(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 1), build_deal(2, semantics="F", stage="LOSE", closed=at("2026-11-09T10:00:00"))])
    answer = await desk.answer({"of": "deals", "where": "closed", "period": NOVEMBER, "measures": ["win_rate"]})
    assert answer.total[0].text == f"50{NBSP}%"
    assert "мало данных: записей 2" in answer.remarks


async def test_stages_of_several_funnels_carry_its_name(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_deal(1), build_deal(2, funnel=1, stage="C1:NEW")])
    answer = await desk.answer({"of": "deals", "group_by": "stage", "measures": ["count"]})
    assert {row.labels for row in answer.rows} == {("stage NEW (funnel 0)",), ("stage C1:NEW (funnel 1)",)}


async def test_the_owner_chooses_among_the_readings(tmp_path: Path) -> None:
    choices = tmp_path / "company.yaml"
    choices.write_text("choices: {average: with_zeros, closing: closedate}", encoding="utf-8")
    deals = [build_won(1, 100, expected="2026-10-05"), build_won(2, 0, expected="2026-11-05"), build_won(3, 50, expected="2026-11-06")]
    desk = Desk(build_desk(tmp_path, deals).path, load_definitions(choices))
    answer = await desk.answer({"of": "deals", "where": "won", "period": NOVEMBER, "measures": ["avg", "count"]})
    assert [cell.value for cell in answer.total] == [25, 2]
    assert "дата завершения в карточке" in answer.details


async def test_follow_ups_change_one_key(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 100, source="WEB"), build_won(2, 30, person=8), build_won(3, 20, "2026-10-05")])
    last = {
        "of": "deals",
        "where": "won",
        "period": "@date:этот месяц",
        "group_by": ["person"],
        "measures": ["sum"],
        "top": 5,
        "filter": {">OPPORTUNITY": 1},
    }

    async def ask(changes: dict[str, Any]) -> ReportAnswer:
        return await desk.answer({"again": changes}, last=last)

    assert read_rows(await ask({"group_by": "source"})) == {("WEB",): (100,), (None,): (30,)}
    assert (await ask({"period": "@date:прошлый месяц"})).total[0].value == 20
    without = await ask({"filter": {"!ASSIGNED_BY_ID": 7}})
    assert without.total[0].value == 30
    assert without.question["filter"] == {">OPPORTUNITY": 1, "!ASSIGNED_BY_ID": 7}
    assert (await ask({"group_by": None})).rows == ()
    assert (await ask({"of": "deal", "where": "open"})).question == {**last, "where": "open"}
    assert (await ask({"of": "leads"})).question == {"of": "leads"}
    assert "no last report" in await desk.refuse({"again": {"top": 3}})
    answer = await desk.answer(last)
    for variant in answer.variants:
        assert isinstance(await desk.ask({"again": dict(variant.change)}, last=answer.question), ReportAnswer), variant


async def test_the_model_gets_numbers_as_text_and_at_most_fifty_rows(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(number, 1_000_000 * number, company=number) for number in range(1, 80)])
    described = describe_report(
        await desk.answer({"of": "deals", "where": "won", "period": NOVEMBER, "group_by": "company", "measures": ["sum"]})
    )
    assert len(described["rows"]) == 50
    assert described["more_rows"] == 29
    assert described["rows"][0] == {"group": "company 79", "сумма": f"79{NBSP}млн{NBSP}₽"}
    assert described["counted_as"].startswith("Считал так: ")


class FakeProducts:
    def __init__(self) -> None:
        self.asked: list[int] = []

    async def read_product_rows(self, deals: Sequence[int]) -> list[ProductRow]:
        self.asked += deals
        rows = [
            ProductRow(deal=1, product=5, name="Насос", quantity=Decimal(2), price=Decimal("90.5"), discount=Decimal("9.5")),
            ProductRow(deal=2, product=0, name="Доставка", quantity=Decimal(1), price=Decimal(10)),
        ]
        return [row for row in rows if row.deal in deals]


async def test_products_are_counted_from_rows_of_the_filtered_deals(tmp_path: Path) -> None:
    path = build_desk(tmp_path, [build_won(1, 200), build_won(2, 5, person=8), build_won(3, 5, "2026-09-01"), build_won(4, 7)]).path
    products = FakeProducts()
    analytics = Analytics(InlineCounter(), load_definitions(), products)
    question = {
        "of": "products",
        "where": "won",
        "period": NOVEMBER,
        "group_by": "product",
        "measures": ["sum", "quantity", "discount_rate", "deals"],
    }
    answer = await analytics.answer(path, question, build_asker())
    assert isinstance(answer, ReportAnswer)
    assert read_rows(answer) == {("5",): (181, 2, 9.5, 1), ("Доставка",): (10, 1, 0, 1)}
    assert answer.rows[0].labels == ("Насос",)
    assert sorted(products.asked) == [1, 2, 4]
    assert "сделок без товаров, здесь их нет: 1 из 3" in answer.remarks
    assert await analytics.list_records(path, question, ["5"], build_asker()) == (1,)
    own = await analytics.answer(path, question, build_asker(sees=frozenset({8})))
    assert isinstance(own, ReportAnswer)
    assert read_rows(own) == {("Доставка",): (10, 1, 0, 1)}
    nothing = await Analytics(InlineCounter(), load_definitions()).answer(path, question, build_asker())
    assert isinstance(nothing, ReportTrouble)
    assert nothing.code == "no_products"


async def test_an_empty_portal_gives_zeros_and_a_missing_file_a_sentence(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [])
    answer = await desk.answer(
        {"of": "deals", "where": "won", "period": "@date:этот месяц", "compare": "previous", "measures": ["sum", "avg", "win_rate"][:2]}
    )
    assert [cell.text for cell in answer.total] == [f"0{NBSP}₽", "–"]
    trouble = await Desk(tmp_path / "absent.sqlite").ask({"of": "deals"})
    assert isinstance(trouble, ReportTrouble)
    assert trouble.code == "no_numbers"


async def test_units_of_time_are_compared_place_by_place(tmp_path: Path) -> None:
    days = {"2026-10-05": 100, "2026-11-05": 200, "2025-10-05": 10, "2025-11-05": 20, "2025-11-29": 40, "2025-12-05": 80}
    desk = build_desk(tmp_path, [build_won(number, amount, day) for number, (day, amount) in enumerate(days.items(), 1)])
    question = {
        "of": "deals",
        "where": "won",
        "period": "@date:этот квартал",
        "compare": "year_ago",
        "group_by": "month",
        "measures": ["sum"],
    }
    answer = await desk.answer(question)
    assert [(row.labels[0], row.cells[0].value, row.cells[0].before, row.is_unfinished) for row in answer.rows] == [
        ("октябрь 2026", 100, 10, False),
        ("ноябрь 2026", 200, 20, True),
    ]
    assert answer.total[0].before == 30


async def test_the_top_of_months_is_by_the_measure_and_months_alone_are_in_order(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 10, "2026-08-05"), build_won(2, 300, "2026-09-05"), build_won(3, 200, "2026-11-05")])
    question = {
        "of": "deals",
        "where": "won",
        "period": {"from": "2026-08-01", "to": "2026-11-28"},
        "group_by": "month",
        "measures": ["sum"],
    }
    top = await desk.answer({**question, "top": 2})
    assert [row.keys for row in top.rows] == [("2026-09",), ("2026-11",), ()]
    assert [row.cells[0].value for row in (await desk.answer(question)).rows] == [10, 300, 0, 200]


async def test_words_that_count_back_in_the_unit_of_the_groups_are_whole_units(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [])
    weeks = await desk.answer({"of": "deals", "period": "@date:последние 12 недель", "group_by": "week", "measures": ["count"]})
    assert len(weeks.rows) == 12
    assert weeks.period is not None
    assert weeks.period.first == "2026-09-07"
    since = await desk.answer({"of": "deals", "period": "@date:с 28 августа", "group_by": "month", "measures": ["count"]})
    assert since.period is not None
    assert since.period.first == "2026-08-28"


async def test_a_long_label_with_hidden_marks_is_one_short_line(tmp_path: Path) -> None:
    class OddNames:
        async def find_names(self, what: str, record: str, codes: Sequence[str]) -> dict[str, str]:
            return dict.fromkeys(codes, "\u202eабв\n" + "г" * 300)

        async def find_field_title(self, record: str, field: str) -> str:
            return ""

    desk = build_desk(tmp_path, [build_won(1, 10, company=5)])
    answer = await desk.answer({"of": "deals", "group_by": "company", "measures": ["count"]}, build_asker(names=OddNames()))
    label = answer.rows[0].labels[0]
    assert len(label) <= 120
    assert label.startswith("абв")


@pytest.mark.slow
async def test_every_number_has_exactly_its_records(firm: Firm, desk: Desk) -> None:
    random = Random(77)  # noqa: S311 - questions are no secret
    checked = 0
    while checked < 300:
        question = draw_question(random)
        answer = await desk.ask(question)
        if not isinstance(answer, ReportAnswer) or question["of"] in {"moves", "companies"}:
            continue
        for row in answer.rows[:3]:
            if row.kind == "group":
                assert len(await desk.list_records(question, row.keys)) == row.records, (question, row.keys)
                checked += 1
        assert len(await desk.list_records(question)) == answer.records


@pytest.mark.parametrize("locale", ["ru", "en"])
async def test_every_question_is_told_in_the_language_of_who_asks(locale: str, desk: Desk) -> None:
    path = Path(__file__).parent / "questions.yaml"
    for question in yaml.safe_load(path.read_text(encoding="utf-8")):
        answer = await desk.ask(question["question"], build_asker(locale=locale))
        if isinstance(answer, ReportAnswer):
            told = json.dumps(describe_report(answer), ensure_ascii=False).replace("Площадка", "")
            assert ("Считал так" in told) == (locale == "ru")
            assert not (locale == "en" and re.search("[а-яё]", told, re.IGNORECASE)), (question, told)
            assert "{" not in answer.title + answer.definition + answer.subtitle
