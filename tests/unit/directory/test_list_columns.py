"""The columns of a list that the model asked for: named and formatted by code over the sandbox portal, whatever the call had selected."""

from typing import Any

import httpx
import pytest

from bot.i18n.translate import Translator
from bot.rendering.files import build_sheet
from bot.rendering.spans import to_plain_text
from bot.rendering.tables import render_table
from orchestrator.directory.answers import ColumnedTable
from orchestrator.domain.effect import Outcome
from tests.unit.gate.sandbox_kit import Desk
from tests.unit.spine_kit import VERA

OWN = ("UF_CRM_1747310101", "UF_CRM_1747310102", "UF_CRM_1747310104")
DEALS = {"filter": {">UF_CRM_1747310101": 0}, "select": ["ID", "TITLE"], "order": {"ID": "ASC"}}


async def columns(desk: Desk, method: str, params: dict[str, Any], *asked: str) -> ColumnedTable:
    """The list that the call reads, with these columns."""
    outcome = await desk.wish(method, params)
    assert outcome.status == "succeeded", outcome
    queries = desk.world.tools.queries
    seen = await queries["present"](outcome=outcome, actor=VERA)
    found = await queries["columns"](outcome=outcome, table=seen.table, columns=asked, actor=VERA)
    assert isinstance(found, ColumnedTable)
    return found


async def test_columns_are_named_and_formatted_by_code(desk: Desk) -> None:
    """Stage and people by name, money with its currency, days as people write them, in both spellings of a name."""
    found = await columns(
        desk, "crm.deal.list", {"order": {"ID": "ASC"}}, "OPPORTUNITY", "stageId", "ASSIGNED_BY_ID", "CLOSEDATE", "COMPANY_ID"
    )
    assert found.unknown == ()
    assert found.table.columns == ("Сумма", "Стадия", "Ответственный", "Дата завершения", "Компания")
    row = next(row for row in found.table.rows if row.target == "deal:481")
    said = " · ".join(row.cells)
    assert "₽" in row.cells[0]
    assert not any(code in said for code in ("C1:", "NEW", "T00:00", "RUB", "None"))
    assert all(cell and not cell.isdecimal() for cell in row.cells[1:])


async def test_fields_that_the_call_did_not_read_are_read_once_more(desk: Desk) -> None:
    """Own fields by their titles, with the names of their options; one request for all rows."""
    desk.wire.sent.clear()
    found = await columns(desk, "crm.deal.list", DEALS, *OWN)
    assert found.table.columns == ("Способ доставки", "Предоплата", "Технический специалист")
    assert found.table.rows
    assert all(not cell.isdecimal() and "|" not in cell for row in found.table.rows for cell in row.cells)
    assert [method for method, _ in desk.wire.sent].count("crm.deal.list") == 2


async def test_a_field_that_does_not_exist_is_no_column(desk: Desk) -> None:
    """It is told apart, and the other columns are shown; an own field is never taken for a similar one."""
    found = await columns(desk, "crm.deal.list", {}, "НЕТ_ТАКОГО", "UF_CRM_174731010_1", "OPPORTUNITY", "WRONG")
    assert found.table.columns == ("Сумма",)
    assert found.unknown == ("НЕТ_ТАКОГО", "UF_CRM_174731010_1", "WRONG")


async def test_a_portal_that_stops_answering_leaves_the_list(desk: Desk) -> None:
    """The list was read; what could not be read more is blank."""
    outcome = await desk.wish("crm.deal.list", DEALS)
    assert isinstance(outcome, Outcome)
    queries = desk.world.tools.queries
    seen = await queries["present"](outcome=outcome, actor=VERA)
    desk.wire.instead = dict.fromkeys(("crm.deal.list", "crm.deal.fields", "batch"), httpx.Response(403, json={"error": "ACCESS_DENIED"}))
    found = await queries["columns"](outcome=outcome, table=seen.table, columns=("OPPORTUNITY",), actor=VERA)
    assert {row.cells for row in found.table.rows} == {("—",)}
    assert len(found.table.rows) == len(seen.table.rows)


