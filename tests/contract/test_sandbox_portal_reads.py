"""The sandbox portal's reads beyond the numbered vectors: shapes, filters, forms of a request, the sample firm."""

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
