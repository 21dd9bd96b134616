"""What the sandbox portal withholds on demand: scopes, methods, other people's records; its clock, its totals, deletions without a word."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bitrix.bulk.bulk import list_all
from sandbox.portal.firm.size import Firm
from tests.contract.sandbox_portal_kit import Caller, Clock, in_process
from tests.contract.test_bulk_portal import both

NOW = datetime(2026, 11, 21, 18, 20, tzinfo=UTC)


@pytest.fixture
async def caller() -> AsyncIterator[Caller]:
    async with in_process(clock=Clock(NOW), firm=Firm(deals=200)) as calling:
        yield calling


async def order(caller: Caller, path: str, **body: Any) -> None:
    assert (await caller.http.post(f"/sandbox/{path}", json=body)).status_code == 200


async def test_the_whole_history_is_read_by_its_ids() -> None:
    """The bulk reader gets each row of deals once, in the order of ids; 25 pages and a half are one request and a look at the end."""
    async with both(firm=Firm(deals=200)) as (client, portal, hours):
        assert portal.portal is not None
        stored = list(portal.portal.store.table("history_2").rows)
        read = [row["ID"] async for row in list_all(client, "crm.stagehistory.list", {"entityTypeId": 2}, pause=hours.pause)]
        assert read == stored
        assert len(await portal.ledger("batch")) <= 2


async def test_a_history_refuses_what_it_cannot_order_by(caller: Caller) -> None:
    """An unknown field in order is an error, as in the filter."""
    answer = await caller.call("crm.stagehistory.list", {"entityTypeId": 2, "order": {"STAGE": "ASC"}})
    assert (answer["error"], "not allowed in order" in answer["error_description"]) == ("INVALID_ARG_VALUE", True)


async def test_calls_without_sort_move_when_a_call_comes_in_and_an_unknown_filter_finds_all(caller: Caller) -> None:
    """Pages by offset are whole only with SORT; a misspelt name in FILTER is dropped in silence."""
    unsorted = await caller.result("voximplant.statistic.get", {})
    moments = [row["CALL_START_DATE"] for row in unsorted]
    assert moments == sorted(moments, reverse=True)
    rising = [int(row["ID"]) for row in await caller.result("voximplant.statistic.get", {"SORT": "ID", "ORDER": "ASC"})]
    assert rising == sorted(rising)
    every = (await caller.call("voximplant.statistic.get", {}))["total"]
    assert (await caller.call("voximplant.statistic.get", {"FILTER": {"USER_ID": 12}}))["total"] == every
    assert 0 < (await caller.call("voximplant.statistic.get", {"FILTER": {"PORTAL_USER_ID": 12}}))["total"] < every


async def test_a_missing_scope_and_a_denied_method_are_refused_apart_until_they_are_given(caller: Caller) -> None:
    """The scope is missing in `scope` too; other methods go on; an empty order gives all back."""
    await order(caller, "rights", without_scopes=["telephony"])
    refused = await caller.send("voximplant.statistic.get")
    assert (refused.status_code, refused.json()["error"]) == (403, "insufficient_scope")
    assert "telephony" not in await caller.result("scope")
    await order(caller, "rights", denied=["voximplant.statistic.get", "crm.currency.list"])
    refused = await caller.send("voximplant.statistic.get")
    assert (refused.status_code, refused.json()["error"]) == (403, "ACCESS_DENIED")
    assert (await caller.call("crm.currency.list"))["error"] == "ACCESS_DENIED"
    assert await caller.result("crm.deal.list")
    await order(caller, "rights")
    assert await caller.result("voximplant.statistic.get")


async def test_the_records_of_hidden_people_are_left_out_of_every_list_and_total(caller: Caller) -> None:
    """Deals, leads, invoices, their history, their activities, and calls; to get one by its id is denied."""
    hidden, person = [7, 12], "ASSIGNED_BY_ID"
    own = await caller.call("crm.deal.list", {"filter": {person: 12}, "select": ["ID"]})
    before = {method: (await caller.call(method, params))["total"] for method, params in LISTS}
    await order(caller, "rights", hidden=hidden)
    assert (await caller.call("crm.deal.list", {"filter": {person: hidden}}))["total"] == 0
    number, owners = own["result"][0]["ID"], [row["ID"] for row in own["result"]]
    assert (await caller.call("crm.deal.get", {"id": number}))["error_description"] == "Access denied."
    assert (await caller.call("crm.item.get", {"entityTypeId": 2, "id": number}))["error"] == "ACCESS_DENIED"
    assert (await caller.call("crm.stagehistory.list", {"entityTypeId": 2, "filter": {"OWNER_ID": number}}))["total"] == 0
    assert (await caller.call("crm.item.productrow.list", {"filter": {"=ownerType": "D", "=ownerId": owners}}))["total"] == 0
    assert (await caller.call("crm.activity.list", {"filter": {"OWNER_TYPE_ID": 2, "OWNER_ID": number}}))["total"] == 0
    for method, params in LISTS:
        assert 0 < (await caller.call(method, params))["total"] < before[method], method


LISTS: list[tuple[str, dict[str, Any]]] = [
    ("crm.deal.list", {}),
    ("crm.lead.list", {}),
    ("crm.item.list", {"entityTypeId": 31}),
    ("crm.stagehistory.list", {"entityTypeId": 2}),
    ("crm.activity.list", {}),
    ("voximplant.statistic.get", {}),
    ("tasks.task.list", {}),
]


async def test_a_deal_is_deleted_without_an_event_and_with_all_that_is_its(caller: Caller) -> None:
    """Its history, activities and goods go with it; no event is raised; nothing is deleted twice."""
    assert caller.portal is not None
    store = caller.portal.store
    number = next(row["OWNER_ID"] for row in store.walk("productrow"))
    assert (await caller.http.delete(f"/sandbox/records/deal/{number}")).status_code == 200
    assert caller.portal.raised == []
    assert store.get("deal", number) is None
    assert not store.find("history_2", "OWNER_ID", number)
    assert not store.find("productrow", "OWNER_ID", number)
    assert not [row for row in store.find("activity", "OWNER_ID", number) if row["OWNER_TYPE_ID"] == 2]
    assert (await caller.http.delete(f"/sandbox/records/deal/{number}")).status_code == 404
    assert (await caller.http.delete("/sandbox/records/user/7")).status_code == 404


async def test_the_clock_of_the_portal_may_be_ahead(caller: Caller) -> None:
    """server.time and the stamps of records follow it; `reset` sets it right."""
    await order(caller, "clock", ahead=7200)
    assert (await caller.result("server.time")) == "2026-11-21T23:20:00+03:00"
    number = await caller.result("crm.deal.add", {"fields": {"TITLE": "Завтра"}})
    assert (await caller.result("crm.deal.get", {"id": number}))["DATE_CREATE"] == "2026-11-21T23:20:00+03:00"
    await order(caller, "reset")
    assert (await caller.result("server.time")) == "2026-11-21T21:20:00+03:00"


async def test_a_total_costs_time_and_a_page_without_it_does_not(caller: Caller) -> None:
    """`latency.total` holds back and counts for the time budget each list that says its total; start = -1 says none."""
    await order(caller, "latency", total=0.15)
    started = time.perf_counter()
    counted = await caller.call("crm.lead.list", {})
    assert time.perf_counter() - started >= 0.15
    assert counted["time"]["operating"] >= 0.15
    commands = {"cmd": {"counted": "crm.lead.list", "free": "crm.contact.list?start=-1"}}
    times = (await caller.result("batch", commands))["result_time"]
    assert (times["counted"]["operating"] >= 0.3, times["free"]["operating"]) == (True, 0)
    free = await caller.call("crm.contact.list", {"start": -1})
    assert (free["total"], free["time"]["operating"]) == (0, 0)


async def test_ids_by_range_by_list_and_by_owner_find_the_same_as_a_look_at_every_record(caller: Caller) -> None:
    """Bounds of ids, lists of ids and owners are looked up; further conditions hold all the same; an OR at the top widens again."""
    assert caller.portal is not None
    deals = list(caller.portal.store.walk("deal"))
    numbers = [deal["ID"] for deal in deals]
    for conditions, wanted in (
        ({">=ID": 500, "<ID": 520}, [number for number in numbers if 500 <= number < 520]),
        ({">ID": 499.5, "<=ID": "519"}, [number for number in numbers if 500 <= number < 520]),
        ({"ID": [410, "600", 9999]}, [410, 600]),
        (
            {"@ID": [410, 600], "STAGE_SEMANTIC_ID": "F"},
            [d["ID"] for d in deals if d["ID"] in {410, 600} and d["STAGE_SEMANTIC_ID"] == "F"],
        ),
    ):
        page = await caller.call("crm.deal.list", {"filter": conditions, "select": ["ID"]})
        assert [int(row["ID"]) for row in page["result"]] == wanted
        falling = await caller.call("crm.deal.list", {"filter": conditions, "select": ["ID"], "order": {"ID": "DESC"}})
        assert [int(row["ID"]) for row in falling["result"]] == wanted[::-1]
    either = await caller.call("crm.item.list", {"entityTypeId": 2, "filter": {"logic": "OR", ">id": 680, "=id": 410}, "select": ["id"]})
    assert [row["id"] for row in either["result"]["items"]] == [410, 681]
