"""Lists of activities, events, product rows, comments and calls are shown as tables; their words never reach a later prompt."""

from typing import Any

import httpx
import pytest

from orchestrator.domain.effect import Outcome
from orchestrator.domain.outputs import Reply
from orchestrator.engines.base import TurnEnd
from orchestrator.turns.turn_ending import collect_shown_lists
from tests.unit.directory.test_list_columns import columns
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import ANNA, BORIS, VERA

EVENT = {"ID": "31", "NAME": "Встреча с &quot;Вектором&quot;", "DATE_FROM": "30.11.2026 10:00:00", "DATE_TO": "30.11.2026 11:30:00"}
PRODUCT = {"ID": "5", "PRODUCT_NAME": "Насос &laquo;Гном&raquo;", "PRICE": 1200.5, "QUANTITY": 2}
COMMENT = {"ID": "9", "COMMENT": "[b]Скидка[/b] 5&nbsp;%<br>до пятницы", "AUTHOR_ID": "7", "CREATED": "2026-11-20T10:00:00+03:00"}
READS: list[tuple[str, dict[str, Any], Any, tuple[str, ...], tuple[str, ...]]] = [
    (
        "calendar.event.get",
        {"type": "user", "ownerId": 1, "from": "2026-11-01", "to": "2026-12-31"},
        [EVENT],
        ("Начало", "Окончание"),
        ('Встреча с "Вектором"', "пн, 30 ноября, 10:00", "пн, 30 ноября, 11:30"),
    ),
    ("crm.deal.productrows.get", {"id": 481}, [PRODUCT], ("Цена", "Количество"), ("Насос «Гном»", "1 200,50", "2")),
    (
        "crm.timeline.comment.list",
        {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}},
        [COMMENT],
        ("Автор", "Создано"),
        ("Скидка 5 % до пятницы", "Борис Смирнов", "пт, 20 ноября, 10:00"),
    ),
]


@pytest.mark.parametrize(("method", "params", "rows", "titles", "cells"), READS, ids=[read[0] for read in READS])
async def test_rows_of_any_kind_are_a_table_with_words(
    desk: Desk, method: str, params: dict[str, Any], rows: Any, titles: tuple[str, ...], cells: tuple[str, ...]
) -> None:
    """Named by the field that people know the row by, without markup and entities; money, days and people as on cards."""
    desk.wire.instead = {method: httpx.Response(200, json={"result": rows})}
    found = await columns(desk, method, params)
    (row,) = found.table.rows
    assert (found.table.columns, (row.label, *row.cells)) == (titles, cells)
    assert found.unknown == ()


async def test_the_sandbox_shows_its_calls_and_to_dos(desk: Desk) -> None:
    """Kinds and directions in words, lengths as a clock shows them."""
    calls = await columns(desk, "voximplant.statistic.get", {})
    assert calls.table.columns == ("Вид звонка", "Начало", "Длительность")
    assert calls.table.rows[0].cells == ("исходящий", "пт, 20 ноября, 09:00", "3:04")
    todos = await columns(desk, "crm.activity.list", {}, "RESPONSIBLE_ID", "COMPLETED", "NO_SUCH")
    assert todos.table.columns == ("Исполнитель", "Завершено")
    assert todos.table.rows[0].cells == ("Борис Смирнов", "Нет")
    assert todos.unknown == ("NO_SUCH",)


@pytest.mark.parametrize(
    ("method", "params", "result"),
    [
        ("calendar.event.get", {"type": "user", "ownerId": 1}, []),
        ("crm.activity.list", {}, []),
        ("crm.item.productrow.list", {"filter": {"=ownerType": "D", "=ownerId": 481}}, {"productRows": []}),
        ("user.get", {"FILTER": {"ID": 99}}, []),
    ],
)
async def test_a_list_without_rows_is_none_and_never_ok(desk: Desk, method: str, params: dict[str, Any], result: Any) -> None:
    """The model reads `total: 0`, and a marker shows that there is none."""
    desk.wire.instead = {method: httpx.Response(200, json={"result": result, "total": 0})}
    outcome = await desk.wish(method, params)
    assert isinstance(outcome, Outcome)
    seen = await desk.world.tools.queries["present"](outcome=outcome, actor=VERA)
    assert (seen.total, seen.text, seen.table.rows) == (0, "", ())


async def test_the_words_of_such_rows_are_in_no_later_prompt(desk: Desk) -> None:
    """A subject is anybody's text: what is kept of the list are the ids of its rows."""
    desk.wire.instead = {"crm.timeline.comment.list": httpx.Response(200, json={"result": [COMMENT]})}
    found = await columns(desk, "crm.timeline.comment.list", {"filter": {"ENTITY_ID": 481, "ENTITY_TYPE": "deal"}})
    table = found.table.model_copy(update={"place": "1.1"})
    (kept,) = collect_shown_lists(TurnEnd(reason="answered", reply=Reply(parts=(table,))), session="tg:7", mask=str)
    assert [(row.record, row.label) for row in kept.rows] == [("comment:9", "")]


_TODO = {"ID": "1503", "SUBJECT": "Созвониться с закупками", "PROVIDER_ID": "CRM_TODO"}
_LETTER = {"ID": "1504", "SUBJECT": "Ваш счёт", "PROVIDER_ID": "CRM_EMAIL"}


@pytest.mark.parametrize(("rows", "labels"), [([_TODO], ["Созвониться с закупками"]), ([_LETTER], [""]), ([_TODO, _LETTER], ["", ""])])
async def test_subjects_that_only_employees_write_are_in_later_prompts(desk: Desk, rows: Any, labels: list[str]) -> None:
    """«activity:1503 ""» had to be read again to know which is the call; a letter's subject is anybody's."""
    desk.wire.instead = {"crm.activity.list": httpx.Response(200, json={"result": rows, "total": len(rows)})}
    found = await columns(desk, "crm.activity.list", {"filter": {"RESPONSIBLE_ID": VERA.bitrix_user_id}})
    assert [row.label for row in found.table.rows] == [row["SUBJECT"] for row in rows]
    table = found.table.model_copy(update={"place": "1.1"})
    (kept,) = collect_shown_lists(TurnEnd(reason="answered", reply=Reply(parts=(table,))), session="tg:7", mask=str)
    assert [row.label for row in kept.rows] == labels


@pytest.mark.parametrize("select", [[], ["ID", "SUBJECT"]])
async def test_activities_name_the_records_on_which_they_stand(desk: Desk, select: list[str]) -> None:
    """«412» said nothing; of a record that the person may not see only its number stays."""
    params = {"filter": {"ID": [1503, 1504]}, "order": {"ID": "ASC"}, **({"select": select} if select else {})}
    outcome = await desk.wish("crm.activity.list", params)
    queries = desk.world.tools.queries
    table = (await queries["present"](outcome=outcome, actor=VERA)).table
    shown = [
        [row.cells[0] for row in (await queries["columns"](outcome=outcome, table=table, columns=["OWNER_ID"], actor=actor)).table.rows]
        for actor in (VERA, ANNA, BORIS)
    ]
    assert shown[0][0] == shown[1][0] == "Вектор: поставка станков"
    assert shown[2][0] == "№412"


async def test_activities_whose_records_cannot_be_read_keep_their_numbers(desk: Desk) -> None:
    """The list itself was read."""
    desk.wire.instead["crm.deal.get"] = desk.wire.instead["batch"] = httpx.Response(403, json={"error": "ACCESS_DENIED"})
    found = await columns(desk, "crm.activity.list", {"filter": {"ID": 1503}}, "OWNER_ID")
    assert found.table.rows[0].cells == ("№412",)
