"""The sandbox portal's writes beyond the numbered vectors: refusals, phones, lives of to-dos and tasks, product rows, the feed."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.sandbox_portal_kit import Caller

DEAL = {"entityTypeId": 2, "id": 410}
CONTACT = {"entityTypeId": 3, "id": 43}


@pytest.mark.parametrize(("kind", "title"), [("deal", "Сделка #"), ("lead", "Лид #"), ("company", "Компания #")])
async def test_a_record_without_a_title_is_called_by_its_number(portal: Caller, kind: str, title: str) -> None:
    """The default name carries the id."""
    number = await portal.result(f"crm.{kind}.add", {"fields": {}})
    assert (await portal.result(f"crm.{kind}.get", {"id": number}))["TITLE"] == f"{title}{number}"


REFUSED: list[tuple[str, str, Any, str, str]] = [
    ("contact update", "crm.contact.update", {"id": 9999, "fields": {}}, "", "Contact is not found"),
    ("contact delete", "crm.contact.delete", {"id": 9999}, "ERROR_CORE", "Contact is not found"),
    ("company delete", "crm.company.delete", {"id": 9999}, "", "Company is not found"),
    ("e-mail", "crm.contact.update", {"id": 43, "fields": {"EMAIL": [{"VALUE": "x"}]}}, "ERROR_CORE", "e-mail"),
    ("foreign stage", "crm.item.update", {**DEAL, "fields": {"stageId": "C1:NEW"}}, "CRM_FIELD_ERROR_VALUE_NOT_VALID", ""),
    ("date", "crm.item.update", {**DEAL, "fields": {"closedate": "soon"}}, "CRM_FIELD_ERROR_VALUE_NOT_VALID", ""),
    ("no fields", "crm.item.update", DEAL, "100", "fields"),
    ("no owner", "crm.activity.todo.add", {"ownerTypeId": 2, "ownerId": 999999, "deadline": "2026-12-01"}, "OWNER_NOT_FOUND", ""),
    ("task update", "tasks.task.update", {"taskId": 999999, "fields": {"TITLE": "x"}}, "0", ""),
    ("task delete", "tasks.task.delete", {"taskId": 999999}, "1048582", ""),
    ("notice", "im.notify", {"USER_ID": 7, "MESSAGE": ""}, "MESSAGE_EMPTY", ""),
    ("rows", "crm.item.productrow.set", {"ownerType": "D", "ownerId": 999999, "productRows": []}, "OWNER_NOT_FOUND", ""),
]


@pytest.mark.parametrize(("method", "params", "code", "text"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
async def test_a_refused_write_is_400_and_changes_nothing(portal: Caller, method: str, params: Any, code: str, text: str) -> None:
    """Every refusal of the table has its code and leaves the records alone."""
    answer = await portal.send(method, params)
    assert (answer.status_code, answer.json()["error"]) == (400, code)
    assert text in answer.json()["error_description"]
    (row,) = await portal.ledger()
    assert (row["outcome"], row["applied"]) == (code, False)


@pytest.mark.parametrize(
    ("fm", "values"),
    [
        ({"157": {"typeId": "PHONE", "valueType": "WORK", "value": ""}}, ["+7 495 555-10-00"]),
        ({"157": {"typeId": "PHONE", "valueType": "WORK", "value": "+8"}}, ["+7 495 555-10-00", "+8"]),
        ({"n0": {"typeId": "PHONE", "valueType": "WORK", "value": "+7"}}, ["+7 495 555-10-00", "+7 916 555-20-00", "+7"]),
        ({"99999": {"typeId": "PHONE", "valueType": "WORK", "value": "+7"}}, ["+7 495 555-10-00", "+7 916 555-20-00", "+7"]),
        ("+7", ["+7 495 555-10-00", "+7 916 555-20-00"]),
    ],
)
async def test_phones_in_the_universal_form(portal: Caller, fm: Any, values: list[str]) -> None:
    """An empty value removes, a number edits, a new or unknown key adds, a string does nothing."""
    await portal.result("crm.item.update", {**CONTACT, "fields": {"fm": fm}})
    contact = await portal.result("crm.contact.get", {"id": 43})
    assert [phone["VALUE"] for phone in contact["PHONE"]] == values


async def test_a_phone_of_the_old_form_is_edited_by_its_id(portal: Caller) -> None:
    """ID with VALUE edits and the rest stays."""
    await portal.result("crm.contact.update", {"id": 43, "fields": {"PHONE": [{"ID": "157", "VALUE": "+8"}]}})
    contact = await portal.result("crm.contact.get", {"id": 43})
    assert [phone["VALUE"] for phone in contact["PHONE"]] == ["+7 495 555-10-00", "+8"]


async def test_a_todo_ends_and_a_comment_may_hang_nowhere(portal: Caller) -> None:
    """A completed to-do cannot be moved; a comment to a deal that is not there still gets a number; a deleted deal takes its own along."""
    owner = {"ownerTypeId": 2, "ownerId": 410}
    number = (await portal.result("crm.activity.todo.add", {**owner, "deadline": "2026-12-01"}))["id"]
    new_time = {**owner, "id": number, "value": "2026-12-02 15:00:00"}
    assert await portal.result("crm.activity.todo.updateDeadline", new_time) == {"id": number}
    assert (await portal.result("crm.activity.get", {"id": number}))["DEADLINE"] == "2026-12-02T15:00:00+03:00"
    await portal.result("crm.activity.update", {"id": number, "fields": {"COMPLETED": "Y"}})
    assert (await portal.call("crm.activity.todo.updateDeadline", new_time))["error"] == "CAN_NOT_UPDATE_COMPLETED_TODO"
    nowhere = {"ENTITY_ID": 999999, "ENTITY_TYPE": "deal", "COMMENT": "hi"}
    assert isinstance(await portal.result("crm.timeline.comment.add", {"fields": nowhere}), int)
    await portal.result("crm.item.delete", DEAL)
    comments = await portal.call("crm.timeline.comment.list", {"filter": {"ENTITY_ID": 410, "ENTITY_TYPE": "deal"}})
    assert comments["total"] == 0
    task = (await portal.result("tasks.task.add", {"fields": {"TITLE": "t", "RESPONSIBLE_ID": 1}}))["task"]
    assert task["responsible"]["name"] == "Ольга Романова"


async def test_product_rows_replace_each_other_and_own_the_sum(portal: Caller) -> None:
    """A set replaces all rows; the sum follows them, and a written sum is lost unless it is manual."""
    rows = [{"PRODUCT_NAME": "Станок", "PRICE": 150.5, "QUANTITY": 2}, {"PRODUCT_NAME": "Доставка", "PRICE": 9}]
    for _ in range(2):
        assert await portal.result("crm.deal.productrows.set", {"id": 410, "rows": rows}) is True
    shown = await portal.result("crm.deal.productrows.get", {"id": 410})
    assert [row["PRICE"] for row in shown] == ["150.50", "9.00"]
    await portal.result("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 5}})
    assert (await portal.result("crm.deal.get", {"id": 410}))["OPPORTUNITY"] == "310.00"
    await portal.result("crm.deal.update", {"id": 410, "fields": {"OPPORTUNITY": 5, "IS_MANUAL_OPPORTUNITY": "Y"}})
    assert (await portal.result("crm.deal.get", {"id": 410}))["OPPORTUNITY"] == "5.00"


async def test_the_feed_tells_who_changed_what(portal: Caller) -> None:
    """A call is one line with its changes; an edit in the pages is a change of nobody and no call."""
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
