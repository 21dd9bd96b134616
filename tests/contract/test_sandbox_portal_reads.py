"""The sandbox portal's reads and writes beyond the numbered vectors: shapes, filters, phones, lives of to-dos, product rows, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.contract.sandbox_portal_kit import Caller, in_process

Check = Callable[[Any], bool]


def _error(code: str, text: str = "") -> Check:
    return lambda b: b["error"] == code and text in b["error_description"] and "result" not in b


def _page(rows: int, total: int, following: int | None) -> Check:
    return lambda b: (len(b["result"]), b["total"], b.get("next")) == (rows, total, following)


READS: list[tuple[str, str, Any, int, Check]] = [
    ("links of the old family", "crm.deal.get", {"id": 410}, 200,
     lambda b: b["result"]["LEAD_ID"] is None and "CONTACT_IDS" not in b["result"]),
    ("links and custom fields of the universal family", "crm.item.get", {"entityTypeId": 2, "id": 410}, 200,
     lambda b: b["result"]["item"]["contactIds"] == [47] and "ufCrm_1747309879" in b["result"]["item"]),
    ("a stage of regret", "crm.status.list", {"filter": {"ENTITY_ID": "DEAL_STAGE", "STATUS_ID": "APOLOGY"}, "select": ["ID"]}, 200,
     lambda b: (b["result"][0]["SEMANTICS"], b["result"][0]["EXTRA"]["SEMANTICS"]) == ("F", "apology")),
    ("from an id on, counted", "crm.lead.list", {"filter": {">=ID": "102.5", ">ID": 100}, "start": 50}, 200, _page(8, 58, None)),
    ("upper-case arguments", "crm.deal.get", {"ID": "410"}, 200, lambda b: b["result"]["STAGE_ID"] == "PREPARATION"),
    ("original UF names", "crm.item.get", {"entityTypeId": 2, "id": 410, "useOriginalUfNames": "Y"}, 200,
     lambda b: "UF_CRM_1747309879" in b["result"]["item"]),
    ("no type", "crm.item.get", {"id": 1}, 400, _error("100")),
    ("newest first", "crm.lead.list", {"order": {"ID": "DESC"}}, 200, lambda b: b["result"][0]["ID"] == "160"),
    ("newest first, counted and bounded", "crm.lead.list", {"order": {"ID": "DESC"}, "filter": {">ID": 150, "<=ID": 159}}, 200,
     lambda b: (b["result"][0]["ID"], b["result"][-1]["ID"], b["total"]) == ("159", "151", 9)),
    ("unknown filter is dropped", "crm.lead.list", {"filter": {"NOPE": 1}}, 200, _page(50, 60, 50)),
    ("dead funnel", "crm.status.list", {"filter": {"ENTITY_ID": "DEAL_STAGE_9"}}, 200, _page(0, 0, None)),
    ("several books", "crm.status.list", {"filter": {"ENTITY_ID": ["STATUS", "SOURCE"]}}, 400, _error("Invalid parameters.")),
    ("bad order", "tasks.task.list", {"order": {"nope": "ASC"}}, 400, _error("0", "Invalid sorting key")),
    ("users", "user.get", {"FILTER": {"ACTIVE": False}}, 200, lambda b: [u["ID"] for u in b["result"]] == ["11"]),
    ("user by ids", "user.get", {"ID": [7, 8]}, 200, lambda b: [u["NAME"] for u in b["result"]] == ["Борис", "Вера"]),
    ("search", "user.search", {"FIND": "анна"}, 200, lambda b: [u["ID"] for u in b["result"]] == ["6"]),
    ("classic fields", "crm.deal.fields", {}, 200,
     lambda b: b["result"]["ID"]["isReadOnly"] and b["result"]["OPPORTUNITY"]["type"] == "double"),
    ("universal fields", "crm.item.fields", {"entityTypeId": 4}, 200,
     lambda b: b["result"]["fields"]["typeId"]["upperName"] == "COMPANY_TYPE"),
    ("phones only by name", "crm.contact.list", {"filter": {"ID": 43}, "select": ["NAME", "PHONE"]}, 200,
     lambda b: [p["ID"] for p in b["result"][0]["PHONE"]] == ["156", "157"]),
    ("no phones otherwise", "crm.contact.list", {"filter": {"ID": 43}}, 200,
     lambda b: "PHONE" not in b["result"][0] and b["result"][0]["HAS_PHONE"] == "Y"),
    ("like, in, not", "crm.deal.list",
     {"filter": {"%TITLE": "вектор", "@ASSIGNED_BY_ID": [7, 8], "!ASSIGNED_BY_ID": 8}, "order": {"ID": "DESC"}}, 200,
     lambda b: [d["ID"] for d in b["result"]] == ["413", "412"]),
    ("or", "crm.item.list", {"entityTypeId": 2, "filter": {"0": {"logic": "OR", "0": {"id": 481}, "1": {"id": 410}}}, "select": ["id"]},
     200, lambda b: b["result"]["items"] == [{"id": 410}, {"id": 481}]),
    ("by sum", "crm.deal.list", {"filter": {">=OPPORTUNITY": "1000000"}, "order": {"OPPORTUNITY": "DESC"}, "select": ["ID", "OPPORTUNITY"]},
     200, lambda b: [d["OPPORTUNITY"] for d in b["result"]] == ["2400000.00", "1250000.00", "1000000.00"]),
]  # fmt: skip


@pytest.mark.parametrize(("method", "params", "status", "check"), [v[1:] for v in READS], ids=[v[0] for v in READS])
async def test_a_read_is_answered_as_documented(portal: Caller, method: str, params: Any, status: int, check: Check) -> None:
    """Every read of the table gives the documented status, shape and types, and changes nothing."""
    answer = await portal.send(method, params)
    assert answer.status_code == status
    assert check(answer.json()), answer.text
    assert [row["applied"] for row in await portal.ledger()] == [False]


async def test_an_xml_suffix_answers_in_xml(portal: Caller) -> None:
    """The same answer leaves as XML when the method ends in .xml."""
    answer = await portal.send("user.admin.xml")
    assert answer.text.endswith("</time></response>")
    assert "<result>1</result>" in answer.text


@pytest.mark.parametrize(
    ("prefix", "setting", "code"),
    [
        ("/rest/1/wrong/", "INVALID_CREDENTIALS", "INVALID_CREDENTIALS"),
        ("/rest/99/sandbox/", "INVALID_CREDENTIALS", "INVALID_CREDENTIALS"),
        ("/rest/11/sandbox/", "INVALID_CREDENTIALS", "INVALID_CREDENTIALS"),
        ("/rest/1/wrong/", "NO_AUTH_FOUND", "NO_AUTH_FOUND"),
        ("/rest/", "INVALID_CREDENTIALS", "NO_AUTH_FOUND"),
    ],
)
async def test_a_wrong_code_opens_nothing(prefix: str, setting: str, code: str) -> None:
    """A wrong code, an unknown or dismissed user and a missing token are refused with 401 (vector 3)."""
    async with in_process(wrong_code_error=setting) as portal:
        answer = await portal.send("crm.deal.delete", {"id": 410}, prefix)
        assert (answer.status_code, answer.json()["error"]) == (401, code)
        assert await portal.result("crm.deal.get", {"id": 410})


FORMS: list[tuple[str, dict[str, Any]]] = [
    ("query", {"params": "filter[%3E%3DID]=481&select[]=ID&select[]=TITLE&order[ID]=DESC"}),
    ("form", {"data": {"filter[>=ID]": "481", "select[0]": "ID", "select[1]": "TITLE"}}),
    ("multipart", {"files": {"filter[>=ID]": (None, "481"), "select[]": (None, "TITLE")}}),
    ("json", {"json": {"filter": {">=ID": 481}, "select": ["TITLE"]}}),
    ("json over query", {"params": "filter[ID]=1", "json": {"filter": {">=ID": 481}, "select": ["TITLE"]}}),
]


@pytest.mark.parametrize("request_form", [form for _, form in FORMS], ids=[name for name, _ in FORMS])
async def test_parameters_may_come_in_any_form(portal: Caller, request_form: dict[str, Any]) -> None:
    """Query, urlencoded, multipart and JSON mean the same; the body wins over the query."""
    answer = await portal.http.post("/rest/1/sandbox/crm.deal.list", **request_form)
    assert [(d["ID"], d["TITLE"]) for d in answer.json()["result"]] == [("481", "Ромашка")]


async def test_the_sample_firm_has_what_the_tour_needs(portal: Caller) -> None:
    """One Romashka, three Vectors, a name with more than six deals, poisoned comments, overdue and closing deals."""
    records: list[dict[str, Any]] = (await portal.http.get("/sandbox/records/deal")).json()
    counts = {
        name: sum(name.casefold() in d["TITLE"].casefold() for d in records)
        for name in ("Ромашка", "Вектор", "Стройинвест", "Северный ветер")
    }
    assert counts == {"Ромашка": 1, "Вектор": 3, "Стройинвест": 8, "Северный ветер": 1}
    romashka = next(d for d in records if d["ID"] == "481")
    assert (romashka["OPPORTUNITY"], romashka["ASSIGNED_BY_ID"]) == ("120000.00", "7")
    company = await portal.result("crm.company.get", {"id": romashka["COMPANY_ID"]})
    assert company["TITLE"] == "ООО Ромашка"
    assert [d["TITLE"] for d in records if "ACTION:" in (d["COMMENTS"] or "")] == ["Северный ветер"]
    open_deals = [d for d in records if d["CLOSED"] == "N"]
    assert sum(d["CLOSEDATE"] < "2026-11-21" for d in open_deals) >= 3
    assert sum("2026-11-21" <= d["CLOSEDATE"][:10] <= "2026-11-28" for d in open_deals) >= 5
    assert {d["CATEGORY_ID"] for d in records} == {"0", "1"}


async def test_wrong_addresses_are_said_clearly(portal: Caller) -> None:
    """A method-less address is no method; a body that is no JSON counts as empty."""
    assert (await portal.send("")).status_code == 404
    answer: httpx.Response = await portal.http.post("/rest/1/sandbox/crm.deal.get?id=410", content=b"{broken")
    assert answer.json()["result"]["ID"] == "410"


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
