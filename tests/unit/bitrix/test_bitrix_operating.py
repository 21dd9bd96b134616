"""The time budget of each method: heard from answers, waited for by bulk work, told to people."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import orjson
import pytest

from bitrix.answers import Answer
from bitrix.client.client import BitrixClient
from bitrix.errors import NotSent
from bitrix.limits.askers import Asker, ask_for
from bitrix.limits.limiter import DUE_AFTER, Limiter, Priority
from bitrix.limits.plan import OperatingTime

Connect = Callable[..., BitrixClient]
METHOD = "crm.deal.update"
BLOCKED = {"error": "OPERATION_TIME_LIMIT", "error_description": "Method is blocked due to operation time limit."}
SKEW = 7_000.0
"""The portal's clock is wrong by this; only its own moments may be compared with each other."""


def moment(time: Any) -> datetime:
    """Fake time as a wall clock."""
    return datetime.fromtimestamp(time.now, UTC)


class Portal:
    """Spends `cost` a command of METHOD, forgets it all at `reset`, refuses above 480; a quarter of a second an answer."""

    def __init__(self, time: Any, *, cost: float = 0.0, spent: float = 0.0, told: bool = True) -> None:
        self.time, self.cost, self.spent, self.told = time, cost, spent, told
        self.reset = time.now + 300
        self.refused, self.ran, self.ran_at = 0, 0, 0.0

    def run(self, method: str) -> dict[str, Any]:
        if self.time.now >= self.reset:
            self.spent, self.reset = 0.0, self.time.now + 600
        if method != METHOD:
            return {"result": 1, "time": {}}
        if self.spent > 480:
            self.refused += 1
            return BLOCKED
        self.spent += self.cost
        self.ran, self.ran_at = self.ran + 1, self.time.now
        said = {"operating": self.spent, "operating_reset_at": int(self.reset + SKEW), "finish": self.time.now + SKEW}
        return {"result": True, "time": said if self.told else {}}

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        method, params = request.url.path.rpartition("/")[2], orjson.loads(request.content)
        await self.time.sleep(0.25)
        if method != "batch":
            body = self.run(method)
            return httpx.Response(429 if "error" in body else 200, json=body)
        commands = params["cmd"].items() if isinstance(params["cmd"], dict) else enumerate(params["cmd"])
        ran = {str(key): self.run(text.partition("?")[0]) for key, text in commands}
        fine = {key: body for key, body in ran.items() if "error" not in body}
        answer: dict[str, Any] = {
            "result": {key: body["result"] for key, body in fine.items()},
            "result_error": {key: body for key, body in ran.items() if "error" in body} or [],
            "result_time": {key: body["time"] for key, body in fine.items()},
        }
        listed = {name: list(part.values()) if isinstance(params["cmd"], list) and part else part for name, part in answer.items()}
        return httpx.Response(200, json={"result": listed, "time": {"operating": 0, "operating_reset_at": 1, "finish": 1}})


@pytest.fixture
async def connect(fake_time: Any) -> AsyncIterator[Connect]:
    """Make a client of a portal; the wall clock is fake time."""
    made: list[BitrixClient] = []

    def make(portal: Any, **more: Any) -> BitrixClient:
        limiter = Limiter.create_unlimited(clock=fake_time.clock, sleep=fake_time.sleep)
        options: dict[str, Any] = {"limiter": limiter, "transport": httpx.MockTransport(portal), "now": lambda: moment(fake_time)} | more
        made.append(BitrixClient("https://portal.example/rest/1/topsecretcode/", **options))
        return made[-1]

    yield make
    for client in made:
        await client.aclose()


def batch(shape: str) -> dict[str, Any]:
    """Ten commands of METHOD."""
    commands = [f"{METHOD}?id={number}" for number in range(10)]
    return {"halt": 0, "cmd": commands if shape == "list" else {f"c{number}": text for number, text in enumerate(commands)}}


async def test_batch_pauses_before_the_limit(connect: Connect, fake_time: Any) -> None:
    """Bulk batches stop before the limit, go on when the portal forgets, and none of their commands is refused."""
    fake_time.flows = True
    portal = Portal(fake_time, cost=1.0, spent=400.0)
    client = connect(portal)
    for shape in ["map", "list"] * 10:
        await client.call("batch", batch(shape), priority=Priority.BULK)
    assert (portal.refused, portal.ran) == (0, 200)
    paused = [seconds for seconds in fake_time.slept if seconds != 0.25]
    assert paused == [pytest.approx(300 - 8 * 0.25 + 1, abs=1)]


