"""After a failure a tuum that waits for its turn at the bound of an AI service asks no model any more: that would cost money (S003-X4)."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.scheduler import NotStarted
from engines.workflows.core.surroundings import Bounds, Halt
from engines.workflows.core.tuum_work import NO_ANSWER
from orchestrator.domain.errors import ModelClientError
from orchestrator.domain.models import ModelAnswer
from orchestrator.engines.runs import RunFailed, RunModelRequest
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.rehearsals.rehearsal import Place, TakeText
from orchestrator.runtime import worker
from tests.unit.engines.workflows.played_kit import a_workflow_world, result, start
from tests.unit.engines.workflows.stage_kit import QuietOutside, Stage
from tests.unit.engines.workflows.test_callbacks import Stream
from tests.unit.engines.workflows.workflow_kit import TYPES, prompt, tuum, workflow
from tests.unit.runs.runs_kit import index
from tests.unit.runs.test_runs_wait import order


def asking(name: str, service: str = "tool") -> dict[str, Any]:
    return tuum(name, promptRunes=[prompt(name)], aiService=service, outputMappings={name: "ai_final_output"})


class SlowOutside(QuietOutside):
    """Models of which each answers when it is let; the tuum `fails` gets no answer as soon as another one has been asked."""

    def __init__(self) -> None:
        """Let nobody yet."""
        super().__init__()
        self.asked: list[str] = []
        self.begun, self.let = asyncio.Event(), asyncio.Event()

    async def ask_model(self, place: Place, request: RunModelRequest, on_delta: TakeText | None = None) -> Any:
        """The answer to the prompt."""
        del place, on_delta
        name = str(request.messages[-1]["content"])
        self.asked.append(name)
        if name.startswith("fails"):
            if name != "fails_alone":
                await self.begun.wait()
            await settle()
            raise RunFailed(NO_ANSWER, "no")
        self.begun.set()
        await self.let.wait()
        return name


async def settle() -> None:
    """Let all others go on as far as they can."""
    for _ in range(50):
        await asyncio.sleep(0)


@pytest.mark.req("S003-X4", "S003-A6")
@pytest.mark.parametrize(("on_failure", "later"), [("stop", []), ("finish", ["second"])])
async def test_who_waits_for_its_turn_asks_no_more_after_a_failure(on_failure: str, later: list[str]) -> None:
    """The call that goes on is brought to its end. With `finish` the other is asked, too, for it needs nothing of what failed."""
    async with ScriptRunner() as scripts:
        stage, outside = Stage(WorkflowEngine(TYPES, scripts, bounds=Bounds(calls=1))), SlowOutside()
        document = workflow(asking("first"), asking("second"), asking("fails", "other"), onFailure=on_failure)
        playing = asyncio.create_task(stage.play(document, outside))
        await outside.begun.wait()
        await settle()
        outside.let.set()
        ended = await playing
    assert outside.asked == ["first", "fails", *later]
    assert [one.text for one in outside.failures] == ["fails/ai: the model gave no answer: no"]
    finished = [name for name in ("first", "second", "fails") if outside.made[name]]
    assert (ended.code, finished) == ("workflow-tuum-failed", ["first", *later])


async def test_the_place_of_a_call_that_failed_is_not_taken_by_its_own_run() -> None:
    """It is free before the tuum that held it has failed."""
    async with ScriptRunner() as scripts:
        stage, outside = Stage(WorkflowEngine(TYPES, scripts, bounds=Bounds(calls=1))), SlowOutside()
        outside.let.set()
        await stage.play(workflow(asking("fails_alone"), asking("second")), outside)
    assert outside.asked == ["fails_alone"]


async def test_a_failed_run_neither_waits_for_the_calls_of_another_nor_stops_it() -> None:
    """It ends while the other still holds the only place, and what waits there for the other run is asked."""
    async with ScriptRunner() as scripts:
        stage, outside, failing = Stage(WorkflowEngine(TYPES, scripts, bounds=Bounds(calls=1))), SlowOutside(), SlowOutside()
        other = asyncio.create_task(stage.play(workflow(asking("first"), asking("second")), outside))
        await outside.begun.wait()
        ended = await asyncio.wait_for(stage.play(workflow(asking("waits"), asking("fails_alone", "other")), failing), 30)
        assert (ended.code, failing.asked) == ("workflow-tuum-failed", ["fails_alone"])
        outside.let.set()
        assert (await other).value.data["finished"] == ["first", "second"]
    assert outside.asked == ["first", "second"]


class Silent(Stream):
    """A service of models that answers nobody, once somebody waits for a place."""

    somebody_waits: asyncio.Event

    async def answer(self, payload: Mapping[str, Any], on_delta: Callable[[str], Awaitable[None]] | None = None) -> ModelAnswer:
        """Raise that there is no answer."""
        del payload, on_delta
        self.asked += 1
        await self.somebody_waits.wait()
        raise ModelClientError("silent")


async def test_a_retry_asks_what_had_not_been_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five tuums the model fails the four that have a place; the fifth is no failure, and a retry asks all five."""
    monkeypatch.setattr(worker, "POLL", 0.02)
    document = workflow(*(asking(name) for name in ("one", "two", "three", "four", "five")))
    somebody_waits, wait = asyncio.Event(), Halt._wait

    async def tell_and_wait(halt: Halt, places: asyncio.Semaphore) -> None:
        somebody_waits.set()  # nobody else runs until this one stands in the queue
        await wait(halt, places)

    monkeypatch.setattr(Halt, "_wait", tell_and_wait)
    async with a_workflow_world(tmp_path, document) as world:
        silent = Silent(world, [])
        silent.somebody_waits = somebody_waits
        stream: Stream = silent
        await world.work(start())
        assert (index(world).status, stream.asked) == ("failed", 4)
        stream = Stream(world, ["да"])
        await world.work(order("retry"))
        assert (result(world)["globals"]["five"], stream.asked) == ("да", 5)


@pytest.mark.parametrize("seed", range(30))
async def test_no_place_is_lost_or_held_twice(seed: int) -> None:
    """Whatever is cancelled, fails or ends while others wait, at the end all places are free, and never more than these were held."""
    dice = random.Random(seed)  # noqa: S311 - a plan is no secret
    places, halts, held, most = asyncio.Semaphore(2), [Halt(), Halt()], 0, 0

    async def hold(halt: Halt, rounds: int) -> None:
        nonlocal held, most
        async with halt.hold(places):
            held += 1
            most = max(most, held)
            try:
                for _ in range(rounds):
                    await asyncio.sleep(0)
            finally:
                held -= 1

    tasks = [asyncio.create_task(hold(dice.choice(halts), dice.randint(0, 3))) for _ in range(20)]
    for _ in range(6):
        await asyncio.sleep(0)
        dice.choice(tasks).cancel()
        if dice.random() < 0.3:
            halts[0].stop()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(one is None or isinstance(one, NotStarted | asyncio.CancelledError) for one in ended)
    assert (most, held) == (2, 0)
    await asyncio.wait_for(asyncio.gather(places.acquire(), places.acquire()), 30)
    assert places.locked()