@pytest.mark.parametrize(
    ("method", "params", "asked", "titles"),
    [
        ("crm.contact.list", {}, ("PHONE", "LAST_NAME", "POST"), ("Телефон", "Должность")),
        (
            "tasks.task.list",
            {"select": ["ID", "TITLE"]},
            ("DEADLINE", "RESPONSIBLE_ID", "STATUS"),
            ("Крайний срок", "Исполнитель", "Состояние"),
        ),
        ("crm.item.list", {"entityTypeId": 2, "select": ["id", "title"]}, ("OPPORTUNITY", "STAGE_ID"), ("Сумма", "Стадия")),
        ("crm.lead.list", {"select": ["ID"]}, ("STATUS_ID", "SOURCE_ID", "DATE_CREATE"), ("Стадия", "Источник", "Создана")),
    ],
)
async def test_every_kind_of_record(
    desk: Desk, method: str, params: dict[str, Any], asked: tuple[str, ...], titles: tuple[str, ...]
) -> None:
    """In words, without codes."""
    found = await columns(desk, method, params, *asked)
    assert (found.table.columns, found.unknown) == (titles, ())
    cells = [cell for row in found.table.rows for cell in row.cells]
    assert any(cell != "—" for cell in cells)
    assert not [cell for cell in cells if "T0" in cell or ":NEW" in cell or cell in {"NEW", "WEB", "CALL"}]


async def test_a_sum_that_is_read_for_its_column_has_its_currency(desk: Desk) -> None:
    """Smart processes are read with id and title alone."""
    await desk.world.client.call("crm.deal.update", {"id": 481, "fields": {"CURRENCY_ID": "USD"}}, repeatable=False)
    params = {"entityTypeId": 2, "filter": {"id": [480, 481]}, "select": ["id", "title"]}
    found = await columns(desk, "crm.item.list", params, "OPPORTUNITY")
    assert next(row.cells[0] for row in found.table.rows if row.target == "deal:481").endswith("$")


async def test_the_message_and_the_file_have_the_columns(desk: Desk) -> None:
    """A line with the headings above the rows, in the file a column each."""
    table = (await columns(desk, "crm.deal.list", {}, "OPPORTUNITY", "STAGE_ID")).table
    said = to_plain_text(render_table(table, Translator("ru"))).splitlines()
    assert said[0] == "Сделка · Сумма · Стадия"
    assert said[1].startswith(f"1. {table.rows[0].label}")
    assert said[1].endswith(" · ".join(table.rows[0].cells))
    sheet = build_sheet(table, heading="Запись")
    assert sheet.columns == ("Сделка", "Сумма", "Стадия")
    assert build_sheet(table.model_copy(update={"heading": ""}), heading="Запись").columns[0] == "Запись"
    assert sheet.rows[0] == (table.rows[0].label, *table.rows[0].cells)


async def test_empty_fields_of_the_company_are_blank_cells(desk: Desk) -> None:
    """`false` of several values and "|RUB" say that nothing is there; a file is named by its number."""
    described = {
        "ID": {"type": "integer"},
        **{name: {"type": kind, "isDynamic": True, "formLabel": kind} for name, kind in EMPTIES.items()},
    }
    rows = [{"ID": "481", "UF_CRM_1": False, "UF_CRM_2": "|RUB", "UF_CRM_3": {"id": 12, "downloadUrl": "/rest/x?token=secret"}}]
    desk.wire.instead["crm.deal.fields"] = httpx.Response(200, json={"result": described})
    desk.wire.instead["crm.deal.list"] = httpx.Response(200, json={"result": rows, "total": 1})
    found = await columns(desk, "crm.deal.list", {"select": ["ID", *EMPTIES]}, *EMPTIES)
    assert found.table.rows[0].cells == ("—", "—", "файл №12")


EMPTIES = {"UF_CRM_1": "enumeration", "UF_CRM_2": "money", "UF_CRM_3": "file"}
