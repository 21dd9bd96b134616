"""Bounds in time and memory: 10,000 nodes, values of the largest size, and a portal that never answers or answers nonsense."""

import asyncio
import resource
import tracemalloc
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import WeakSet

import httpx
import pytest

from orchestrator.domain.outputs import build_reply
from orchestrator.engines.runs import MAX_NODES, Ask, RunContext, RunEffect, RunResult
from orchestrator.runtime import worker
from orchestrator.sessions.session import MAX_BUFFERED
from tests.unit.runs.function_kit import a_function_world, ended
from tests.unit.runs.runs_kit import RUN, a_run_world, events, index, start, steps
from tests.unit.runs.test_runs_wait import WRITE, texts
from tests.unit.spine_kit import World, message, press, until
from tests.unit.spine_portal import Portal

pytestmark = pytest.mark.req("G1")
PEAK = 128 * 1024
"""KiB: how much more memory than before the process may need at once for one run of 10,000 nodes."""


async def _give() -> int:
    return 7


@pytest.mark.long
async def test_ten_thousand_nodes_are_done_and_read_back(tmp_path: Path) -> None:
    """One pass, a wait, and a second pass that makes nothing again; the memory that it needs is bounded."""
    made = []

    async def make() -> int:
        made.append(1)
        return 7

    async def play(ctx: RunContext) -> RunResult:
        for number in range(MAX_NODES - 2):
            await ctx.memo(f"n{number}", make)
        await ctx.wait_input("end", Ask(text="Дальше?", takes=frozenset({"text"})))
        await ctx.say(build_reply(text="Всё"), key="all")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        await world.work(start("plan"))
        await world.work(message("да"))
        assert (ended(world), len(made)) == ([("done", "")], MAX_NODES - 2)
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert more < PEAK, f"{more} KiB"


@pytest.mark.long
async def test_nodes_that_never_wait_are_stored_and_let_others_work_meanwhile(tmp_path: Path) -> None:
    """An engine whose nodes give their values at once does not hold the loop until its end, nor keep all its notes in memory."""
    seen: list[int] = []

    async def look(world: World) -> None:
        while not ended(world):
            seen.append(len(events(world, "NodeDone")))
            await asyncio.sleep(0)

    async def play(ctx: RunContext) -> RunResult:
        looking = asyncio.ensure_future(look(world))
        for number in range(5 * MAX_BUFFERED):
            await ctx.memo(f"n{number}", _give)
        looking.cancel()
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        assert ended(world) == [("done", "")]
        gaps = [after - before for before, after in pairwise(seen)]
        assert seen[-1] >= 3 * MAX_BUFFERED
        assert max(gaps) <= 2 * MAX_BUFFERED


class Large(str):
    """A text whose life can be watched."""

    __slots__ = ("__weakref__",)


@pytest.mark.long
async def test_large_values_are_stored_and_not_kept_in_memory(tmp_path: Path) -> None:
    """What an engine does not keep itself is let go node by node, by notes, memo and audit; a second pass reads each again."""
    alive: WeakSet[Large] = WeakSet()
    most, lengths = 0, []

    async def make() -> Large:
        large = Large("я" * 900_000)
        alive.add(large)
        return large

    async def play(ctx: RunContext) -> RunResult:
        nonlocal most
        for number in range(30):
            lengths.append(len((await ctx.memo(f"n{number}", make)).data))
            most = max(most, len(alive))
        await ctx.wait_input("end", Ask(text="Дальше?", takes=frozenset({"text"})))
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        tracemalloc.start()
        await world.work(start("plan"))
        peak = tracemalloc.get_traced_memory()[1] // 1024
        tracemalloc.stop()
        await world.work(message("да"))
        assert ended(world) == [("done", "")]
    assert lengths == [900_000] * 60
    assert most <= 2
    assert peak < 80_000, f"{peak} KiB"  # 50,000; all values with what is made of them on their way take 210,000


