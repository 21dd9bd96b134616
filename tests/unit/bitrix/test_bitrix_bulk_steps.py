"""Many calls: each step has one outcome, in order, and none is sent again unless a limit proved that it did not run."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest

from bitrix.bulk.bulk import ItemOutcome, Progress, call_all
from tests.unit.bitrix.bulk_kit import Hours, at_once, client_of

UPDATE = "crm.deal.update"
Spoil = Callable[[int, str], str]


class WritePortal:
    """Counts how often each id was written; `answer` may spoil a request before it is executed, `after` behind it."""

    def __init__(self) -> None:
        self.written: dict[str, int] = {}
        self.requests: list[list[str]] = []
        self.at_work = self.most_at_work = 0
        self.refuse: Spoil = lambda number, key: ""
        self.before: Callable[[int], httpx.Response | None] = lambda number: None
        self.after: Callable[[int], httpx.Response | None] = lambda number: None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        commands: dict[str, str] = json.loads(request.content)["cmd"]
        ids = {key: command.partition("id=")[2].partition("&")[0] for key, command in commands.items()}
        self.requests.append(list(ids.values()))
        number = len(self.requests)
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.at_work -= 1
        if (spoilt := self.before(number)) is not None:
            return spoilt
        results, errors = {}, {}
        for key, deal in ids.items():
            if code := self.refuse(number, deal):
                errors[key] = {"error": code, "error_description": f"no {deal}"}
                continue
            self.written[deal] = self.written.get(deal, 0) + 1
            results[key] = {"item": {"id": int(deal)}}
        return self.after(number) or httpx.Response(200, json={"result": {"result": results or [], "result_error": errors or []}})


def steps(count: int) -> list[tuple[str, dict[str, Any]]]:
    """So many updates."""
    return [(UPDATE, {"id": number, "fields": {"OPPORTUNITY": number}}) for number in range(1, count + 1)]


async def run(portal: WritePortal, given: Any, **terms: Any) -> list[ItemOutcome]:
    """All outcomes."""
    async with client_of(portal) as client:
        return [outcome async for outcome in call_all(client, given, **at_once(**terms))]


def told(outcomes: list[ItemOutcome]) -> dict[str, int]:
    """How many of each status."""
    return {status: sum(item.status == status for item in outcomes) for status in {item.status for item in outcomes}}


def drop(number: int, *which: int) -> httpx.Response | None:
    """The connection breaks at these requests."""
    if number in which:
        raise httpx.ReadError("")
    return None


LIMIT = httpx.Response(503, json={"error": "QUERY_LIMIT_EXCEEDED", "error_description": "Too many requests"})
BAD = httpx.Response(502, html="<b>bad gateway</b>")
PAGE = httpx.Response(200, html="<b>later</b>")
SHUT = httpx.Response(401, json={"error": "INVALID_CREDENTIALS", "error_description": "Invalid request credentials"})


@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 1234])
@pytest.mark.parametrize("in_flight", [1, 4])
async def test_each_step_once(count: int, in_flight: int) -> None:
    """Outcomes come in the order of the steps, 50 steps to a request, each step sent once."""
    portal = WritePortal()
    outcomes = await run(portal, steps(count), in_flight=in_flight)
    assert [(item.index, item.status, item.method) for item in outcomes] == [(number, "done", UPDATE) for number in range(count)]
    assert [item.result["item"]["id"] for item in outcomes] == list(range(1, count + 1))
    assert list(portal.written.values()) == [1] * count
    assert len(portal.requests) == -(-count // 50)
    assert portal.most_at_work == (min(in_flight, len(portal.requests) - 1) or 1 if portal.requests else 0)


@pytest.mark.req("S004-X8")
@pytest.mark.parametrize(
    ("spoil", "expected", "unknown"),
    [
        ({"after": lambda number: drop(number, 3)}, {"done": 950, "unknown": 50}, range(101, 151)),
        ({"after": lambda number: BAD if number == 3 else None}, {"done": 950, "unknown": 50}, range(101, 151)),
        ({"after": lambda number: PAGE if number == 3 else None}, {"done": 950, "unknown": 50}, range(101, 151)),
        ({"before": lambda number: drop(number, 20)}, {"done": 950, "unknown": 50}, range(951, 1001)),
        ({"before": lambda number: LIMIT if number in {1, 5, 6, 7} else None}, {"done": 1000}, ()),
        ({"refuse": lambda number, deal: "OPERATION_TIME_LIMIT" if 3 <= number <= 8 and int(deal) % 2 else ""}, {"done": 1000}, ()),
        ({"refuse": lambda number, deal: "NOT_FOUND" if deal == "77" else ""}, {"done": 999, "refused": 1}, ()),
        ({"refuse": lambda number, deal: "INTERNAL_SERVER_ERROR" if deal == "77" else ""}, {"done": 999, "unknown": 1}, (77,)),
        ({"before": lambda number: SHUT if number == 4 else None, "in_flight": 1}, {"done": 150, "refused": 50, "not_sent": 800}, ()),
    ],
)
async def test_faults(spoil: dict[str, Any], expected: dict[str, int], unknown: Any) -> None:
    """Whatever is lost or refused: nothing runs twice, every step has its outcome, and the unknown ones are named."""
    portal = WritePortal()
    in_flight = spoil.pop("in_flight", 4)
    for name, spoiler in spoil.items():
        setattr(portal, name, spoiler)
    outcomes = await run(portal, steps(1000), in_flight=in_flight)

    assert [item.index for item in outcomes] == list(range(1000))
    assert told(outcomes) == expected
    assert [item.index + 1 for item in outcomes if item.status == "unknown"] == list(unknown)
    assert max(portal.written.values()) == 1
    assert all(str(item.index + 1) in portal.written for item in outcomes if item.status == "done")
    assert not any(str(item.index + 1) in portal.written for item in outcomes if item.status in {"refused", "not_sent"})


async def test_a_silent_portal_is_not_fed() -> None:
    """After three lost answers in a row nothing more is sent: at most those and what was under way are unknown."""
    portal = WritePortal()
    portal.after = lambda number: drop(number, *range(5, 100))
    outcomes = await run(portal, steps(2000), in_flight=4)
    assert told(outcomes) == {"done": 200, "unknown": 50 * (len(portal.requests) - 4), "not_sent": 2000 - 50 * len(portal.requests)}
    assert len(portal.requests) <= 4 + 3 + 4
    assert "several answers" in outcomes[-1].description


async def test_nobody_is_there() -> None:
    """A portal that cannot be reached leaves all steps unsent, and is tried for one batch only."""
    tries = 0

    def nobody(request: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        raise httpx.ConnectError("", request=request)

    async with client_of(nobody) as client:
        outcomes = [outcome async for outcome in call_all(client, steps(500), **at_once())]
    assert told(outcomes) == {"not_sent": 500}
    assert tries == 3


@pytest.mark.parametrize(
    "step",
    [
        ("batch", {"cmd": {}}), ("crm.deal.get.json", {}), (UPDATE, {"id": "$result[c00]"}), (UPDATE, {"id": float("nan")}),
        (UPDATE, {"a b": 1}),
    ],
)  # fmt: skip
async def test_steps_that_cannot_go(step: Any) -> None:
    """A step that no batch can hold is not sent, and says why; the others are."""
    portal = WritePortal()
    outcomes = await run(portal, [*steps(2), step, *steps(2)])
    assert [item.status for item in outcomes] == ["done", "done", "not_sent", "done", "done"]
    assert outcomes[2].description


async def test_stop() -> None:
    """Once `stop` is set nothing more is sent, what is under way is awaited, and the rest is not sent."""
    portal, stop = WritePortal(), asyncio.Event()

    def seen(progress: Progress) -> None:
        if progress.done >= 300:
            stop.set()

    outcomes = await run(portal, steps(2000), stop=stop, on_progress=seen, in_flight=3)
    assert told(outcomes) == {"done": len(portal.written), "not_sent": 2000 - len(portal.written)}
    assert 300 <= len(portal.written) <= 600


async def test_deadline() -> None:
    """After the deadline nothing is sent; every step still has its outcome."""
    portal = WritePortal()
    outcomes = await run(portal, steps(120), deadline=asyncio.get_running_loop().time() - 1)
    assert told(outcomes) == {"not_sent": 120}
    assert not portal.requests


async def test_a_limit_that_stays() -> None:
    """A method that stays refused is given up after minutes, as not sent, with the portal's code."""
    portal, hours = WritePortal(), Hours()
    portal.refuse = lambda number, deal: "QUERY_LIMIT_EXCEEDED"
    async with client_of(portal, hours) as client:
        outcomes = [outcome async for outcome in call_all(client, steps(3), pause=hours.pause)]
    assert {(item.status, item.code) for item in outcomes} == {("not_sent", "QUERY_LIMIT_EXCEEDED")}
    assert 60 <= hours.now - 1000 <= 300
    assert not portal.written


