import json
from typing import Any

import httpx
import pytest

from bitrix.bulk.offset_pages import FirstRows, read_first_rows
from bitrix.client.client import BitrixClient
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Limiter


def portal(rows: Any, *, wrap: Any = None, total: Any = None) -> tuple[Any, list[Any]]:
    """Lists `rows` by 50 as the portal does; `wrap` names the key they lie under."""
    asked: list[Any] = []

    def answer(request: httpx.Request) -> httpx.Response:
        params = json.loads(request.content)
        asked.append(params)
        start = params["start"]
        page = rows[start : start + 50]
        body = {"result": {wrap: page} if wrap else page, "total": len(rows) if total is None else total}
        if start + 50 < len(rows):
            body["next"] = start + 50
        return httpx.Response(200, json=body)

    return answer, asked


async def listing(answer: Any, *, max_rows: int) -> FirstRows:
    """Read a list from the portal that `answer` plays."""
    async with BitrixClient(
        "https://portal.example/rest/1/code/", limiter=Limiter.create_unlimited(), transport=httpx.MockTransport(answer)
    ) as client:
        return await read_first_rows(client, "crm.lead.list", {"filter": {"A": 1}}, max_rows=max_rows)


@pytest.mark.parametrize("wrap", [None, "items", "tasks", "types"])
@pytest.mark.parametrize(
    ("count", "max_rows", "calls", "complete"),
    [
        (0, 10, 1, True),
        (50, 50, 1, True),
        (60, 100, 2, True),
        (60, 60, 2, True),
        (60, 59, 2, False),
        (60, 50, 1, False),
        (60, 10, 1, False),
        (120, 110, 3, False),
    ],
)
async def test_pages(wrap: Any, count: int, max_rows: int, calls: int, complete: Any) -> None:
    """A list is read to its end or to the limit."""
    rows = [{"ID": str(number)} for number in range(count)]
    answer, asked = portal(rows, wrap=wrap)
    assert await listing(answer, max_rows=max_rows) == FirstRows(rows[:max_rows], count, complete)
    assert [params["start"] for params in asked] == [0, 50, 100][:calls]
    assert all(params["filter"] == {"A": 1} for params in asked)


async def test_too_few_rows() -> None:
    """Fewer rows than the portal counted is not complete."""
    answer, _ = portal([1, 2, 3], total=5)
    assert not (await listing(answer, max_rows=10)).complete


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"result": [1], "next": 0}, "does not move on"),
        ({"result": {"item": {}}}, "not a list"),
        ({"result": {"LEAD": [1], "CONTACT": [2]}}, "not a list"),
        ({"result": {"items": {"1": 2}}}, "not a list"),
        ({"result": True}, "not a list"),
        ({"result": None}, "not a list"),
    ],
)
async def test_no_list(body: Any, why: str) -> None:
    """A list that makes no sense is an error not an empty list."""
    with pytest.raises(OutcomeUnknown, match=why):
        await listing(lambda request: httpx.Response(200, json=body), max_rows=100)


async def test_refused_page() -> None:
    """A refused page is an error not a short list."""
    pages = [httpx.Response(200, json={"result": [1], "next": 50}), httpx.Response(400, json={"error": "ACCESS_DENIED"})]
    with pytest.raises(Refused):
        await listing(lambda request: pages.pop(0), max_rows=100)
