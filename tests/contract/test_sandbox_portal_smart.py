"""The sandbox portal's smart process «Договоры» and its quotes: types, items, stages, funnels, events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from tests.contract.sandbox_portal_kit import Caller, in_process, listener

Check = Callable[[Any], bool]
ITEM = {"entityTypeId": 177}


def _error(code: Any, text: str = "") -> Check:
    return lambda b: b["error"] == code and text in b["error_description"] and "result" not in b


def _ids(body: Any) -> list[int]:
    return [row["id"] for row in body["result"]["items"]]


READS: list[tuple[str, str, Any, int, Check]] = [
    (
        "types",
        "crm.type.list",
        {},
        200,
        lambda b: [(t["id"], t["entityTypeId"], t["title"], t["isStagesEnabled"], t["isCategoriesEnabled"]) for t in b["result"]["types"]]
        == [(5, 177, "Договоры", "Y", "Y")]
        and b["total"] == 1,
    ),
    ("types by a setting", "crm.type.list", {"filter": {"isPaymentsEnabled": "Y"}}, 200, lambda b: b["result"]["types"] == []),
    ("unknown setting", "crm.type.list", {"filter": {"nope": 1}}, 400, _error("INVALID_ARG_VALUE", "'nope'")),
    ("one type", "crm.type.get", {"id": 5}, 200, lambda b: b["result"]["type"]["relations"]["parent"][0]["entityTypeId"] == 3),
    ("type by its number", "crm.type.getByEntityTypeId", ITEM, 200, lambda b: b["result"]["type"]["id"] == 5),
    ("no such type", "crm.type.get", {"id": 177}, 400, _error(0)),
    ("settings", "crm.type.fields", {}, 200, lambda b: b["result"]["fields"]["isStagesEnabled"]["upperName"] == "IS_STAGES_ENABLED"),
    ("items", "crm.item.list", ITEM, 200, lambda b: (_ids(b), b["total"]) == ([12, 14, 16], 3)),
    ("items of a company", "crm.item.list", ITEM | {"filter": {"companyId": 22}}, 200, lambda b: _ids(b) == [14]),
    ("items of a deal", "crm.item.list", ITEM | {"filter": {"=parentId2": 481}}, 200, lambda b: _ids(b) == [12]),
    ("items by a list field", "crm.item.list", ITEM | {"filter": {"@ufCrm5_1747310202": [73, 75]}}, 200, lambda b: _ids(b) == [14, 16]),
    ("unknown filter", "crm.item.list", ITEM | {"filter": {"closed": "Y"}}, 400, _error("INVALID_ARG_VALUE")),
    ("another process", "crm.item.list", {"entityTypeId": 178}, 400, _error("NOT_FOUND")),
    ("no such item", "crm.item.get", ITEM | {"id": 13}, 400, _error("NOT_FOUND")),
    (
        "one item",
        "crm.item.get",
        ITEM | {"id": 12},
        200,
        lambda b: b["result"]["item"].items()
        >= {"stageId": "DT177_10:PREPARATION", "categoryId": 10, "companyId": 21, "opportunity": 480000, "opened": "Y"}.items(),
    ),
    (
        "fields",
        "crm.item.fields",
        ITEM,
        200,
        lambda b: (f := b["result"]["fields"])["createdTime"]["upperName"] == "CREATED_TIME"
        and f["stageId"]["statusType"] == "DYNAMIC_177_STAGE_10"
        and f["ufCrm5_1747310202"]["upperName"] == "UF_CRM_5_1747310202"
        and f["ufCrm5_1747310202"]["items"][0] == {"ID": "71", "VALUE": "Поставка"}
        and f["parentId2"]["settings"] == {"parentEntityTypeId": 2},
    ),
    ("original names", "crm.item.fields", ITEM | {"useOriginalUfNames": "Y"}, 200,
     lambda b: "UF_CRM_5_1747310202" in b["result"]["fields"] and "ufCrm5_1747310202" not in b["result"]["fields"]),
    ("funnels", "crm.category.list", ITEM, 200,
     lambda b: [(c["id"], c["isDefault"], c["entityTypeId"]) for c in b["result"]["categories"]] == [(10, "Y", 177), (11, "N", 177)]),
    ("one funnel", "crm.category.get", ITEM | {"id": 11}, 200, lambda b: b["result"]["category"]["name"] == "Рамочные договоры"),
    ("a deal's funnel is none of it", "crm.category.get", ITEM | {"id": 1}, 400, _error("NOT_FOUND")),
    ("quotes have no funnels", "crm.category.list", {"entityTypeId": 7}, 400, _error("ENTITY_TYPE_NOT_SUPPORTED")),
    (
        "stages",
        "crm.status.list",
        {"filter": {"ENTITY_ID": "DYNAMIC_177_STAGE_11"}},
        200,
        lambda b: [(s["STATUS_ID"], s["EXTRA"]["SEMANTICS"]) for s in b["result"]]
        == [
            ("DT177_11:NEW", "process"),
            ("DT177_11:PREPARATION", "process"),
            ("DT177_11:SIGNING", "process"),
            ("DT177_11:SUCCESS", "success"),
            ("DT177_11:FAIL", "failure"),
        ],
    ),
    ("quotes", "crm.quote.list", {"filter": {"=COMPANY_ID": 21}, "select": ["ID", "STATUS_ID"]}, 200,
     lambda b: b["result"] == [{"ID": "31", "STATUS_ID": "SENT"}]),
    ("one quote", "crm.quote.get", {"id": 31}, 200, lambda b: b["result"].items() >= {"DEAL_ID": "481", "OPPORTUNITY": "480000.00"}.items()),
    ("no such quote", "crm.quote.get", {"id": 481}, 400, _error("", "Not found")),
    ("quote as an item", "crm.item.get", {"entityTypeId": 7, "id": 32}, 200, lambda b: b["result"]["item"]["stageId"] == "DRAFT"),
    ("quote fields", "crm.quote.fields", {}, 200, lambda b: b["result"]["STATUS_ID"]["statusType"] == "QUOTE_STATUS"),
    ("kinds", "crm.enum.ownertype", {}, 200, lambda b: (b["result"][-1]["ID"], b["result"][-1]["SYMBOL_CODE_SHORT"]) == (177, "Tb1")),
]  # fmt: skip


async def test_each_read_of_contracts_and_quotes_gives_the_documented_answer(portal: Caller) -> None:
    """Status and body of every row of the table."""
    for name, method, params, status, check in READS:
        answer = await portal.send(method, params)
        assert answer.status_code == status, (name, answer.text)
        assert check(answer.json()), (name, answer.text)


async def test_settings_of_processes_are_for_administrators(portal: Caller) -> None:
    """Anybody else reads one process, but not the list of all."""
    answers = [(await portal.send(m, {"id": 5}, "/rest/7/sandbox/")).json() for m in ("crm.type.list", "crm.type.fields", "crm.type.get")]
    assert [answer.get("error") for answer in answers] == ["ACCESS_DENIED", "ACCESS_DENIED", None]


async def _item(portal: Caller, method: str, **params: Any) -> dict[str, Any]:
    return dict((await portal.result(method, ITEM | params))["item"])


async def test_an_item_is_added_moved_and_deleted(portal: Caller) -> None:
    """It begins in the default funnel, keeps its former stage, knows its history, and goes with everything of its own."""
    made = await _item(portal, "crm.item.add", fields={"companyId": 21, "ufCrm5_1747310202": "75", "nope": 1})
    assert made.items() >= {"id": 17, "title": "Договоры #17", "categoryId": 10, "stageId": "DT177_10:NEW", "ufCrm5_1747310202": 75}.items()
    moved = await _item(portal, "crm.item.update", id=17, fields={"categoryId": 11})
    assert (moved["stageId"], moved["previousStageId"]) == ("DT177_11:NEW", "DT177_10:NEW")
    await _item(portal, "crm.item.update", id=17, fields={"stageId": "DT177_11:SUCCESS"})
    history = await portal.result("crm.stagehistory.list", ITEM | {"filter": {"OWNER_ID": 17}})
    assert [(h["TYPE_ID"], h["STAGE_ID"]) for h in history["items"]] == [(1, "DT177_10:NEW"), (5, "DT177_11:NEW"), (3, "DT177_11:SUCCESS")]
    await portal.result("crm.timeline.comment.add", {"fields": {"ENTITY_ID": 17, "ENTITY_TYPE": "dynamic_177", "COMMENT": "да"}})
    assert await portal.result("crm.item.delete", ITEM | {"id": 17}) == []
    assert (await portal.call("crm.item.get", ITEM | {"id": 17}))["error"] == "NOT_FOUND"
    filters = {"filter": {"ENTITY_ID": 17, "ENTITY_TYPE": "dynamic_177"}}
    assert await portal.result("crm.timeline.comment.list", filters) == []


@pytest.mark.parametrize(
    "fields", [{"stageId": "DT177_11:NEW"}, {"stageId": "NEW"}, {"categoryId": 1}, {"ufCrm5_1747310202": 57}, {"begindate": "никогда"}]
)
async def test_a_value_that_does_not_fit_is_refused(portal: Caller, fields: dict[str, Any]) -> None:
    """A stage of another funnel, a funnel of deals, an item of another list: the item stays as it was."""
    before = await _item(portal, "crm.item.get", id=12)
    assert (await portal.call("crm.item.update", ITEM | {"id": 12, "fields": fields}))["error"] == "CRM_FIELD_ERROR_VALUE_NOT_VALID"
    assert await _item(portal, "crm.item.get", id=12) == before


async def test_product_rows_make_the_sum_of_an_item_and_of_a_quote(portal: Caller) -> None:
    """Rows count where the sum is not kept by hand."""
    number = (await _item(portal, "crm.item.add", fields={"title": "С товарами"}))["id"]
    rows = [{"productName": "Кабель", "price": 100, "quantity": 3}]
    for code, kind, owner in (("Tb1", 177, number), ("Q", 7, 31)):
        await portal.result("crm.item.productrow.set", {"ownerType": code, "ownerId": owner, "productRows": rows})
        assert (await portal.result("crm.item.get", {"entityTypeId": kind, "id": owner}))["item"]["opportunity"] == 300


async def test_a_quote_is_added_changed_and_closed_by_both_families(portal: Caller) -> None:
    """A status that ends it closes it; a foreign one changes nothing."""
    number = await portal.result("crm.quote.add", {"fields": {"TITLE": "Новое", "CONTACT_ID": 43, "OPPORTUNITY": "10.5"}})
    assert await portal.result("crm.quote.update", {"id": number, "fields": {"STATUS_ID": "WON"}})
    item = (await portal.result("crm.item.get", {"entityTypeId": 7, "id": number}))["item"]
    assert item.items() >= {"stageId": "DRAFT", "contactIds": [43], "opportunity": 10.5, "closed": "N", "quoteNumber": "33"}.items()
    await portal.result("crm.item.update", {"entityTypeId": 7, "id": number, "fields": {"stageId": "APPROVED"}})
    quote = await portal.result("crm.quote.get", {"id": number})
    assert (quote["STATUS_ID"], quote["CLOSED"]) == ("APPROVED", "Y")
    assert await portal.result("crm.quote.delete", {"id": number}) is True


async def test_events_of_items_name_the_process() -> None:
    """One event for all processes and one of this process, both with the item and the type; quotes have events of their own."""
    async with in_process() as portal, listener() as (url, got):
        names = ["ONCRMDYNAMICITEMADD", "ONCRMDYNAMICITEMUPDATE_177", "ONCRMDYNAMICITEMDELETE", "ONCRMQUOTEUPDATE"]
        await portal.http.post("/sandbox/outgoing", json={"handler": url, "events": names})
        await portal.result("crm.item.add", ITEM | {"fields": {"title": "А"}})
        await portal.result("crm.item.update", ITEM | {"id": 17, "fields": {"title": "Б"}})
        await portal.result("crm.item.delete", ITEM | {"id": 17})
        await portal.result("crm.quote.update", {"id": 31, "fields": {"TITLE": "В"}})
        bodies = [parse_qs((await asyncio.wait_for(got.get(), 30))[1]) for _ in names]
        seen = {(b["event"][0], b["data[FIELDS][ID]"][0], b.get("data[FIELDS][ENTITY_TYPE_ID]", [""])[0]) for b in bodies}
        assert seen == {*((name, "17", "177") for name in names[:3]), (names[3], "31", "")}


async def test_a_person_edits_an_item_in_the_pages(portal: Caller) -> None:
    """The control address changes it, and everybody reads the change."""
    answer = await portal.http.patch("/sandbox/records/dynamic_177/12", json={"TITLE": "Переименован"})
    assert answer.status_code == 200, answer.text
    assert (await _item(portal, "crm.item.get", id=12))["title"] == "Переименован"
