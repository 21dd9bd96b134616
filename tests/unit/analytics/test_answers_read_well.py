"""What people read beside the numbers of a report: nothing that was asked for is missing, and nothing is said twice."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.report import describe_report
from tests.unit.analytics.analytics_kit import NBSP, NOVEMBER, Desk, at, build_asker, build_deal, build_desk, build_won, read_rows

_WON: dict[str, Any] = {"of": "deals", "where": "won", "period": NOVEMBER, "measures": ["sum"]}
_LOST: dict[str, Any] = {"semantics": "F", "stage": "LOSE", "closed": at("2026-11-09T10:00:00")}


async def test_a_group_named_by_the_filter_is_a_row_without_records_and_its_share_is_of_the_whole(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 300, source="WEB"), build_won(2, 100, source="CALL")])
    question = {**_WON, "group_by": "source", "filter": {"SOURCE_ID": ["WEB", "PARTNER"]}, "measures": ["share:sum", "sum", "count"]}
    assert read_rows(await desk.answer(question)) == {("WEB",): (75, 300, 1), ("PARTNER",): (0, 0, 0)}
    assert [cell.value for cell in (await desk.answer(question)).total] == [75, 300, 1]
    assert not any("0 %" in note for note in (await desk.answer(question)).notes), "of the others nothing is known"
    compared = await desk.answer({**question, "period": "@date:этот месяц", "compare": "previous"})
    assert [row.keys for row in compared.rows] == [("WEB",), ("PARTNER",)]


async def test_what_is_not_listed_among_shares_is_said_to_be_nothing(tmp_path: Path) -> None:
    answer = await build_desk(tmp_path, [build_won(1, 300, source="WEB")]).answer({**_WON, "group_by": "source", "measures": ["share:sum"]})
    assert "чего в списке нет, там 0 %" in answer.notes


async def test_nobody_reads_a_zero_for_somebody_whose_records_they_do_not_see(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 300), build_won(2, 100, person=8)])
    question = {**_WON, "group_by": "person", "filter": {"ASSIGNED_BY_ID": [7, 8]}}
    assert read_rows(await desk.answer(question, build_asker(sees=frozenset({7})))) == {("7",): (300,)}


async def test_a_share_without_groups_would_be_a_hundred_and_is_refused(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 300, source="WEB")])
    assert '"share:sum" needs "group_by"' in await desk.refuse({**_WON, "measures": ["share:sum"], "filter": {"SOURCE_ID": "WEB"}})
    answer = await desk.answer({**_WON, "measures": ["share:sum", "sum"], "group_by": "source"})
    total = next(variant.change for variant in answer.variants if variant.label == "одним числом")
    assert (await desk.answer({"again": total}, last=answer.question)).total[0].value == 300


async def test_a_change_is_taken_apart_in_one_way(tmp_path: Path) -> None:
    """The breakdown with the largest change; two of them would add up to more than there is."""
    deals = [build_won(1, 900, source="WEB"), *(build_won(number, 100, person=8, source="CALL") for number in (2, 3))]
    desk = build_desk(
        tmp_path, [*deals, build_won(4, 100, "2026-10-05", source="WEB"), build_won(5, 700, "2026-10-06", source="CALL", person=8)]
    )
    answer = await desk.answer({**_WON, "period": "@date:этот месяц", "compare": "previous", "explain": True})
    assert [cause.label for cause in answer.causes] == [
        "за счёт количества",
        "за счёт среднего",
        "менеджер: person 7",
        "менеджер: person 8",
    ]
    assert not any("причина" in note for note in answer.notes), "the door says it beside the parts"


@pytest.mark.parametrize(
    ("measures", "said"),
    [
        (["win_rate"], "мало данных: везде меньше 10 записей"),
        (["days_to_close"], "мало данных: person 7 (1), person 8 (2)"),
        (["count"], ""),
    ],
)
async def test_who_has_few_records_is_named(measures: list[str], said: str, tmp_path: Path) -> None:
    many = [build_won(number, 1, person=9) for number in (4, 5, 6)]
    desk = build_desk(tmp_path, [build_won(1, 1), build_won(2, 1, person=8), build_deal(3, person=8, **_LOST), *many])
    answer = await desk.answer({**_WON, "where": "closed", "group_by": "person", "measures": measures})
    assert " ".join(answer.remarks) == said


async def test_people_without_a_task_of_the_report_are_named_or_counted(tmp_path: Path) -> None:
    tasks = [
        {
            "id": 1,
            "person": 7,
            "author": 7,
            "status": 2,
            "modified": 0,
            "created": at("2026-11-01T10:00:00"),
            "deadline": at("2026-11-02T10:00:00"),
            "done": None,
        }
    ]
    desk = build_desk(tmp_path, [build_deal(1)], task=tasks)
    question = {"of": "tasks", "where": "overdue", "group_by": "person", "measures": ["count"]}
    answer = await desk.answer(question)
    assert "ни одной записи: person 8" in answer.notes
    assert not any("ни одной записи" in note for note in (await desk.answer(question, build_asker(sees=frozenset({7})))).notes)
    assert (answer.dimensions[0].label, answer.title) == ("сотрудник", "Просроченные задачи по сотрудникам: количество")
    assert "просроченная задача — не завершена, а срок прошёл" in answer.definition
    assert answer.subtitle == ""


async def test_a_report_without_a_period_says_so_unless_it_is_of_now(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 1), build_deal(2)])
    assert (await desk.answer({"of": "deals", "where": "won"})).subtitle == "за всё время"
    assert (await desk.answer({"of": "deals", "where": "open"})).subtitle == ""


async def test_a_title_names_all_measures_and_the_definition_only_what_differs(tmp_path: Path) -> None:
    answer = await build_desk(tmp_path, [build_won(1, 1)]).answer(
        {**_WON, "measures": ["sum", "count", "avg"], "filter": {"!ASSIGNED_BY_ID": 8}}
    )
    assert answer.title == "Выигранные сделки: сумма, количество, средний чек"
    many = await build_desk(tmp_path, [build_won(1, 1)]).answer({**_WON, "measures": ["sum", "count", "avg", "max"]})
    assert many.title == "Выигранные сделки: сумма, количество, ещё 2"
    assert "(без: person 8)" in answer.definition
    assert "последнего перехода" not in answer.definition
    assert answer.details == "Закрытие — день последнего перехода в финальную стадию."


async def test_steps_back_are_of_who_is_responsible_now_and_the_title_says_so(tmp_path: Path) -> None:
    move = {
        "id": 1,
        "type": 2,
        "deal": 1,
        "funnel": 0,
        "stage": "NEW",
        "semantics": "P",
        "entered": at("2026-11-05T12:00:00"),
        "left": None,
        "came_from": "PREP",
    }
    answer = await build_desk(tmp_path, [build_deal(1)], move=[move]).answer(
        {"of": "moves", "back": True, "group_by": "person", "measures": ["deals"]}
    )
    assert answer.title == "Откаты назад по стадиям по нынешним ответственным: сделок"
    assert answer.definition.startswith(
        "Считал так: переходы по стадиям; люди — кто отвечает за сделку сейчас; кто её передвинул, портал не сообщает"
    )


async def test_a_status_of_leads_is_no_stage(tmp_path: Path) -> None:
    lead = {"id": 1, "modified": 0, "stage": "NEW", "semantics": "P", "person": 7, "created": at("2026-11-05T12:00:00")}
    answer = await build_desk(tmp_path, [], lead=[lead]).answer({"of": "leads", "filter": {"STATUS_ID": "NEW"}})
    assert answer.filter_text == "статус: stage NEW"
    assert [variant.label for variant in (await build_desk(tmp_path, [], lead=[lead]).answer({"of": "leads"})).variants][2] == "по статусам"


async def test_no_button_leads_to_a_report_of_one_group(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_deal(1)])

    async def list_labels(**question: Any) -> list[str]:
        return [variant.label for variant in (await desk.answer({"of": "deals", **question})).variants]

    assert await list_labels(filter={"ASSIGNED_BY_ID": 7}) == ["по источникам", "по стадиям", "по воронкам", "по клиентам"]
    assert await list_labels(filter={"STAGE_ID": "NEW"}) == ["по менеджерам", "по источникам", "по клиентам"]
    assert "по воронкам" not in await list_labels(filter={"CATEGORY_ID": 0})
    assert "по неделям" not in await list_labels(period="@date:эта неделя", group_by="person")
    assert "по неделям" in await list_labels(period="@date:этот квартал", group_by=["person", "source"])


async def test_money_by_money_is_a_part_in_hundredths_and_the_columns_differ(tmp_path: Path) -> None:
    desk = build_desk(tmp_path, [build_won(1, 15, source="WEB"), build_won(2, 85)])
    answer = await desk.answer({**_WON, "filter": {"SOURCE_ID": "WEB"}, "per": {"of": "deals", "where": "won", "measures": ["sum"]}})
    assert [measure.label for measure in answer.measures] == [
        "Выигранные сделки: сумма (источник: source WEB)", "Выигранные сделки: сумма", "первое от второго",
    ]  # fmt: skip
    assert answer.total[2].text == f"15{NBSP}%"
    assert len(describe_report(answer)["total"]) == 3


async def test_less_than_one_for_each_keeps_two_digits(tmp_path: Path) -> None:
    calls = [{"id": 1, "person": 7, "direction": 1, "code": "200", "seconds": 60, "started": at("2026-11-05T12:00:00")}]
    desk = build_desk(tmp_path, [build_won(number, 1) for number in range(1, 8)], call=calls)
    assert (await desk.answer({"of": "calls", "period": NOVEMBER, "per": {"of": "deals", "where": "won"}})).total[2].text == "0,14"


async def test_shares_are_rounded_as_people_would(tmp_path: Path) -> None:
    sources = ["WEB"] * 20 + ["CALL"] * 14 + ["PARTNER"] * 6 + ["EMAIL"] * 5 + [None] * 2
    desk = build_desk(tmp_path, [build_deal(number, source=source) for number, source in enumerate(sources, start=1)])
    answer = await desk.answer({"of": "deals", "group_by": "source", "measures": ["share:count"]})
    assert answer.rows[0].cells[0].text == f"42,6{NBSP}%", "20 of 47"


@pytest.mark.parametrize(
    ("where", "title"), [("open", "Неоплаченные счета: сумма"), ("won", "Оплаченные счета: сумма"), (None, "Счета: сумма")]
)
async def test_a_title_says_which_invoices_are_counted(where: str | None, title: str, desk: Desk) -> None:
    """«Счета» over the unpaid ones would be read as all."""
    answer = await desk.answer({"of": "item:31", "where": where, "measures": ["sum"]})
    assert answer.title == title
