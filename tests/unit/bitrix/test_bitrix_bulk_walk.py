"""A list walked by id gives every row once, in order, in few requests, and never silently less."""

import asyncio
import random
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitrix.bulk.bulk import Progress, list_all
from bitrix.errors import OutcomeUnknown, Refused
from bitrix.limits.limiter import Priority
from tests.unit.bitrix.bulk_kit import ListPortal, at_once, client_of

DEAL = "crm.deal.list"


async def read(portal: ListPortal, params: Any = None, *, method: str = DEAL, **terms: Any) -> list[int]:
    """The ids that `list_all` gives."""
    async with client_of(portal) as client:
        return [int(row[portal.told]) async for row in list_all(client, method, params or {}, **at_once(**terms))]


@st.composite
def id_sets(draw: st.DrawFn) -> list[int]:
    """Runs of ids of any density with gaps between them."""
    ids: list[int] = []
    edge = 0
    for gap, run, tenth in draw(st.lists(st.tuples(st.integers(0, 200_000), st.integers(0, 4000), st.integers(1, 10)), max_size=4)):
        chance = random.Random(gap * run + tenth)  # noqa: S311 - test data
        edge += gap
        ids += [edge + 1 + place for place in range(run) if chance.random() * 10 < tenth]
        edge += run
    return ids


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(ids=id_sets(), broken=st.sampled_from(["", "0", "#broken", "7"]), interactive=st.booleans(), in_flight=st.integers(1, 6))
def test_any_ids(ids: list[int], broken: str, interactive: Any, in_flight: int) -> None:
    """Whatever the ids and whatever a broken reference becomes: exactly the rows, once, in order."""
    portal = ListPortal(ids, broken=broken)
    priority = Priority.INTERACTIVE if interactive else Priority.BULK
    assert asyncio.run(read(portal, priority=priority, in_flight=in_flight)) == ids


SPARSE = random.Random(4)  # noqa: S311 - test data


@pytest.mark.parametrize(
    ("ids", "requests"),
    [
        (range(0), 1),
        (range(1, 51), 1),
        (range(1, 2451), 1),
        (range(1, 2501), 1),
        (range(1, 2502), 2),
        (range(1, 5001), 2),
        (range(1, 50_001), 20),
        (range(410, 50_410), 20),
        (sorted(SPARSE.sample(range(1, 100_000), 50_000)), 23),
        (sorted(SPARSE.sample(range(1, 5_000_000), 20_000)), 11),
        ([*range(1, 3001), *range(9_000_001, 9_003_001)], 8),
        ([*range(1, 9_000_000, 300), *range(9_000_001, 9_010_001)], 21),
    ],
)
@pytest.mark.parametrize("in_flight", [1, 5])
async def test_requests(ids: Any, requests: int, in_flight: int) -> None:
    """No count is asked for, and the requests are at most those of the table; 20 is the floor for 50,000."""
    portal = ListPortal(ids)
    assert await read(portal, in_flight=in_flight) == list(ids)
    assert len(portal.requests) <= requests
    assert all("start=-1" in command for command in portal.commands)
    assert portal.most_at_work <= in_flight + 1


async def test_several_in_flight() -> None:
    """Dense ids are read by several batches at a time."""
    portal = ListPortal(range(1, 50_001))
    await read(portal, in_flight=5)
    assert portal.most_at_work == 5


async def test_a_person_waits_for_a_small_list() -> None:
    """Interactive work asks for two pages first, bulk work for a full batch."""
    portal = ListPortal(range(1, 61))
    await read(portal, priority=Priority.INTERACTIVE)
    assert [len(body["cmd"]) for body in portal.requests] == [2]


async def test_universal_items() -> None:
    """`crm.item.list` is walked under `items` by its own name of the id."""
    portal = ListPortal(range(1, 3001), told="id", box="items")
    assert await read(portal, {"entityTypeId": 2, "select": ["title"]}, method="crm.item.list") == list(range(1, 3001))
    assert all("select[1]=id" in command and "entityTypeId=2" in command for command in portal.commands)


async def test_tasks() -> None:
    """Tasks are walked under `tasks`: filtered by `ID`, told `id`; one that leaves while another joins hides no third."""
    portal = ListPortal(range(1, 6001), told="id", box="tasks")

    def swap(number: int) -> None:
        if number == 2:
            portal.ids.remove(1)
            portal.ids.append(9000)

    portal.answer = swap
    assert await read(portal, method="tasks.task.list") == list(range(1, 6001))
    assert all("filter[%3EID]" in command or "filter[>ID]" in command for command in portal.commands)


@pytest.mark.parametrize("leaving", [1, 2])
async def test_the_greatest_row_leaves_at_the_beginning(leaving: int) -> None:
    """A greatest row that is gone before its page is read, even twice running, is no error."""
    portal = ListPortal(range(1, 61))

    def leave(number: int, key: str, params: dict[str, str]) -> str:
        if key == "p00" and number <= leaving:
            portal.ids.pop()
        return ""

    portal.spoil = leave
    assert await read(portal) == list(range(1, 61 - leaving))
    assert len(portal.requests) == leaving + 1


async def test_the_callers_filter_stays() -> None:
    """The caller's conditions go with every page, and his bounds of the id hold."""
    portal = ListPortal(range(1, 9001))
    assert await read(portal, {"filter": {">ID": 100, "<=ID": "8000", "STAGE_ID": "NEW"}, "order": {"ID": "asc"}}) == list(range(101, 8001))
    assert all("filter[STAGE_ID]=NEW" in command for command in portal.commands)


