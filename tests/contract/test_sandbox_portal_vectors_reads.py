"""The documented test vectors of reads, by number: 1-11, 20-22, 26. The others lie in the files next to this one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.sandbox_portal_kit import Caller, in_process


def _refusal(answer: httpx.Response) -> tuple[int, Any, str]:
    body = answer.json()
    assert set(body) == {"error", "error_description"}
    return answer.status_code, body["error"], body["error_description"]


def test_every_vector_has_its_own_test() -> None:
    """All 40 numbers are found once among the files of vectors."""
    files = Path(__file__).parent.glob("test_sandbox_portal_vectors_*.py")
    numbers = [int(n) for file in files for n in re.findall(r"def test_vector_(\d\d)_", file.read_text(encoding="utf-8"))]
    assert sorted(numbers) == list(range(1, 41))


@pytest.mark.parametrize("method", ["profile", "profile.json", "profile/", "profile.json/", "PROFILE"])
@pytest.mark.parametrize("verb", ["GET", "POST"])
async def test_vector_01_profile_in_every_spelling(portal: Caller, method: str, verb: str) -> None:
    """The same profile with a time object for suffix, slash and verb."""
    answer = await portal.http.request(verb, f"/rest/1/sandbox/{method}")
    body = answer.json()
    assert (answer.status_code, set(body)) == (200, {"result", "time"})
    names = {"NAME": "Ольга", "LAST_NAME": "Романова"}
    assert body["result"] == {"ID": "1", "ADMIN": True, **names, "PERSONAL_GENDER": "", "TIME_ZONE": ""}
    times = {"start", "finish", "duration", "processing", "date_start", "date_finish", "operating", "operating_reset_at"}
    assert set(body["time"]) == times


async def test_vector_02_server_time(portal: Caller) -> None:
    """The portal's clock with its own offset."""
    assert await portal.result("server.time") == "2026-11-21T21:00:00+03:00"


@pytest.mark.parametrize("code", ["INVALID_CREDENTIALS", "NO_AUTH_FOUND"])
async def test_vector_03_a_wrong_code_is_401(code: str) -> None:
    """A wrong code of the webhook is refused with the code that the setting chooses."""
    async with in_process(wrong_code_error=code) as portal:
        answer = await portal.send("profile", prefix="/rest/1/wrong/")
        assert _refusal(answer)[:2] == (401, code)


async def test_vector_04_an_unknown_method_is_404(portal: Caller) -> None:
    """The name is not known."""
    assert _refusal(await portal.send("crm.nope")) == (404, "ERROR_METHOD_NOT_FOUND", "Method not found!")


async def test_vector_05_a_classic_deal_is_made_of_strings(portal: Caller) -> None:
    """Id and sum are strings, the closing date is midnight UTC in the portal's offset; the seed's deals stand where they must."""
    deal = await portal.result("crm.deal.get", {"id": 410})
    assert (deal["ID"], deal["OPPORTUNITY"], deal["CLOSED"], deal["STAGE_ID"]) == ("410", "1000000.00", "N", "PREPARATION")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT03:00:00\+03:00", deal["CLOSEDATE"])
    assert (await portal.result("crm.deal.get", {"id": 411}))["CATEGORY_ID"] == "1"


async def test_vector_06_an_absent_or_bad_id_is_400_without_a_code(portal: Caller) -> None:
    """The old family answers 400 with an empty code."""
    assert _refusal(await portal.send("crm.deal.get", {"id": 999999})) == (400, "", "Not found")
    assert _refusal(await portal.send("crm.deal.get", {"id": "x"})) == (400, "", "ID is not defined or invalid.")


async def test_vector_07_a_universal_deal_is_made_of_numbers(portal: Caller) -> None:
    """Id and sum are numbers; what is not there or not supported has a code."""
    item = (await portal.result("crm.item.get", {"entityTypeId": 2, "id": 410}))["item"]
    assert (item["id"], type(item["id"]), item["opportunity"]) == (410, int, 1000000)
    for kind, number, code in ((2, 999999, "NOT_FOUND"), (9999, 410, "NOT_FOUND"), (5, 410, "ENTITY_TYPE_NOT_SUPPORTED")):
        assert _refusal(await portal.send("crm.item.get", {"entityTypeId": kind, "id": number}))[:2] == (400, code)