@pytest.mark.parametrize("kind", ["memo", "say", "sleep"])
async def test_a_run_of_more_nodes_ends(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the nodes are; the sentence names the bound."""
    monkeypatch.setattr("orchestrator.runs.nodes.MAX_NODES", 20)

    async def play(ctx: RunContext) -> RunResult:
        for number in range(10**9):
            match kind:
                case "memo":
                    await ctx.memo(f"n{number}", _give)
                case "say":
                    await ctx.say(build_reply(text="x"), key=f"n{number}")
                case _:
                    await ctx.sleep(f"n{number}", ctx.now)
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        await world.work(start("plan"))
        assert ended(world) == [("failed", "run-too-long")]
        assert len(events(world)) < 100


async def lose(_portal: Portal, _method: str, _params: dict[str, Any]) -> httpx.Response:
    """The connection breaks before an answer comes, and the call took effect."""
    _portal.answer(_method, _params)
    raise httpx.ReadTimeout("no answer")


async def fail(_portal: Portal, _method: str, _params: dict[str, Any]) -> httpx.Response:
    raise httpx.ConnectTimeout("no connection")


GARBAGE = [b"", b"<html>502</html>", b'{"result":', b"null", b"[]", b'{"odd": 1}', b"\xff\xfe\x00", b'{"result": ' + b"[" * 5000]


async def test_a_write_whose_answer_never_comes_waits_and_is_reconciled(tmp_path: Path) -> None:
    """The run does not go on while nobody knows; once the portal shows the value, it does, and the write is one."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE, {"say": "Дальше"})}) as world:
        await world.work(start("plan"))
        (shown,) = [row for row in world.outbox() if row.kind == "card"]
        world.portal.will("crm.deal.update", lose)
        await world.work(press(shown.body, key=RUN))
        for _ in range(10):
            if index(world).status != "waiting":
                break
            world.clock.advance(worker.IDLE)
            await world.work()
        assert (ended(world), "Дальше" in texts(world)) == ([("done", "")], True)
        assert len(world.portal.written("crm.deal.update")) == 1


@pytest.mark.parametrize("content", GARBAGE, ids=range(len(GARBAGE)))
@pytest.mark.parametrize("method", ["crm.deal.get", "crm.deal.update"])
async def test_a_portal_that_answers_nonsense_never_gets_a_write_twice(tmp_path: Path, method: str, content: bytes) -> None:
    """A read fails with a sentence, a write waits until it is known what became of it."""

    async def odd(portal: Portal, name: str, params: dict[str, Any]) -> httpx.Response:
        portal.answer(name, params)
        return httpx.Response(200, content=content)

    params = {"id": 481} if method == "crm.deal.get" else WRITE["params"]

    async def play(ctx: RunContext) -> RunResult:
        outcome = await ctx.submit("call", RunEffect(method=method, params=params))
        await ctx.say(build_reply(text=outcome.status), key="end")
        return RunResult()

    async with a_function_world(tmp_path, play) as world:
        if method == "crm.deal.get":
            world.portal.will(method, *[odd] * 10)
        await world.work(start("plan"))
        for shown in [row for row in world.outbox() if row.kind == "card"]:
            world.portal.will(method, odd)
            await world.work(press(shown.body, key=RUN))
        assert index(world).status in {"done", "waiting", "failed"}
        assert len(world.portal.written("crm.deal.update")) == (method == "crm.deal.update")


async def test_a_portal_that_cannot_be_reached_ends_in_a_sentence(tmp_path: Path) -> None:
    """The read that a write needs does not come: nothing is sent, and the run can be retried."""
    async with a_run_world(tmp_path, {"plan": steps(WRITE)}) as world:
        world.portal.will("crm.deal.get", *[fail] * 10)
        await world.work(start("plan"))
        assert ended(world) == [("failed", "run-step-refused")]
        assert world.portal.written() == []


async def test_a_portal_that_hangs_does_not_hold_up_the_chat(tmp_path: Path) -> None:
    """The person is answered while the run waits for the portal."""
    free = asyncio.Event()

    async def hang(portal: Portal, name: str, params: dict[str, Any]) -> httpx.Response:
        await free.wait()
        return portal.answer(name, params)

    async with a_run_world(tmp_path, {"plan": steps(WRITE)}) as world:
        world.portal.will("crm.deal.get", hang)
        world.model.will("THOUGHT:\nничего\nACTION:\n[]\nASSISTANT:\nДобрый день")
        async with world.working():
            await world.orchestrator.receive([start("plan")])
            await world.orchestrator.receive([message("привет")])
            said: list[str] = []
            await until(lambda: bool(said or said.extend(texts(world)) or said))
            assert said == ["Добрый день"]
            free.set()
            await world.idle()
        assert index(world).status == "waiting"
