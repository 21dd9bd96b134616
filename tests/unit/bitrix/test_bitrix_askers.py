"""Persons, runs and programs that ask one portal at once, in fake time and on the limits of the standard plan."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import httpx
import orjson
import pytest

from bitrix.client.client import BitrixClient
from bitrix.errors import NotSent
from bitrix.limits.askers import Asker, AskerGone, ask_for
from bitrix.limits.limiter import MOST_BESIDE_PEOPLE, Limiter, Priority

LOOKUP = 6
"""Requests one after the other that «покажи сделку Ромашка» takes at most."""


class Portal:
    """Answers after `seconds`; refuses each third call if told to. Remembers who asked when, and which answers nobody fetched."""

    def __init__(self, time: Any, *, seconds: float = 0.1, refuses: bool = False) -> None:
        self.time, self.seconds, self.refuses = time, seconds, refuses
        self.asked: list[tuple[str, float]] = []
        self.under_way, self.most, self.hung_up = 0, 0, 0

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append((orjson.loads(request.content)["who"], self.time.now))
        if self.refuses and len(self.asked) % 3 == 0:
            return httpx.Response(503, json={"error": "QUERY_LIMIT_EXCEEDED"})
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.time.sleep(self.seconds)
        except asyncio.CancelledError:
            self.hung_up += 1
            raise
        finally:
            self.under_way -= 1
        return httpx.Response(200, json={"result": 1})

    def count(self, who: str, since: float, until: float) -> int:
        return sum(name == who and since <= at <= until for name, at in self.asked)


class Firm:
    """One bot on one portal, and those who ask through it."""

    def __init__(self, time: Any, portal: Portal) -> None:
        self.time, self.portal = time, portal
        limiter = Limiter(clock=time.clock, sleep=time.sleep)
        self.client = BitrixClient("https://portal.example/rest/1/code/", limiter=limiter, transport=httpx.MockTransport(portal))
        self.tasks: list[asyncio.Task[Any]] = []

    def begin(self, asker: Asker, reads: int, *, at_once: bool = True, **options: Any) -> asyncio.Task[list[object]]:
        """Let the asker read so often, all at once or one after the other."""

        async def read() -> object:
            return (await self.client.call("crm.deal.get", {"who": asker.source}, **{"repeatable": True} | options)).result

        async def read_all() -> list[object]:
            if at_once:
                return list(await asyncio.gather(*(read() for _ in range(reads)), return_exceptions=True))
            return [await read() for _ in range(reads)]

        with ask_for(asker):
            self.tasks.append(asyncio.ensure_future(read_all()))
        return self.tasks[-1]

    async def measure(self, work: asyncio.Task[Any]) -> float:
        """Return the seconds that it still takes."""
        began = self.time.now
        while not work.done():
            await self.time.advance(0.1)
        await work
        return self.time.now - began


@pytest.fixture
async def firms(fake_time: Any) -> AsyncIterator[list[Firm]]:
    """The bots of a test, which are ended with it."""
    begun: list[Firm] = []
    yield begun
    for firm in begun:
        for task in firm.tasks:
            task.cancel()
        await asyncio.gather(*firm.tasks, return_exceptions=True)
        await firm.client.aclose()


def open_firm(firms: list[Firm], time: Any, **portal: Any) -> Firm:
    firms.append(Firm(time, Portal(time, **portal)))
    return firms[-1]


def program(name: str = "http:site") -> Asker:
    return Asker(source=name, urgency=Priority.PROGRAM)


PERSON, RUN = Asker(source="tg:1007"), Asker(source="tg:1007", urgency=Priority.RUN)
ONE, TWO = [program()], [program(), program("http:other")]
PROGRAM_AND_RUN = [program(), Asker(source="tg:1008", urgency=Priority.RUN)]
PROGRAM_AND_OWN_RUN = [program(), RUN]


@pytest.mark.parametrize("beside", [ONE, TWO, PROGRAM_AND_RUN, PROGRAM_AND_OWN_RUN], ids=["one", "two", "and a run", "and the own run"])
@pytest.mark.parametrize("after", [0.0, 1.0, 15.0, 40.0])
async def test_a_person_beside_programs(firms: list[Firm], fake_time: Any, beside: Iterable[Asker], after: float) -> None:
    """A person's lookup takes two seconds at most beside 200 reads at once of each program or run, whenever it begins."""
    firm = open_firm(firms, fake_time)
    for asker in beside:
        firm.begin(asker, 200)
    await fake_time.advance(after)
    began = fake_time.now
    assert await firm.measure(firm.begin(PERSON.renew(), LOOKUP, at_once=False)) <= 2.0
    last = max(at for name, at in firm.portal.asked if name == "tg:1007" and at >= began)
    others = sum(began < at <= last and name != "tg:1007" for name, at in firm.portal.asked)
    assert others <= LOOKUP or not after  # at most one goes before each, but for the first burst, for which there is room