async def test_steps_are_read_as_needed_and_their_error_comes_last() -> None:
    """A generator of steps is not read far ahead; what it raises comes after the outcomes of what was sent."""
    portal, made = WritePortal(), 0

    def endless() -> Iterator[Any]:
        nonlocal made
        for step in steps(3000):
            made += 1
            yield step
        raise LookupError

    outcomes: list[ItemOutcome] = []

    async def take() -> None:
        async with client_of(portal) as client:
            async for outcome in call_all(client, endless(), **at_once(in_flight=2)):
                outcomes.append(outcome)
                assert made <= outcome.index + 50 * 6

    with pytest.raises(LookupError):
        await take()
    assert told(outcomes) == {"done": 3000}


async def test_leaving_early_leaves_nothing_running() -> None:
    """Closing or cancelling the iteration ends what is under way, and nothing is sent afterwards."""
    portal = WritePortal()

    async def many() -> AsyncIterator[Any]:
        for step in steps(5000):
            yield step

    async with client_of(portal) as client:
        async with aclosing(call_all(client, many(), **at_once(in_flight=4))) as outcomes:
            async for outcome in outcomes:
                if outcome.index == 400:
                    break
        sent = len(portal.requests)
        for _ in range(20):
            await asyncio.sleep(0)
        assert sent == len(portal.requests) < 30
        assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_ends_a_call_that_hangs() -> None:
    """A cancelled iteration does not wait for a portal that is silent, and nothing of it stays."""
    portal, hangs = WritePortal(), asyncio.Event()
    given: list[ItemOutcome] = []

    async def silent(request: httpx.Request) -> httpx.Response:
        if len(portal.requests) == 2:
            hangs.set()
            await asyncio.Event().wait()
        return await portal(request)

    async def take() -> None:
        async with aclosing(call_all(client, steps(500), **at_once())) as outcomes:
            async for outcome in outcomes:
                given.append(outcome)  # noqa: PERF401 - what came before the cancel is looked at after it

    async with client_of(silent) as client:
        work = asyncio.ensure_future(take())
        await hangs.wait()
        work.cancel()
        ended, _ = await asyncio.wait({work}, timeout=30)
        assert ended == {work}
        assert work.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert {item.status for item in given} == {"done"}


async def test_progress() -> None:
    """Doors are shown how many steps are done, refused and unknown, and of how many."""
    portal = WritePortal()
    portal.refuse = lambda number, deal: "NOT_FOUND" if deal == "60" else ""
    portal.after = lambda number: drop(number, 1)
    seen: list[Progress] = []
    await run(portal, steps(120), on_progress=seen.append)
    assert seen[-1] == Progress(done=69, total=120, refused=1, unknown=50)
    assert len(seen) == 3
