"""The sandbox portal answers reads as the documented vectors say: shapes, types, pages, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from sandbox_portal_kit import in_process

Check = Callable[[Any], bool]


def _error(code: str, text: str = "") -> Check:
    return lambda b: b["error"] == code and text in b["error_description"] and "result" not in b


def _page(rows: int, total: int, following: int | None) -> Check:
    return lambda b: (len(b["result"]), b["total"], b.get("next")) == (rows, total, following)


def _wins(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {row["STATUS_ID"]: row for row in rows}


NOPE = "Invalid filter: field 'nope' is not allowed in filter"
NOT_ARRAY = "Parameter 'filter' must be array."
VECTORS: list[tuple[str, str, Any, int, Check]] = [
    ("2 time", "server.time", {}, 200, lambda b: b["result"] == "2026-11-21T21:00:00+03:00"),
    ("4 unknown method", "crm.nope", {}, 404, _error("ERROR_METHOD_NOT_FOUND", "Method not found!")),
    (
        "5 classic types",
        "crm.deal.get",
        {"id": 410},
        200,
        lambda b: (
            (b["result"]["ID"], b["result"]["OPPORTUNITY"], b["result"]["CLOSED"]) == ("410", "1000000.00", "N")
            and b["result"]["CLOSEDATE"].endswith("T03:00:00+03:00")
            and b["result"]["LEAD_ID"] is None
            and "CONTACT_IDS" not in b["result"]
        ),
    ),
    ("6 absent", "crm.deal.get", {"id": 999999}, 400, _error("", "Not found")),
    ("6 bad id", "crm.deal.get", {"id": "x"}, 400, _error("", "ID is not defined or invalid.")),
    ("6 upper-case arguments", "crm.deal.get", {"ID": "410"}, 200, lambda b: b["result"]["STAGE_ID"] == "PREPARATION"),
    (
        "7 universal types",
        "crm.item.get",
        {"entityTypeId": 2, "id": 410},
        200,
        lambda b: (
            (b["result"]["item"]["id"], b["result"]["item"]["opportunity"]) == (410, 1000000)
            and b["result"]["item"]["contactIds"] == [47]
            and "ufCrm_1747309879" in b["result"]["item"]
        ),
    ),
    (
        "7 original UF names",
        "crm.item.get",
        {"entityTypeId": 2, "id": 410, "useOriginalUfNames": "Y"},
        200,
        lambda b: "UF_CRM_1747309879" in b["result"]["item"],
    ),
    ("7 absent", "crm.item.get", {"entityTypeId": 2, "id": 999999}, 400, _error("NOT_FOUND")),
    ("7 unknown type", "crm.item.get", {"entityTypeId": 9999, "id": 1}, 400, _error("NOT_FOUND")),
    ("7 old invoice", "crm.item.get", {"entityTypeId": 5, "id": 1}, 400, _error("ENTITY_TYPE_NOT_SUPPORTED")),
    ("7 no type", "crm.item.get", {"id": 1}, 400, _error("100")),
    ("8 first page", "crm.lead.list", {}, 200, _page(50, 60, 50)),
    ("8 last page", "crm.lead.list", {"start": 50}, 200, _page(10, 60, None)),
    ("8 uncounted", "crm.lead.list", {"start": -1}, 200, _page(50, 0, None)),
    ("8 newest first", "crm.lead.list", {"order": {"ID": "DESC"}}, 200, lambda b: b["result"][0]["ID"] == "160"),
    (
        "8 newest first, counted and bounded",
        "crm.lead.list",
        {"order": {"ID": "DESC"}, "filter": {">ID": 150, "<=ID": 159}},
        200,
        lambda b: (b["result"][0]["ID"], b["result"][-1]["ID"], b["total"]) == ("159", "151", 9),
    ),
    ("9 bad filter", "crm.lead.list", {"filter": "abc"}, 400, _error("", NOT_ARRAY)),
    ("9 unknown filter is dropped", "crm.lead.list", {"filter": {"NOPE": 1}}, 200, _page(50, 60, 50)),
    (
        "10 unknown filter is refused",
        "crm.item.list",
        {"entityTypeId": 1, "filter": {"nope": 1}},
        400,
        _error("INVALID_ARG_VALUE", NOPE),
    ),
    ("10 bad order", "crm.item.list", {"entityTypeId": 1, "order": {"id": "UP"}}, 400, _error("INVALID_ARG_VALUE")),
    (
        "20 found",
        "crm.duplicate.findbycomm",
        {"type": "PHONE", "values": ["84955551000"]},
        200,
        lambda b: b["result"] == {"CONTACT": [43]},
    ),
    ("20 none", "crm.duplicate.findbycomm", {"type": "PHONE", "values": ["+7"]}, 200, lambda b: b["result"] == []),
    ("20 no type", "crm.duplicate.findbycomm", {}, 400, _error("", "Communication type is not defined")),
    (
        "21 stages",
        "crm.status.list",
        {"filter": {"ENTITY_ID": "DEAL_STAGE"}, "select": ["ID"]},
        200,
        lambda b: (
            (len(b["result"]), b["total"], b["result"][0]["STATUS_ID"]) == (8, 8, "NEW")
            and _wins(b["result"])["WON"]["SEMANTICS"] == "S"
            and _wins(b["result"])["NEW"]["SEMANTICS"] is None
            and _wins(b["result"])["NEW"]["EXTRA"]["SEMANTICS"] == "process"
            and _wins(b["result"])["APOLOGY"]["EXTRA"]["SEMANTICS"] == "apology"
        ),
    ),
    ("21 dead funnel", "crm.status.list", {"filter": {"ENTITY_ID": "DEAL_STAGE_9"}}, 200, _page(0, 0, None)),
    (
        "21 several books",
        "crm.status.list",
        {"filter": {"ENTITY_ID": ["STATUS", "SOURCE"]}},
        400,
        _error("Invalid parameters."),
    ),
    (
        "22 funnels",
        "crm.category.list",
        {"entityTypeId": 2},
        200,
        lambda b: b["total"] == 2 and {(c["id"], c["isDefault"]) for c in b["result"]["categories"]} == {(0, "Y"), (1, "N")},
    ),
    ("26 absent task", "tasks.task.get", {"taskId": 999999}, 200, lambda b: b["result"] == []),
    (
        "26 tasks",
        "tasks.task.list",
        {"filter": {">ID": 0}, "order": {"ID": "ASC"}},
        200,
        lambda b: b["result"]["tasks"][0]["id"] == "8017" and b["total"] == len(b["result"]["tasks"]),
    ),
    ("26 bad order", "tasks.task.list", {"order": {"nope": "ASC"}}, 400, _error("0", "Invalid sorting key")),
    ("35 webhook cannot bind", "event.bind", {"event": "ONCRMDEALADD"}, 403, _error("WRONG_AUTH_TYPE")),
    ("35 webhook cannot read", "event.get", {}, 403, _error("WRONG_AUTH_TYPE")),
    ("users", "user.get", {"FILTER": {"ACTIVE": False}}, 200, lambda b: [u["ID"] for u in b["result"]] == ["11"]),
    ("user by ids", "user.get", {"ID": [7, 8]}, 200, lambda b: [u["NAME"] for u in b["result"]] == ["Борис", "Вера"]),
    ("search", "user.search", {"FIND": "анна"}, 200, lambda b: [u["ID"] for u in b["result"]] == ["6"]),
    (
        "classic fields",
        "crm.deal.fields",
        {},
        200,
        lambda b: b["result"]["ID"]["isReadOnly"] and b["result"]["OPPORTUNITY"]["type"] == "double",
    ),
    (
        "universal fields",
        "crm.item.fields",
        {"entityTypeId": 4},
        200,
        lambda b: b["result"]["fields"]["typeId"]["upperName"] == "COMPANY_TYPE",
    ),
    (
        "phones only by name",
        "crm.contact.list",
        {"filter": {"ID": 43}, "select": ["NAME", "PHONE"]},
        200,
        lambda b: [p["ID"] for p in b["result"][0]["PHONE"]] == ["156", "157"],
    ),
    (
        "no phones otherwise",
        "crm.contact.list",
        {"filter": {"ID": 43}},
        200,
        lambda b: "PHONE" not in b["result"][0] and b["result"][0]["HAS_PHONE"] == "Y",
    ),
    (
        "like, in, not",
        "crm.deal.list",
        {"filter": {"%TITLE": "вектор", "@ASSIGNED_BY_ID": [7, 8], "!ASSIGNED_BY_ID": 8}, "order": {"ID": "DESC"}},
        200,
        lambda b: [d["ID"] for d in b["result"]] == ["413", "412"],
    ),
    (
        "or",
        "crm.item.list",
        {"entityTypeId": 2, "filter": {"0": {"logic": "OR", "0": {"id": 481}, "1": {"id": 410}}}, "select": ["id"]},
        200,
        lambda b: b["result"]["items"] == [{"id": 410}, {"id": 481}],
    ),
    (
        "by sum",
        "crm.deal.list",
        {"filter": {">=OPPORTUNITY": "1000000"}, "order": {"OPPORTUNITY": "DESC"}, "select": ["ID", "OPPORTUNITY"]},
        200,
        lambda b: [d["OPPORTUNITY"] for d in b["result"]] == ["2400000.00", "1250000.00", "1000000.00"],
    ),
]


@pytest.mark.parametrize(("method", "params", "status", "check"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
async def test_a_read_is_answered_as_documented(method: str, params: Any, status: int, check: Check) -> None:
    """Every read of the table gives the documented status, shape and types, and changes nothing."""
    async with in_process() as portal:
        answer = await portal.send(method, params)
        assert answer.status_code == status
        assert check(answer.json()), answer.text
        assert [row["applied"] for row in await portal.ledger()] == [False]


@pytest.mark.parametrize("method", ["profile", "profile.json", "profile/", "Profile", "PROFILE.JSON/"])
@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_every_spelling_of_a_method_is_the_same_method(method: str, verb: str) -> None:
    """Suffix, trailing slash, case and HTTP verb make no difference (vector 1)."""
    async with in_process() as portal:
        answer = await portal.http.request(verb, f"/rest/1/sandbox/{method}")
        profile = answer.json()["result"]
        assert (profile["ID"], profile["ADMIN"], profile["PERSONAL_GENDER"]) == ("1", True, "")
        assert {"start", "finish", "duration", "processing", "date_start", "operating"} <= set(answer.json()["time"])
        assert (await portal.ledger())[0]["name"] == "profile"


async def test_an_xml_suffix_answers_in_xml() -> None:
    """The same answer leaves as XML when the method ends in .xml."""
    async with in_process() as portal:
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
async def test_parameters_may_come_in_any_form(request_form: dict[str, Any]) -> None:
    """Query, urlencoded, multipart and JSON mean the same; the body wins over the query."""
    async with in_process() as portal:
        answer = await portal.http.post("/rest/1/sandbox/crm.deal.list", **request_form)
        assert [(d["ID"], d["TITLE"]) for d in answer.json()["result"]] == [("481", "Ромашка")]


async def test_keyset_paging_reads_every_lead_once() -> None:
    """Walking by id with start=-1 gives all 60 leads once, in two pages (vector 11)."""
    seen: list[int] = []
    pages = 0
    async with in_process() as portal:
        while True:
            params = {"entityTypeId": 1, "filter": {">id": seen[-1] if seen else 0}, "order": {"id": "ASC"}}
            items = (await portal.result("crm.item.list", {**params, "start": -1}))["items"]
            seen += [item["id"] for item in items]
            pages += 1
            if len(items) < 50:
                break
    assert (pages, len(seen), len(set(seen)), seen) == (2, 60, 60, sorted(seen))


async def test_the_sample_firm_has_what_the_tour_needs() -> None:
    """One Romashka, three Vectors, a name with more than six deals, poisoned comments, overdue and closing deals."""
    async with in_process() as portal:
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


async def test_wrong_addresses_are_said_clearly() -> None:
    """A method-less address is no method; a body that is no JSON counts as empty."""
    async with in_process() as portal:
        assert (await portal.send("")).status_code == 404
        answer: httpx.Response = await portal.http.post("/rest/1/sandbox/crm.deal.get?id=410", content=b"{broken")
        assert answer.json()["result"]["ID"] == "410"
