"""What flows cost: the engine and the journal beside agents that answer at once, many runs at once, and the check of a long flow.

SQLite on disk with synchronous=FULL. "A step" is processor time of the whole process from the order of a run to the last byte of journal
and audit log, by step: prompt, budget, model's answer noted and stored, memory, progress. "At once" is the time that passes for 100 runs of
4 steps with agents of 50 ms of which 20 are asked at a time: nothing could take less than a second. LangGraph with its SQLite checkpoints
stands beside both, in the same process. The best of several tries counts, after a first one that warms up.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.peers_flows import Passed, measure_langgraph
from bench.runs import build_row, build_settings, started
from engines.flows.core.engine import FlowEngine
from engines.flows.core.kind import FLOW, FLOWS
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.reading import read_document
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.run_inputs import RunStart
from orchestrator.domain.taint import Value
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.model_client.providers import OpenAiProvider
from orchestrator.model_client.router import ModelRouter, Route
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime.worker import Orchestrator
from state.canonical import dumps
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.model.run_state import ENDED

LONG, CHECKED = 100, 200
RUNS, STEPS, PAUSE, AT_ONCE = 100, 4, 0.05, 20
IDEAL = RUNS * STEPS * PAUSE / AT_ONCE
TRIES = 5
WITHIN = 60.0
POLL = 0.01
ANSWER = "Готово: требования собраны."


class Agents:
    """The model service: answers after a pause."""

    def __init__(self, pause: float) -> None:
        """Answer so many seconds after each question."""
        self._pause = pause

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any) -> ModelAnswer:
        """One answer in one piece."""
        del payload, on_delta
        if self._pause:
            await asyncio.sleep(self._pause)
        return ModelAnswer(ANSWER, 1, 1, "bench", "stop", 0.0)


def build_flow(count: int) -> dict[str, Any]:
    """Return a flow of so many steps, each of which reads and writes memory."""
    steps: list[dict[str, Any]] = []
    for number in range(count):
        after = {"next": f"step_{number + 1}"} if number + 1 < count else {"complete": True}
        steps.append(
            {
                "id": f"step_{number}",
                "name": f"Шаг {number}",
                "agentVersionId": "writer",
                "maxAttempts": 2,
                "memoryReads": [{"channel": "notes", "limit": 3}],
                "memoryWrites": [{"channel": "notes"}],
                "transitions": {"onSuccess": after},
            }
        )
    outputs = {"resultPayload": {"last": f"$steps.step_{count - 1}.output.content"}}
    parameters = [{"name": "client"}]
    return {"flowId": "plan", "metadata": {"title": "Проба"}, "launchParameters": parameters, "steps": steps, "outputs": outputs}


async def flow_benches() -> list[dict[str, Any]]:
    """The cost of a step, 100 runs at once, the check of 200 steps, and LangGraph beside."""
    gc.collect()
    gc.freeze()  # as `sdelka run` does: what was imported is not looked through for garbage
    long = await _measure(LONG, 1, pause=0, at_once=AT_ONCE)
    many = await _measure(STEPS, RUNS, pause=PAUSE, at_once=AT_ONCE)
    checked = await asyncio.to_thread(_measure_validation)
    places = asyncio.Semaphore(AT_ONCE)

    async def answer_at_once() -> str:
        return ANSWER

    async def answer_later() -> str:
        async with places:
            await asyncio.sleep(PAUSE)
        return ANSWER

    peer_long = await measure_langgraph(LONG, 1, answer_at_once, TRIES)
    peer_many = await measure_langgraph(STEPS, RUNS, answer_later, TRIES)
    step, times = long.processor / LONG * 1000, many.wall / IDEAL
    beside = f"LangGraph + SQLite {peer_long.processor / LONG * 1000:.2f} ms" if peer_long else "LangGraph is not installed"
    passed = f"{many.wall:.2f} s, CPU {many.processor:.2f} s; LangGraph + SQLite " + (
        f"{peer_many.wall:.2f} s, CPU {peer_many.processor:.2f} s" if peer_many else "is not installed"
    )
    return [
        _row("flow: a step journalled, CPU", round(step, 2), "ms", "<= 1", holds=step <= 1, versus=beside),
        _row("flow: 100 runs at once beside ideal", round(times, 2), "x", "<= 1.25", holds=times <= 1.25, versus=passed),
        _row("flow: 200 steps validated", round(checked * 1000, 1), "ms", "<= 50", holds=checked <= 0.05, versus=f"{CHECKED} steps"),
    ]


async def _measure(steps: int, runs: int, *, pause: float, at_once: int) -> Passed:
    """Return the best of several tries of so many runs at once."""
    engines = Engines(
        runs={FLOW: RegisteredEngine(engine=FlowEngine(_find_agents))},
        definitions=StaticDefinitions({(FLOW, "plan"): build_flow(steps)}),
    )
    route = Route(name="bench", provider=OpenAiProvider(Agents(pause)), parallel=at_once)  # type: ignore[arg-type]  # answers in a stream alone
    with tempfile.TemporaryDirectory() as folder:
        async with started(build_settings(Path(folder)), engines, ModelRouter([route], {})) as orchestrator:
            found = [await _play_all(orchestrator, runs) for _ in range(TRIES + 1)][1:]
    return Passed(min(one.processor for one in found), min(one.wall for one in found))


async def _find_agents(versions: list[str], /) -> Mapping[str, object]:
    return {one: {"systemPrompt": "Ты собираешь требования."} for one in versions}


async def _play_all(orchestrator: Orchestrator, runs: int) -> Passed:
    """Return what it takes from the orders until all runs are done and audited."""
    given = {PARAMETERS: Value({"client": "Ромашка"}, frozenset({"person"})).to_stored()}
    order = RunStart(engine=FLOW, definition="plan", home="tg:7", args=given)
    keys = [f"run:{generate_id()}" for _ in range(runs)]
    rows = [build_row(key, RunStart.KIND, order.to_json()) for key in keys]
    begun, at = time.process_time(), time.perf_counter()
    await orchestrator.receive(rows)
    async with asyncio.timeout(WITHIN):
        for key in keys:
            await _wait(orchestrator, key.removeprefix("run:"))
    wall = time.perf_counter() - at
    await asyncio.to_thread(orchestrator.tools.audit.wait, WITHIN)
    return Passed(time.process_time() - begun, wall)


async def _wait(orchestrator: Orchestrator, run_id: str) -> None:
    seen = RunFilter(run_id=run_id)
    while not (found := await orchestrator.tools.store.list_runs(seen)) or found[0].status not in ENDED:  # noqa: ASYNC110 - as clients do
        await asyncio.sleep(POLL)
    if found[0].status != "done":
        raise RuntimeError(f"the run ended as {found[0].status}")


def _measure_validation() -> float:
    """Return the seconds of processor time in which the text of a flow is read and checked."""
    text, seconds = dumps(build_flow(CHECKED)), []
    for _ in range(TRIES):
        begun = time.process_time()
        if any(one.severity == "error" for one in find_mistakes(FLOWS, read_document(text))):
            raise RuntimeError("the flow is wrong")
        seconds.append(time.process_time() - begun)
    return min(seconds)


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool, versus: str) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
