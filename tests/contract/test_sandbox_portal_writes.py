"""The sandbox portal's writes do, and quietly do not do, what the documented vectors say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sandbox_portal_kit import Caller, in_process

DEAL = {"entityTypeId": 2, "id": 410}
CONTACT = {"entityTypeId": 3, "id": 43}


async def _phones(portal: Caller) -> list[tuple[str, str]]:
    contact = await portal.result("crm.contact.get", {"id": 43})
    return [(phone["ID"], phone["VALUE"]) for phone in contact.get("PHONE", [])]


async def _events(portal: Caller) -> list[str]:
    """What was sent to the handlers, as soon as there is something."""
    async with asyncio.timeout(5):
        while True:
            lines = (await portal.http.get("/sandbox/changes")).json()["changes"]
            if events := [line["event"] for line in lines if line["kind"] == "event"]:
                return events
            await asyncio.sleep(0.005)


async def test_an_add_never_dedupes_and_drops_unknown_fields() -> None:
    """Two equal adds make two deals with defaults; a field that does not exist vanishes (vector 12)."""
    async with in_process() as portal:
        fields = {"TITLE": "A", "OPPORTUNITY": 100, "NOPE": 1, "ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1"}
        first = await portal.result("crm.deal.add", {"fields": fields})
        second = await portal.result("crm.deal.add", {"fields": fields})
        assert isinstance(first, int)
        assert first != second
        deal = await portal.result("crm.deal.get", {"id": first})
        assert (deal["OPPORTUNITY"], deal["STAGE_ID"], deal["CATEGORY_ID"]) == ("100.00", "NEW", "0")
        assert (deal["ASSIGNED_BY_ID"], deal["CLOSED"], deal["OPENED"]) == ("1", "N", "Y")
        assert deal["CLOSEDATE"] == "2026-11-28T03:00:00+03:00"
        assert "NOPE" not in deal
        mine = await portal.call("crm.deal.list", {"filter": {"ORIGINATOR_ID": "sdelka", "ORIGIN_ID": "e1"}})
        assert mine["total"] == 2


@pytest.mark.parametrize(("kind", "title"), [("deal", "Сделка #"), ("lead", "Лид #"), ("company", "Компания #")])
async def test_a_record_without_a_title_is_called_by_its_number(kind: str, title: str) -> None:
    """The default name carries the id."""
    async with in_process() as portal:
        number = await portal.result(f"crm.{kind}.add", {"fields": {}})
        assert (await portal.result(f"crm.{kind}.get", {"id": number}))["TITLE"] == f"{title}{number}"


REFUSED: list[tuple[str, str, Any, str, str]] = [
    ("13 fields", "crm.deal.add", {"fields": "x"}, "", "Parameter 'fields' must be array."),
    ("contact update", "crm.contact.update", {"id": 9999, "fields": {}}, "", "Contact is not found"),
    ("contact delete", "crm.contact.delete", {"id": 9999}, "ERROR_CORE", "Contact is not found"),
    ("company delete", "crm.company.delete", {"id": 9999}, "", "Company is not found"),
    ("e-mail", "crm.contact.update", {"id": 43, "fields": {"EMAIL": [{"VALUE": "x"}]}}, "ERROR_CORE", "e-mail"),
    ("foreign stage", "crm.item.update", {**DEAL, "fields": {"stageId": "C1:NEW"}}, "CRM_FIELD_ERROR_VALUE_NOT_VALID", ""),
    ("date", "crm.item.update", {**DEAL, "fields": {"closedate": "soon"}}, "CRM_FIELD_ERROR_VALUE_NOT_VALID", ""),
    ("no fields", "crm.item.update", DEAL, "100", "fields"),
    ("23 no deadline", "crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 410}, "100", "deadline"),
    (
        "23 bad date",
        "crm.activity.todo.add",
        {"ownerTypeId": 2, "ownerId": 410, "deadline": "завтра"},
        "WRONG_DATETIME_FORMAT",
        "",
    ),
    (
        "23 no owner",
        "crm.activity.todo.add",
        {"ownerTypeId": 2, "ownerId": 999999, "deadline": "2026-12-01"},
        "OWNER_NOT_FOUND",
        "",
    ),
    (
        "24 upper case",
        "crm.timeline.comment.add",
        {"FIELDS": {"ENTITY_ID": 410, "ENTITY_TYPE": "deal", "COMMENT": "hi"}},
        "100",
        "fields",
    ),
    (
        "24 empty",
        "crm.timeline.comment.add",
        {"fields": {"ENTITY_ID": 410, "ENTITY_TYPE": "deal", "COMMENT": ""}},
        "INVALID_ARG_VALUE",
        "",
    ),
    ("25 no title", "tasks.task.add", {"fields": {"RESPONSIBLE_ID": 1}}, "ERROR_CORE", "<br>"),
    ("25 no fields", "tasks.task.add", {}, "100", "fields"),
    ("task update", "tasks.task.update", {"taskId": 999999, "fields": {"TITLE": "x"}}, "0", ""),
    ("task delete", "tasks.task.delete", {"taskId": 999999}, "1048582", ""),
    ("notice", "im.notify", {"USER_ID": 7, "MESSAGE": ""}, "MESSAGE_EMPTY", ""),
    ("rows", "crm.item.productrow.set", {"ownerType": "D", "ownerId": 999999, "productRows": []}, "OWNER_NOT_FOUND", ""),
]


@pytest.mark.parametrize(("method", "params", "code", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
async def test_a_refused_write_is_400_and_changes_nothing(method: str, params: Any, code: str, text: str) -> None:
    """Every refusal of the table has its code and leaves the records alone."""
    async with in_process() as portal:
        answer = await portal.send(method, params)
        assert (answer.status_code, answer.json()["error"]) == (400, code)
        assert text in answer.json()["error_description"]
        (row,) = await portal.ledger()
        assert (row["outcome"], row["applied"]) == (code, False)


async def test_a_foreign_stage_is_ignored_with_a_success() -> None:
    """crm.deal.update answers true and leaves stage and funnel (vector 14)."""
    async with in_process() as portal:
        fields = {"STAGE_ID": "C1:NEW", "CATEGORY_ID": 1}
        assert await portal.result("crm.deal.update", {"id": 410, "fields": fields}) is True
        deal = await portal.result("crm.deal.get", {"id": 410})
        assert (deal["STAGE_ID"], deal["CATEGORY_ID"]) == ("PREPARATION", "0")


async def test_moving_to_another_funnel_is_its_own_event() -> None:
    """crm.item.update moves the deal: one history row of type 5, the event of a move and no update (vector 15)."""
    async with in_process() as portal:
        hook = {"handler": "http://127.0.0.1:9/", "events": ["ONCRMDEALUPDATE", "ONCRMDEALMOVETOCATEGORY"]}
        await portal.http.post("/sandbox/outgoing", json=hook)
        moved = await portal.result("crm.item.update", {**DEAL, "fields": {"categoryId": 1, "stageId": "C1:NEW"}})
        assert (moved["item"]["categoryId"], moved["item"]["stageId"]) == (1, "C1:NEW")
        history = await portal.result("crm.stagehistory.list", {"entityTypeId": 2, "filter": {"OWNER_ID": 410}})
        assert [row["TYPE_ID"] for row in history["items"]] == [1, 5]
        assert await _events(portal) == ["ONCRMDEALMOVETOCATEGORY"]


async def test_a_universal_save_without_a_difference_is_skipped() -> None:
    """Identical values leave updatedTime and raise nothing (vector 16)."""
    async with in_process() as portal:
        before = (await portal.result("crm.item.get", DEAL))["item"]
        assert portal.clock is not None
        portal.clock.move(hours=1)
        after = await portal.result("crm.item.update", {**DEAL, "fields": {"opportunity": 1000000, "TITLE": "x"}})
        assert after["item"] == before
        assert (await portal.ledger("crm.item.update"))[0]["applied"] is False


async def test_deleting_twice_says_not_found() -> None:
    """The old delete gives true, then 400; the universal one gives an empty list (vector 17)."""
    async with in_process() as portal:
        assert await portal.result("crm.deal.delete", {"id": 411}) is True
        assert (await portal.call("crm.deal.delete", {"id": 411}))["error_description"] == "Not found"
        assert await portal.result("crm.item.delete", DEAL) == []
        comments = await portal.call("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 410, "ENTITY_TYPE": "deal"}})
        assert comments["total"] == 0


async def test_phones_in_the_old_form() -> None:
    """ID without VALUE removes, ID with VALUE edits, no ID adds each time (vector 18)."""
    async with in_process() as portal:
        assert [number for number, _ in await _phones(portal)] == ["156", "157"]
        await portal.result("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": 156}]}})
        assert [number for number, _ in await _phones(portal)] == ["157"]
        for _ in range(2):
            new = {"PHONE": [{"VALUE": "+7", "VALUE_TYPE": "WORK"}]}
            await portal.result("crm.contact.update", {"id": 43, "fields": new})
        await portal.result("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": "157", "VALUE": "+8"}]}})
        assert [value for _, value in await _phones(portal)] == ["+8", "+7", "+7"]


@pytest.mark.parametrize(
    ("fm", "phones"),
    [
        ({"157": {"valueType": "WORK", "value": "+7"}}, 2),
        ({"157": {"typeId": "PHONE", "valueType": "WORK", "value": ""}}, 1),
        ({"n0": {"typeId": "PHONE", "valueType": "WORK", "value": "+7"}}, 3),
        ({"99999": {"typeId": "PHONE", "valueType": "WORK", "value": "+7"}}, 3),
        ([{"typeId": "PHONE", "valueType": "WORK", "value": "+7"}], 3),
        ("+7", 2),
    ],
)
async def test_phones_in_the_universal_form(fm: Any, phones: int) -> None:
    """A list adds, an element without typeId and a string do nothing (vector 19)."""
    async with in_process() as portal:
        await portal.result("crm.item.update", {**CONTACT, "fields": {"fm": fm}})
        assert len(await _phones(portal)) == phones


async def test_todos_comments_and_tasks_have_their_life() -> None:
    """A to-do, a comment and a task go from birth to end with the documented shapes (vectors 23-27)."""
    async with in_process() as portal:
        owner = {"ownerTypeId": 2, "ownerId": 410}
        todo = await portal.result("crm.activity.todo.add", {**owner, "deadline": "2026-12-01T10:00:00+03:00", "title": "x"})
        number = todo["id"]
        new_time = {**owner, "id": number, "value": "2026-12-02 15:00:00"}
        assert await portal.result("crm.activity.todo.updateDeadline", new_time) == {"id": number}
        shown = await portal.result("crm.activity.get", {"id": number})
        assert (shown["SUBJECT"], shown["DEADLINE"]) == ("x", "2026-12-02T15:00:00+03:00")
        await portal.result("crm.activity.update", {"id": number, "fields": {"COMPLETED": "Y"}})
        assert (await portal.call("crm.activity.todo.updateDeadline", new_time))["error"] == ("CAN_NOT_UPDATE_COMPLETED_TODO")
        nowhere = {"ENTITY_ID": 999999, "ENTITY_TYPE": "deal", "COMMENT": "hi"}
        assert isinstance(await portal.result("crm.timeline.comment.add", {"fields": nowhere}), int)
        fields = {"ENTITY_ID": 410, "ENTITY_TYPE": "deal", "COMMENT": "hi"}
        comment = await portal.result("crm.timeline.comment.add", {"fields": fields})
        assert isinstance(comment, int)
        assert (await portal.result("crm.timeline.comment.get", {"id": comment}))["COMMENT"] == "hi"
        assert await portal.result("crm.timeline.comment.delete", {"id": comment}) is None
        task = (await portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 1}}))["task"]
        assert (task["status"], task["deadline"], task["responsible"]["name"]) == ("2", None, "Ольга Романова")
        assert isinstance(task["id"], str)
        done = await portal.result("tasks.task.complete", {"taskId": task["id"]})
        assert done["task"]["status"] == "5"
        again = await portal.send("tasks.task.complete", {"taskId": task["id"]})
        assert again.status_code == 400
        assert again.json() == {"error": "0", "error_description": "Action on the task is not allowed"}


async def test_product_rows_replace_each_other_and_own_the_sum() -> None:
    """A set replaces all rows; the sum follows them, and a written sum is lost unless it is manual."""
    async with in_process() as portal:
        rows = [{"PRODUCT_NAME": "Станок", "PRICE": 150.5, "QUANTITY": 2}, {"PRODUCT_NAME": "Доставка", "PRICE": 9}]
        for _ in range(2):
            assert await portal.result("crm.deal.productrows.set", {"id": 410, "rows": rows}) is True
        shown = await portal.result("crm.deal.productrows.get", {"id": 410})
        assert [row["PRICE"] for row in shown] == ["150.50", "9.00"]
        await portal.result("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 5}})
        assert (await portal.result("crm.deal.get", {"id": 410}))["OPPORTUNITY"] == "310.00"
        await portal.result("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 5, "IS_MANUAL_OPPORTUNITY": "Y"}})
        assert (await portal.result("crm.deal.get", {"id": 410}))["OPPORTUNITY"] == "5.00"


async def test_the_feed_tells_who_changed_what() -> None:
    """A call is one line with its changes; an edit in the pages is a change of nobody and no call."""
    async with in_process() as portal:
        await portal.result("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 1200000}})
        await portal.http.patch("/sandbox/records/deal/410", json={"OPPORTUNITY": 1300000})
        lines = (await portal.http.get("/sandbox/changes")).json()["changes"]
        assert [line["seq"] for line in lines] == sorted({line["seq"] for line in lines})
        assert [line["kind"] for line in lines] == ["call", "change", "change"]
        assert lines[0]["applied"] is True
        shown = [(c["before"]["OPPORTUNITY"], c["after"]["OPPORTUNITY"], c["by"], c["source"]) for c in lines[1:]]
        assert shown == [(1000000, 1200000, 1, "rest"), (1200000, 1300000, None, "ui")]
        assert len(await portal.ledger()) == 1
        await portal.http.post("/sandbox/reset")
        assert (await portal.result("crm.deal.get", {"id": 410}))["OPPORTUNITY"] == "1000000.00"