async def test_a_share_leaves_the_rest_to_others(connect: Connect, fake_time: Any) -> None:
    """Who may use 40 % waits there, whoever has used it; a person's call goes on meanwhile."""
    fake_time.flows = True
    portal = Portal(fake_time, cost=1.0, spent=100.0)
    client = connect(portal)
    with ask_for(Asker(source="mirror", urgency=Priority.BULK, share=0.4)):
        while portal.spent < 190:
            await client.call("batch", batch("map"), priority=Priority.BULK)
        load = asyncio.ensure_future(client.call("batch", batch("map"), priority=Priority.BULK))
    await client.call(METHOD, {"id": 1})
    assert portal.spent == 191
    reset = portal.reset
    await load
    assert portal.ran_at >= reset
    assert portal.spent == 10


def test_of_those_who_wait_for_a_share_one_goes_first(fake_time: Any) -> None:
    """A reset does not say how much is freed: the others wait for the answer to the first, or ten seconds; people do not."""
    times = OperatingTime(480, clock=fake_time.clock, now=lambda: moment(fake_time))
    spend = {"operating": 200.0, "operating_reset_at": int(fake_time.now) + 60, "finish": fake_time.now}
    times.record_answer({"": METHOD}, Answer(True, time=spend))
    assert times.wait([METHOD], share=0.4) == pytest.approx(61, abs=1)
    fake_time.now += 62
    assert times.wait([METHOD], share=0.4) == 0
    times.begin_probe([METHOD], share=0.4)
    assert (times.wait([METHOD], share=0.4), times.wait([METHOD])) == (10.0, 0.0)
    times.record_answer({"": METHOD}, Answer(True, time=spend | {"operating": 150.0}))
    times.begin_probe([METHOD], share=0.4)
    assert times.wait([METHOD], share=0.4) == 0


@pytest.mark.parametrize("method", [METHOD, "CRM.Deal.Update"])
async def test_person_is_told(connect: Connect, fake_time: Any, method: str) -> None:
    """An interactive call of a spent method is not sent and names the moment; other methods, also in a batch, still go."""
    fake_time.flows = True
    portal = Portal(fake_time, cost=80.0, spent=400.0)
    client = connect(portal)
    await client.call(METHOD, {"id": 1})
    with pytest.raises(NotSent) as caught:
        await client.call(method, {"id": 2})
    with pytest.raises(NotSent):
        await client.call("batch", {"cmd": {"a": "crm.deal.get?id=1", "b": f"{METHOD}?id=1"}})
    await client.call("batch", {"cmd": {"a": "crm.deal.get?id=1"}})
    await client.call("crm.deal.get", {"id": 1})

    free_at = caught.value.free_at
    assert (caught.value.code, portal.ran) == ("OPERATION_TIME_LIMIT", 1)
    assert 300 <= free_at.timestamp() - 1_000 <= 301
    fake_time.now = free_at.timestamp() + 0.1
    await client.call(method, {"id": 2})


async def test_no_word_no_limit(connect: Connect, fake_time: Any) -> None:
    """A portal that tells nothing of operating is not limited by us."""
    fake_time.flows = True
    portal = Portal(fake_time, cost=1.0, told=False)
    client = connect(portal)
    for _ in range(400):
        await client.call(METHOD, {"id": 1})
    assert portal.ran == 400