@pytest.mark.parametrize(
    ("params", "rows", "total", "following"), [({}, 50, 60, 50), ({"start": 50}, 10, 60, None), ({"start": -1}, 50, 0, None)]
)
async def test_vector_08_pages_of_fifty(portal: Caller, params: dict[str, int], rows: int, total: int, following: int | None) -> None:
    """The first page names the next, the last does not, an uncounted one says 0 and nothing."""
    body = await portal.call("crm.lead.list", params)
    assert (len(body["result"]), body["total"], body.get("next")) == (rows, total, following)


async def test_vector_09_a_filter_that_is_no_array(portal: Caller) -> None:
    """A string as filter is refused."""
    assert _refusal(await portal.send("crm.lead.list", {"filter": "abc"})) == (400, "", "Parameter 'filter' must be array.")


async def test_vector_10_the_universal_list_names_what_it_refuses(portal: Caller) -> None:
    """An unknown filter field and an unknown direction are INVALID_ARG_VALUE."""
    text = "Invalid filter: field 'nope' is not allowed in filter"
    unknown = await portal.send("crm.item.list", {"entityTypeId": 1, "filter": {"nope": 1}})
    assert _refusal(unknown) == (400, "INVALID_ARG_VALUE", text)
    upwards = await portal.send("crm.item.list", {"entityTypeId": 1, "order": {"id": "UP"}})
    assert _refusal(upwards)[:2] == (400, "INVALID_ARG_VALUE")


@pytest.mark.parametrize("operator", [">", ">="])
async def test_vector_11_keyset_paging_reads_every_lead_once(portal: Caller, operator: str) -> None:
    """Walking by id with start=-1 gives all 60 leads once, in two pages."""
    seen: list[int] = []
    pages = 0
    while True:
        last = seen[-1] if seen else 0
        params = {"entityTypeId": 1, "filter": {f"{operator}id": last + (operator == ">=")}, "order": {"id": "ASC"}}
        items = (await portal.result("crm.item.list", {**params, "start": -1}))["items"]
        seen += [item["id"] for item in items]
        pages += 1
        if len(items) < 50:
            break
    assert (pages, len(seen), seen) == (2, 60, sorted(set(seen)))


async def test_vector_20_duplicates_by_phone(portal: Caller) -> None:
    """A phone in any spelling finds the contact; no match is an empty list; no type is refused."""
    for phone in ("+7 495 555-10-00", "+74955551000", "84955551000"):
        assert await portal.result("crm.duplicate.findbycomm", {"type": "PHONE", "values": [phone]}) == {"CONTACT": [43]}
    assert await portal.result("crm.duplicate.findbycomm", {"type": "PHONE", "values": ["+7"]}) == []
    no_type = await portal.send("crm.duplicate.findbycomm", {"values": ["+7"]})
    assert _refusal(no_type) == (400, "", "Communication type is not defined")


async def test_vector_21_the_stages_of_the_first_funnel(portal: Caller) -> None:
    """Eight stages; the won one is S, an open one has no letter but the word process."""
    body = await portal.call("crm.status.list", {"filter": {"ENTITY_ID": "DEAL_STAGE"}})
    stages = {row["STATUS_ID"]: row for row in body["result"]}
    assert (len(stages), body["total"]) == (8, 8)
    assert (stages["WON"]["SEMANTICS"], stages["NEW"]["SEMANTICS"]) == ("S", None)
    assert stages["NEW"]["EXTRA"]["SEMANTICS"] == "process"


async def test_vector_22_funnels(portal: Caller) -> None:
    """The default funnel has the id 0 and stands in `categories`; the page is counted."""
    body = await portal.call("crm.category.list", {"entityTypeId": 2})
    assert body["total"] == len(body["result"]["categories"])
    assert [c["isDefault"] for c in body["result"]["categories"] if c["id"] == 0] == ["Y"]


async def test_vector_26_tasks_that_are_and_are_not_there(portal: Caller) -> None:
    """A missing task is an empty list with 200; the list filters by ID and answers id as a string, counted."""
    absent = await portal.send("tasks.task.get", {"taskId": 999999})
    assert (absent.status_code, absent.json()["result"]) == (200, [])
    body = await portal.call("tasks.task.list", {"filter": {">ID": 0}, "order": {"ID": "ASC"}})
    assert body["result"]["tasks"][0]["id"] == "8017"
    assert body["total"] == len(body["result"]["tasks"])