async def test_people_leave_programs_a_share(firms: list[Firm], fake_time: Any) -> None:
    """While people ask for more than the portal gives, programs, runs and the bot's own work still go on."""
    firm = open_firm(firms, fake_time)
    for number in range(4):
        firm.begin(Asker(source=f"tg:{number}"), 100)
    for asker in (program(), RUN, Asker(source="system", urgency=Priority.BULK)):
        firm.begin(asker, 50)
    await fake_time.advance(20)
    began = fake_time.now
    await fake_time.advance(60)
    for who in ("http:site", "tg:1007", "system"):
        assert firm.portal.count(who, began, fake_time.now) >= 10
    people = [firm.portal.count(f"tg:{number}", began, fake_time.now) for number in range(4)]
    assert sum(people) >= 75
    assert max(people) - min(people) <= 2


async def test_sources_take_turns(firms: list[Firm], fake_time: Any) -> None:
    """A program that asks for little is not held up by one that asks for much."""
    firm = open_firm(firms, fake_time)
    firm.begin(program(), 200)
    await fake_time.advance(10)
    assert await firm.measure(firm.begin(program("http:other"), 5)) <= 6.0


async def test_a_run_goes_before_programs(firms: list[Firm], fake_time: Any) -> None:
    """The run of a person reads at the portal's own pace beside the 200 reads of a program."""
    firm = open_firm(firms, fake_time)
    firm.begin(program(), 200)
    await fake_time.advance(10)
    assert await firm.measure(firm.begin(RUN.renew(), 10, at_once=False)) <= 10 / 2 + 1.5


async def test_a_slow_portal(firms: list[Firm], fake_time: Any) -> None:
    """On a portal that takes half a minute for each answer, programs leave connections free, and a person's call is sent at once."""
    firm = open_firm(firms, fake_time, seconds=30.0)
    firm.begin(program(), 200)
    await fake_time.advance(120)
    assert firm.portal.most <= MOST_BESIDE_PEOPLE
    assert await firm.measure(firm.begin(PERSON.renew(), 1)) <= 30.2


async def test_each_third_is_refused(firms: list[Firm], fake_time: Any) -> None:
    """Beside a program, a person waits hardly longer than alone on a portal that refuses each third call for its limit."""
    seconds = []
    for reads in (0, 200):
        firm = open_firm(firms, fake_time, refuses=True)
        firm.begin(program(), reads)
        await fake_time.advance(30)
        seconds.append(await firm.measure(firm.begin(PERSON.renew(), LOOKUP, at_once=False)))
    assert seconds[1] <= seconds[0] + 2.0


async def test_an_asker_who_left(firms: list[Firm], fake_time: Any) -> None:
    """The reads of an asker who has left are given up, waiting or under way, and new ones of it are not sent; others go on."""
    firm = open_firm(firms, fake_time, seconds=3.0)
    gone = program()
    reads, others = firm.begin(gone, 200), firm.begin(program("http:other"), 3)
    await fake_time.advance(4.0)
    await fake_time.settle()
    sent, under_way = firm.portal.count("http:site", 0, fake_time.now), firm.portal.under_way
    gone.leave()
    await fake_time.settle()
    assert {type(answer) for answer in await reads} <= {NotSent, int}
    assert firm.portal.hung_up >= under_way - 3 > 10
    with pytest.raises(NotSent):
        await firm.begin(gone, 1, at_once=False)
    await firm.measure(others)
    assert others.result() == [1, 1, 1]
    assert firm.portal.count("http:site", 0, fake_time.now) == sent


async def test_an_asker_leaves_again_while_a_read_closes() -> None:
    """Who has left may leave again, whatever its reads do: before one is given up, while it closes its connection, and after that."""
    gone, is_closing, is_closed = Asker(), asyncio.Event(), asyncio.Event()

    async def read() -> None:
        async with gone.stay():
            try:
                await asyncio.sleep(60)
            finally:
                is_closing.set()
                await is_closed.wait()

    task = asyncio.create_task(read())
    await asyncio.sleep(0)
    gone.leave()
    gone.leave()
    await is_closing.wait()
    gone.leave()
    is_closed.set()
    with pytest.raises(AskerGone):
        await task
    gone.leave()


async def test_writes_stay_as_they_were(firms: list[Firm], fake_time: Any) -> None:
    """A write is sent beside the reads of programs as a person's call is, and whoever has left."""
    firm = open_firm(firms, fake_time, seconds=3.0)
    firm.begin(program("http:other"), 200)
    await fake_time.advance(30)
    writer = program()
    write = firm.begin(writer, 1, repeatable=False, send_within=1.0, at_once=False)
    await fake_time.advance(0.2)
    writer.leave()
    await firm.measure(write)
    assert write.result() == [1]
    await firm.measure(second := firm.begin(writer, 1, repeatable=False, at_once=False))
    assert second.result() == [1]
    assert firm.portal.count("http:site", 0, fake_time.now) == 2
