"""The sandbox portal's smaller reads: currencies, people's zones, links, requisites, goods, calls, calendars, the records of tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.sandbox_portal_kit import Caller, in_process

Check = Callable[[Any], bool]


def _error(code: Any, text: str = "") -> Check:
    return lambda b: b["error"] == code and text in b["error_description"] and "result" not in b


def _column(name: str, *values: Any) -> Check:
    return lambda b: [row[name] for row in b["result"]] == list(values)


PRODUCTS = {"select": ["id", "iblockId", "name", "vatId", "detailText"], "filter": {"iblockId": 23}}
READS: list[tuple[str, str, Any, int, Check]] = [
    (
        "currencies",
        "crm.currency.list",
        {},
        200,
        lambda b: [(r["CURRENCY"], r["FORMAT_STRING"], r["DEC_POINT"], r["THOUSANDS_SEP"], r["DECIMALS"], r["LID"]) for r in b["result"]]
        == [
            ("RUB", "# &#8381;", ",", "&nbsp;", "2", "ru"),
            ("USD", "# $", ",", "&nbsp;", "2", "ru"),
            ("EUR", "# &euro;", ",", "&nbsp;", "2", "ru"),
        ]
        and b["total"] == 0
        and [r["BASE"] for r in b["result"]] == ["Y", "N", "N"],
    ),
    ("currencies in order", "crm.currency.list", {"order": {"currency": "asc"}}, 200, _column("CURRENCY", "EUR", "RUB", "USD")),
    (
        "one currency",
        "crm.currency.get",
        {"id": "USD"},
        200,
        lambda b: b["result"]["AMOUNT_CNT"] == "1"
        and b["result"]["LANG"]["en"].items() >= {"FORMAT_STRING": "$#", "THOUSANDS_SEP": ",", "THOUSANDS_VARIANT": "C"}.items(),
    ),
    ("no such currency", "crm.currency.get", {"id": "usd"}, 400, _error("", "Not found")),
    ("base currency", "crm.currency.base.get", {}, 200, lambda b: b["result"] == "RUB"),
    ("zones", "user.get", {"ID": [1, 7, 8]}, 200, _column("TIME_ZONE", "", "Europe/Moscow", "Asia/Yekaterinburg")),
    ("a department's people", "user.get", {"FILTER": {"UF_DEPARTMENT": 3, "ACTIVE": True}}, 200, _column("ID", "6", "7", "8")),
    ("a department's head", "department.get", {"ID": 3}, 200, _column("UF_HEAD", "6")),
    ("companies of a contact", "crm.contact.company.items.get", {"id": 43}, 200,
     lambda b: b["result"] == [{"COMPANY_ID": 21, "SORT": 100, "ROLE_ID": 0, "IS_PRIMARY": "Y"}]),
    ("contacts of a company", "crm.company.contact.items.get", {"id": 21}, 200, _column("CONTACT_ID", 43, 58, 73)),
    ("primary contact", "crm.company.contact.items.get", {"id": 21}, 200, _column("IS_PRIMARY", "Y", "N", "N")),
    ("of no company", "crm.company.contact.items.get", {"id": 0}, 400, _error("", "ownerEntityID is invalid")),
    ("binding", "crm.activity.binding.list", {"activityId": 1501}, 200, lambda b: b["result"] == [{"entityTypeId": 2, "entityId": 410}]),
    ("binding of nothing", "crm.activity.binding.list", {"activityId": 9}, 400, _error("NOT_FOUND")),
    ("binding without a number", "crm.activity.binding.list", {}, 400, _error("100")),
    ("requisites", "crm.requisite.list", {"filter": {"ENTITY_TYPE_ID": 4, "ENTITY_ID": 22}}, 200, _column("RQ_INN", "7800000024")),
    ("requisites selected", "crm.requisite.list", {"filter": {"ID": 61}, "select": ["RQ_KPP"]}, 200,
     lambda b: b["result"] == [{"ID": "61", "RQ_KPP": "770001001"}]),
    ("one requisite", "crm.requisite.get", {"id": 61}, 200,
     lambda b: (b["result"]["ENTITY_ID"], b["result"]["DATE_MODIFY"], b["result"]["RQ_OKPO"]) == ("21", "", None)),
    ("no such requisite", "crm.requisite.get", {"id": 27}, 400, _error("", "The Requisite with ID '27' is not found")),
    ("VAT", "crm.vat.list", {"order": {"ID": "ASC"}, "select": ["ID", "RATE"]}, 200,
     lambda b: b["result"] == [{"ID": "1", "RATE": None}, {"ID": "3", "RATE": "20.00"}, {"ID": "5", "RATE": "10.00"}] and b["total"] == 3),
    ("VAT of an unknown field", "crm.vat.list", {"select": ["NOPE"]}, 400, _error("Inadmissible fields for selection")),
    ("goods", "catalog.product.list", PRODUCTS | {"order": {"id": "desc"}}, 200,
     lambda b: b["result"]["products"][0] == {"id": 1207, "iblockId": 23, "name": "Бумага офисная A4, пачка", "vatId": 3, "detailText": None}
     and b["total"] == 4),
    ("goods by name", "catalog.product.list", PRODUCTS | {"filter": {"iblockId": 23, "%name": "кабель"}}, 200, lambda b: b["total"] == 1),
    ("catalogues", "catalog.catalog.list", {}, 200, lambda b: [one["iblockId"] for one in b["result"]["catalogs"]] == [23]),
    ("goods of no block", "catalog.product.list", PRODUCTS | {"filter": {}}, 400, _error(0, "Required filter fields: iblockId")),
    ("goods of another block", "catalog.product.list", PRODUCTS | {"filter": {"iblockId": 1}}, 400, _error(200040300000)),
    ("one of the goods", "catalog.product.get", {"id": 1205}, 200, lambda b: b["result"]["product"]["name"] == "Насос циркуляционный"),
    ("no such goods", "catalog.product.get", {"id": 9}, 400, _error(200040300010)),
    ("prices", "catalog.price.list", {"filter": {"productId": 1205}}, 200, lambda b: [one["price"] for one in b["result"]["prices"]] == [12400]),
    ("prices of several", "catalog.price.list", {"filter": {"@productId": [1201, 1205]}}, 200, lambda b: b["total"] == 2),
    ("goods unselected", "catalog.product.list", {"filter": {"iblockId": 23}}, 400, _error(0, "Required select fields: id, iblockId")),
    ("templates", "crm.documentgenerator.template.list", {"order": {"id": "desc"}}, 200,
     lambda b: list(b["result"]["templates"]) == ["3", "2", "1"] and "users" not in b["result"]["templates"]["1"] and b["total"] == 3),
    ("templates of contracts", "crm.documentgenerator.template.list",
     {"filter": {"entityTypeId": "177_category_10"}, "select": ["id", "entityTypeId", "users"]}, 200,
     lambda b: b["result"]["templates"]["2"].items() >= {"entityTypeId": ["2_category_0", "177_category_10"], "users": ["UA"]}.items()
     and "active" not in b["result"]["templates"]["2"]),
    ("no templates", "crm.documentgenerator.template.list", {"filter": {"isDeleted": "Y"}}, 200, lambda b: b["result"]["templates"] == []),
    ("calls", "voximplant.statistic.get", {"FILTER": {">CALL_DURATION": 0}, "SORT": "ID", "ORDER": "DESC"}, 200, _column("ID", "3", "1")),
    ("missed calls", "voximplant.statistic.get", {"FILTER": {"CALL_FAILED_CODE": "304"}}, 200, _column("PORTAL_USER_ID", "7")),
    ("my calendar", "calendar.section.get", {"type": "user"}, 200, lambda b: [(s["OWNER_ID"], s["PERM"]["edit"]) for s in b["result"]] == [("1", True)]),
    ("a group's calendar of nobody", "calendar.section.get", {"type": "group"}, 400,
     _error("", 'The required parameter "ownerId" for the method "calendar.section.get" is not set')),
    ("event without a number", "calendar.event.getbyid", {}, 400, _error("", '"id"')),
    ("busy: whom", "calendar.accessibility.get", {"from": "2026-11-23", "to": "2026-11-23"}, 400, _error("", '"users"')),
    ("history of nothing", "tasks.task.history.list", {"taskId": 999}, 200, lambda b: b["result"] == {"list": []}),
    ("history without a number", "tasks.task.history.list", {}, 400, _error("100")),
    ("history of words", "tasks.task.history.list", {"taskId": "x"}, 400, _error("0", "wrong task id")),
    ("time on nothing", "task.elapseditem.add", {"TASKID": 999, "ARFIELDS": {"SECONDS": 5}}, 400, _error("ERROR_CORE", "#1;")),
    ("a comment on nothing", "task.commentitem.add", {"TASKID": 999, "FIELDS": {"POST_MESSAGE": "а"}}, 400, _error("ERROR_CORE", "#256;")),
    ("a comment without words", "task.commentitem.add", {"TASKID": 8017, "FIELDS": {}}, 400, _error("ERROR_CORE", "#256;")),
    ("no time", "task.elapseditem.add", {"TASKID": 8017, "ARFIELDS": {"COMMENT_TEXT": "а"}}, 400, _error("ERROR_CORE", "#256;")),
]  # fmt: skip


async def test_each_read_gives_the_documented_answer(portal: Caller) -> None:
    """Status and body of every row of the table."""
    for name, method, params, status, check in READS:
        answer = await portal.send(method, params)
        assert answer.status_code == status, (name, answer.text)
        assert check(answer.json()), (name, answer.text)


async def test_an_event_is_read_by_number_and_makes_its_people_busy() -> None:
    """The owner and the invited are busy on that day and no other; times come with their UTC stamp."""
    event = {"type": "user", "ownerId": 7, "name": "Встреча", "section": 107, "attendees": [7, 8], "is_meeting": "Y"}
    event |= {"from": "2026-11-23T23:00:00+03:00", "to": "2026-11-23T23:30:00+03:00"}
    async with in_process() as portal:
        number = await portal.result("calendar.event.add", event)
        shown = await portal.result("calendar.event.getbyid", {"id": number})
        expected = {"NAME": "Встреча", "DATE_FROM": "23.11.2026 23:00:00", "DATE_FROM_TS_UTC": "1795464000", "DT_LENGTH": 1800}
        assert (
            shown.items()
            >= (expected | {"ATTENDEES_CODES": ["U7", "U8"], "OWNER_ID": "7", "SECTION_ID": "107", "IS_MEETING": True}).items()
        )
        days = {"users": [7, 8, 9], "from": "2026-11-23", "to": "2026-11-23"}
        busy = await portal.result("calendar.accessibility.get", days)
        assert {user: [row["ID"] for row in rows] for user, rows in busy.items()} == {"7": [str(number)], "8": [str(number)], "9": []}
        assert not any((await portal.result("calendar.accessibility.get", days | {"from": "2026-11-24", "to": "2026-11-25"})).values())


async def test_a_colleagues_calendar_cannot_be_edited(portal: Caller) -> None:
    """Times and names are open, the rest is the owner's and the administrator's."""
    answer = (await portal.send("calendar.section.get", {"type": "user", "ownerId": 7}, "/rest/8/sandbox/")).json()
    assert answer["result"][0]["PERM"].items() >= {"view_title": True, "view_full": False, "edit": False}.items()


async def test_a_comment_on_a_task_is_listed_and_goes_with_it(portal: Caller) -> None:
    """As the tasks module did it before 25.700.0."""
    number = await portal.result("task.commentitem.add", {"TASKID": 8017, "FIELDS": {"POST_MESSAGE": "Созвонились"}})
    (comment,) = await portal.result("task.commentitem.getlist", {"TASKID": 8017})
    assert (comment["ID"], comment["POST_MESSAGE"]) == (str(number), "Созвонились")
    assert (await portal.result("tasks.task.get", {"taskId": 8017}))["task"]["commentsCount"] == "1"
    await portal.result("tasks.task.delete", {"taskId": 8017})
    assert await portal.result("task.commentitem.getlist", {"TASKID": 8017}) == []


@pytest.mark.parametrize(
    "arguments", [{"TASKID": 8017, "ARFIELDS": {"SECONDS": 600, "COMMENT_TEXT": "Звонок"}}, {"0": 8017, "1": {"SECONDS": "600"}}]
)
async def test_time_spent_and_changes_are_in_the_history_of_a_task(portal: Caller, arguments: Any) -> None:
    """Newest first unless asked otherwise; what was before and after, and who did it."""
    number = await portal.result("task.elapseditem.add", arguments)
    (spent,) = await portal.result("task.elapseditem.getlist", {"TASKID": 8017})
    assert (spent["ID"], spent["SECONDS"], spent["MINUTES"]) == (str(number), "600", "10")
    await portal.result("tasks.task.update", {"taskId": 8017, "fields": {"RESPONSIBLE_ID": 8, "PRIORITY": 2}})
    await portal.result("task.checklistitem.add", {"TASKID": 8017, "FIELDS": {"TITLE": "Пункт"}})
    lines = (await portal.result("tasks.task.history.list", {"taskId": 8017}))["list"]
    assert [(line["field"], line["value"]["from"], line["value"]["to"]) for line in lines] == [
        ("CHECKLIST_ITEM_CREATE", "", "Пункт"),
        ("RESPONSIBLE_ID", "7", "8"),
        ("PRIORITY", "1", "2"),
        ("TIME_SPENT_IN_LOGS", "0", "600"),
        ("NEW", None, None),
    ]
    assert lines[0]["user"].items() >= {"id": 1, "lastName": "Романова"}.items()
    some = await portal.result("tasks.task.history.list", {"taskId": 8017, "filter": {"FIELD": "PRIORITY"}, "order": {"id": "asc"}})
    assert [line["field"] for line in some["list"]] == ["PRIORITY"]