@pytest.mark.parametrize(
    ("where", "waits"),
    [
        ({}, [60.0]),
        ({"operating_reset_at": 1_090}, [91 - 0.25]),
        ({"time": {"operating_reset_at": 1_090}}, [91 - 0.25]),
        ({"operating_reset_at": 5}, [1.0]),
        ({"operating_reset_at": 10**30}, [60.0]),
        ({"operating_reset_at": "soon", "time": []}, [60.0]),
        ({"operating_reset_at": 1_000_000}, [660.0]),
    ],
    ids=["no moment", "a moment", "a moment in time", "past", "no year", "a word", "far"],
)
@pytest.mark.parametrize("kind", ["read", "write"])
async def test_refused(connect: Connect, fake_time: Any, where: Any, waits: list[float], kind: str) -> None:
    """Bulk work waits a 429 out until the moment it names, or minute by minute; a person hears of the moment at once."""
    fake_time.flows, repeatable = True, kind == "read"
    answers = [httpx.Response(429, json=BLOCKED | where), httpx.Response(200, json={"result": 1})]

    async def portal(_: httpx.Request) -> httpx.Response:
        await fake_time.sleep(0.25)
        return answers.pop(0)

    client = connect(portal)
    assert (await client.call(METHOD, {}, repeatable=repeatable, priority=Priority.BULK)).result == 1
    assert [seconds for seconds in fake_time.slept if seconds != 0.25] == pytest.approx(waits)

    now = fake_time.now
    answers.append(httpx.Response(429, json=BLOCKED | where))
    with pytest.raises(NotSent) as caught:
        await client.call(METHOD, {}, repeatable=repeatable)
    assert caught.value.free_at is not None
    assert fake_time.now - now == 0.25
    assert caught.value.free_at > moment(fake_time)


async def test_refused_in_a_batch(connect: Connect, fake_time: Any) -> None:
    """Commands that a batch reports as refused block their method until the moment the portal gave before."""
    fake_time.flows = True
    portal = Portal(fake_time, cost=30.0, spent=400.0)
    client = connect(portal, operating_limit=0.0)  # so that nothing but the refusals can block
    first = await client.call("batch", batch("map"), priority=Priority.BULK)
    await client.call("batch", {"cmd": {"a": METHOD}}, priority=Priority.BULK)
    assert len(first.result["result_error"]) == portal.refused == 7
    assert portal.ran_at - 1_000 == pytest.approx(301.5, abs=1)


async def test_deadline(connect: Connect, fake_time: Any) -> None:
    """Bulk work whose deadline comes before the portal forgets is not sent, and hears so at once."""
    fake_time.flows = True
    portal = Portal(fake_time, spent=500.0)
    client = connect(portal)
    with pytest.raises(NotSent) as caught:
        await client.call(METHOD, {}, priority=Priority.BULK, send_within=59)
    assert fake_time.slept == [0.25]
    assert caught.value.free_at is not None


async def test_own_limit(connect: Connect, fake_time: Any) -> None:
    """The limit is a setting; 0 leaves it to the portal's refusals."""
    fake_time.flows = True
    for limit, ran in ((100.0, 5), (0.0, 25)):
        portal = Portal(fake_time, cost=20.0)
        client = connect(portal, operating_limit=limit)
        for _ in range(ran):
            await client.call(METHOD, {})
        with pytest.raises(NotSent):
            await client.call(METHOD, {})
        assert (portal.ran, portal.refused) == (ran, limit == 0)


@pytest.mark.parametrize("counted", [1, 0], ids=["refused ones count", "they do not"])
async def test_hot_portal(connect: Connect, fake_time: Any, counted: int) -> None:
    """Forty batches, four at a time, on a full portal: at most two are refused, and the time is the floor, 5 % and once what people keep."""
    level, seen_at, refused = 50.0, fake_time.now, 0

    async def portal(_: httpx.Request) -> httpx.Response:
        nonlocal level, seen_at, refused
        level, seen_at = max(0.0, level - (fake_time.now - seen_at) * 2), fake_time.now
        if level + 1 > 50:
            level, refused = level + counted, refused + 1
            return httpx.Response(503, json={"error": "QUERY_LIMIT_EXCEEDED"})
        level += 1
        await fake_time.sleep(0.43)
        return httpx.Response(200, json={"result": 1})

    client = connect(portal, limiter=Limiter(clock=fake_time.clock, sleep=fake_time.sleep))
    left = list(range(40))

    async def worker() -> None:
        while left:
            left.pop()
            await client.call("batch", {"cmd": {"a": "profile"}}, priority=Priority.BULK)

    workers = asyncio.gather(*(worker() for _ in range(4)))
    while not workers.done():
        await fake_time.advance(0.05)
    await workers

    assert refused <= 2
    assert fake_time.now - 1_000 <= 20 * 1.05 + 0.43 + DUE_AFTER