@pytest.mark.parametrize(
    "params",
    [
        {"order": {"TITLE": "ASC"}},
        {"order": {"ID": "DESC"}},
        {"start": 50},
        {"FILTER": {"A": 1}},
        {"filter": "abc"},
        {"filter": {"logic": "OR", "0": {"A": 1}}},
        {"filter": {">ID": "x"}},
        {"filter": {"<=ID": float("inf")}},
        {"filter": {">ID": float("nan")}},
    ],
)
async def test_what_walking_cannot_honour(params: Any) -> None:
    """It is refused before anything is sent."""
    portal = ListPortal(range(1, 10))
    with pytest.raises(ValueError, match=r"list|filter|bound"):
        await read(portal, params)
    assert not portal.requests


@pytest.mark.parametrize("code", ["QUERY_LIMIT_EXCEEDED", "OPERATION_TIME_LIMIT"])
@pytest.mark.parametrize("key", ["top", "p00", "p17", "p49"])
async def test_a_limit_inside_of_a_batch(code: str, key: str) -> None:
    """A page that a limit refused is asked for again; nothing is missing."""
    portal = ListPortal(range(1, 9001))
    portal.spoil = lambda number, where, params: code if where == key and number in {1, 2, 3} else ""
    assert await read(portal) == list(range(1, 9001))


async def test_another_refusal() -> None:
    """Any other refusal of a page is raised."""
    portal = ListPortal(range(1, 9001))
    portal.spoil = lambda number, where, params: "ACCESS_DENIED" if number == 3 and where == "p07" else ""
    with pytest.raises(Refused, match="spoilt"):
        await read(portal)


async def test_lost_answers_of_reads() -> None:
    """HTML with status 200, a 502 and a broken connection are asked again."""
    portal = ListPortal(range(1, 12_001))

    def spoilt(number: int) -> httpx.Response | None:
        if number == 4:
            raise httpx.ReadError("")
        return {2: httpx.Response(200, html="<b>later</b>"), 3: httpx.Response(502, html="bad")}.get(number)

    portal.answer = spoilt
    assert await read(portal) == list(range(1, 12_001))


@pytest.mark.parametrize(
    "result",
    [
        {"top": [{"ID": "9"}], "p00": [{"ID": "9"}, {"ID": "8"}]},
        {"top": [{"ID": "9"}], "p00": [{"ID": "8"}]},
        {"top": [{"ID": "8"}, {"ID": "9"}], "p00": []},
        {"top": [{"ID": "9"}], "p00": [{"NAME": "9"}]},
        {"top": [{"ID": "9"}], "p00": [{"ID": None}]},
        {"top": [{"ID": "9"}], "p00": {"a": [], "b": []}},
        {"top": [{"ID": str(60 - place)} for place in range(51)], "p00": []},
        {},
    ],
)
async def test_a_list_without_sense(result: Any) -> None:
    """Ids that do not rise, rows without id, an end before the greatest id, an answer without a word: an error, never fewer rows."""
    portal = ListPortal([])
    portal.answer = lambda number: httpx.Response(200, json={"result": {"result": result}})
    with pytest.raises(OutcomeUnknown):
        await read(portal)


async def test_activities_come_once() -> None:
    """An activity with several bindings in the filter comes several times and is given once (crm-activity-list)."""
    portal = ListPortal([number for number in range(1, 700) for _ in range(1 + number % 3)])
    assert await read(portal, method="crm.activity.list") == list(range(1, 700))


async def test_progress_rises() -> None:
    """The people who wait see how many rows have come."""
    seen: list[Progress] = []
    await read(ListPortal(range(1, 10_001)), on_progress=seen.append)
    assert [progress.done for progress in seen][-1] == 10_000
    assert len(seen) >= 4


async def test_leaving_early_leaves_nothing_running() -> None:
    """Closing the iteration cancels what is under way, and few batches were asked for ahead."""
    portal = ListPortal(range(1, 50_001))
    async with client_of(portal) as client:
        async with aclosing(list_all(client, DEAL, {}, **at_once(in_flight=4))) as rows:
            async for row in rows:
                if int(row["ID"]) == 3000:
                    break
        asked = len(portal.requests)
        await asyncio.sleep(0.01)
        assert asked == len(portal.requests) <= 8
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_slow_reader_is_not_flooded() -> None:
    """Memory is bounded: however slowly rows are taken, at most `in_flight` batches wait."""
    portal = ListPortal(range(1, 50_001))
    async with client_of(portal) as client, aclosing(list_all(client, DEAL, {}, **at_once(in_flight=3))) as rows:
        async for row in rows:
            if int(row["ID"]) % 2500 == 1200:
                await asyncio.sleep(0.005)
                assert len(portal.requests) <= int(row["ID"]) / 2500 + 5


async def test_deadline() -> None:
    """A portal that does not answer is given up at the deadline."""
    portal = ListPortal(range(1, 9001))

    async def silent(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        return await portal(request)

    async with client_of(silent) as client:
        late = asyncio.get_running_loop().time() + 0.02
        with pytest.raises(OutcomeUnknown, match="deadline"):
            async for _ in list_all(client, DEAL, {}, **at_once(deadline=late)):
                pass
    assert asyncio.all_tasks() == {asyncio.current_task()}
