"""A list read by offset gives every row once or an error, never silently less."""

import asyncio
from typing import Any

import httpx
import pytest

from bitrix.bulk.bulk import Progress, list_all
from bitrix.errors import OutcomeUnknown, Refused
from tests.unit.bitrix.bulk_kit import ListPortal, at_once, client_of

USERS = "user.get"


async def read(portal: ListPortal, params: Any = None, *, method: str = USERS, **terms: Any) -> list[int]:
    """The ids that `list_all` gives."""
    async with client_of(portal) as client:
        return [int(row[portal.told]) async for row in list_all(client, method, params or {}, **at_once(**terms))]


def users(count: int) -> ListPortal:
    """So many employees."""
    return ListPortal(range(1, count + 1))


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (50, 1), (51, 2), (2550, 2), (2551, 3), (12_345, 6)])
async def test_counts(count: int, requests: int) -> None:
    """One counted page, then 50 pages to a request."""
    portal = users(count)
    seen: list[Progress] = []
    assert await read(portal, on_progress=seen.append) == list(range(1, count + 1))
    assert len(portal.requests) == requests
    assert seen[-1] == Progress(done=count, total=count)


async def test_order_and_parameters() -> None:
    """A list is asked for as the caller wrote it."""
    for params in ({}, {"order": {"NAME": "asc"}}):
        portal = users(120)
        assert await read(portal, params) == list(range(1, 121))
        assert portal.requests[0] == {**params, "start": 0}
        assert all(command.startswith(USERS) and ("order" in command) == bool(params) for command in portal.commands)


async def test_no_start() -> None:
    """A start of the caller's own is refused before anything is sent."""
    portal = users(3)
    with pytest.raises(ValueError, match="start"):
        await read(portal, {"start": 50})
    assert not portal.requests


async def test_rows_that_come_meanwhile() -> None:
    """Rows added at the end while the list is read are read too."""
    portal = users(5000)
    portal.answer = lambda number: portal.ids.extend(range(5001, 5201)) if number == 2 else None
    assert await read(portal, in_flight=1) == list(range(1, 5201))


async def test_rows_that_go_meanwhile() -> None:
    """A row removed while the list is read may have pushed another past us: an error, not a gap."""
    portal = users(5000)
    portal.answer = lambda number: portal.ids.remove(7) if number == 2 else None
    with pytest.raises(OutcomeUnknown, match="shorter"):
        await read(portal)


async def test_a_limit_inside_of_a_batch() -> None:
    """A page that a limit refused is asked for again, alone."""
    portal = users(4000)
    portal.spoil = lambda number, key, params: "QUERY_LIMIT_EXCEEDED" if number in {2, 3} and key == "p100" else ""
    assert await read(portal) == list(range(1, 4001))
    assert sorted(len(body["cmd"]) for body in portal.requests[1:])[:2] == [1, 29]


async def test_a_list_that_ends_before_its_count() -> None:
    """A batch whose last page names no next one although the count says more is an error, after the rows that came."""
    portal = users(120)
    inner = {"result": {"p50": [{"ID": str(number)} for number in range(51, 101)]}, "result_total": {"p50": 120}}
    page = {"result": [{"ID": str(number)} for number in range(1, 51)], "total": 100, "next": 50}
    portal.answer = lambda number: httpx.Response(200, json=page if number == 1 else {"result": inner})
    with pytest.raises(OutcomeUnknown, match="its count"):
        await read(portal)


@pytest.mark.parametrize(("code", "error"), [("ACCESS_DENIED", Refused), ("", OutcomeUnknown)])
async def test_a_page_that_stays_away(code: str, error: type[Exception]) -> None:
    """Another refusal is raised; so is a page that is never in the answer."""
    portal = users(400)
    if code:
        portal.spoil = lambda number, key, params: code if key == "p100" else ""
    else:
        portal.answer = lambda number: httpx.Response(200, json={"result": {"result": []}}) if number > 1 else None
    with pytest.raises(error):
        await read(portal)


@pytest.mark.parametrize(
    "body",
    [
        {"result": True},
        {"result": {"users": [{"ID": "1"}]}, "total": 70, "next": 50},
        {"result": [{"ID": str(number)} for number in range(50)], "total": 120},
        {"result": [], "total": 1},
    ],
)
async def test_a_list_without_sense(body: Any) -> None:
    """What is no list, is short before its end, or ends before its count is an error."""
    portal = users(0)
    portal.answer = lambda number: httpx.Response(200, json=body)
    with pytest.raises(OutcomeUnknown):
        await read(portal)


async def test_a_list_that_stands_still() -> None:
    """A portal that names the same next page again and again is an error."""
    page = {"result": [{"ID": str(number)} for number in range(50)], "total": 50, "next": 50}
    inner = {"result": {"p50": page["result"]}, "result_total": {"p50": 50}, "result_next": {"p50": 50}}
    portal = ListPortal([])
    portal.answer = lambda number: httpx.Response(200, json=page if number == 1 else {"result": inner})
    with pytest.raises(OutcomeUnknown, match="next page"):
        await read(portal, method="crm.address.list")
    assert asyncio.all_tasks() == {asyncio.current_task()}
