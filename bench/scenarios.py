"""What scenarios cost: 1,000 steps, a third each of messages, branches with a condition, and changes of variables; the peers stand beside.

"In memory" is the engine with a run that stores nothing. "Journalled" is the product on SQLite on disk with synchronous=FULL and
scenario_executor.log: from the order of the run to the last byte of journal, log and audit log. Both are the best of several tries after
the first, which also compiles the scenario; the compilation stands in a row of its own. Processor time of the whole process, so that other
programs of the machine do not count; only beside Burr it is the time that passes for both, since a flush of the disk for each step is most
of what its checkpoints cost. They do not promise the same: Burr and LangGraph store the state after each step, this program stores what
cannot be had again (messages, answers, effects) with each commit and plays the pure steps between anew. The floor is what one transaction
of the bare driver takes in the same run.
"""

import asyncio
import gc
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final, cast

from bench.peers_scenarios import Figures, measure_peers
from bench.runs import ANNA, build_row, build_settings, started
from engines.scenarios.core.engine import ScenarioEngine
from engines.scenarios.core.kind import build_kind
from engines.scenarios.core.registry import build_step_types
from engines.scenarios.log_file import NAME, keep_scenario_log
from orchestrator.definitions.kinds import find_mistakes
from orchestrator.documents.reading import read_document
from orchestrator.domain.actor import Actor, Mode
from orchestrator.domain.outputs import Reply
from orchestrator.domain.run_inputs import RunStart
from orchestrator.engines.runs import Definition, NodeState, RunContext, RunInfo
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime.worker import Orchestrator
from state.canonical import dumps
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.model.run_state import ENDED

STEPS = 1000
TRIES = 7
WITHIN = 12.0
POLL = 0.02
COMMITS = 200
CONDITION = "context.get('n', 0) >= {least} and name in ['Анна', 'Борис']"


class MemoryContext:
    """A run that stores nothing, as far as the steps of this file need it."""

    def __init__(self, document: object) -> None:
        """Play this scenario."""
        self.run = RunInfo(
            run_id="1", definition=Definition(key="bench", document=document), owner=ANNA.key, home="tg:7", owner_name="Анна"
        )
        self.actor: Actor = ANNA
        self.mode: Mode = "full"
        self.said = 0

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        """Nothing was played before."""
        del node, is_message
        return "new"

    async def say(self, reply: Reply, *, key: str, message: str = "") -> None:
        """Count the message."""
        del reply, key, message
        self.said += 1


def build_scenario(*, has_messages: bool = True) -> dict[str, Any]:
    """Return a scenario of `STEPS` steps; without messages it has changes of variables in their place."""
    steps: list[dict[str, Any]] = []
    for number in range(STEPS):
        step: dict[str, Any] = {"id": f"step_{number}"}
        if number % 3 == 0 and has_messages:
            step |= {"type": "message", "params": {"text": "Шаг {n}: {name}"}}
        elif number % 3 == 1 and number < STEPS - 1:
            target = f"step_{number + 1}"
            step |= {"type": "branch", "condition": CONDITION.format(least=number), "branches": {"if": target, "else": target}}
        else:
            step |= {"type": "update_context", "params": {"updates": {"n": number + 20, "last": "{name}"}}}
        steps.append(step)
    return {"name": "Тысяча шагов", "initial_context": {"n": 20, "name": "Анна"}, "steps": steps}


DURABILITY: Final = "Burr stores each step, here a commit stores messages and effects, and pure steps are played again"
"""What the comparison must say of itself: the figures buy different things."""


async def scenario_benches() -> list[dict[str, Any]]:
    """Steps in memory and journalled, the compilation and the validation of 1,000 steps, and the peers."""
    gc.collect()
    gc.freeze()  # as `sdelka run` does: what was imported is not looked through for garbage
    compiled, memory = await _measure_memory()
    checked = await asyncio.to_thread(_measure_validation)
    pure, _ = await _measure_journalled(build_scenario(has_messages=False))
    journalled, passed = await _measure_journalled(build_scenario())
    commit = await asyncio.to_thread(_measure_commit)
    peers = await asyncio.to_thread(measure_peers, STEPS)
    burr = next((one.passed for one in peers if one.name == "Burr + SQLite" and one.rate), 0.0)
    times = round(passed / burr, 1) if burr else 0.0
    plain, stored = _tell([one for one in peers if not one.is_stored]), _tell([one for one in peers if one.is_stored])
    beside = f"passed: {passed:.0f}/s, Burr + SQLite {burr:.0f}/s; {DURABILITY}" if burr else stored
    floor = f"one commit with fsync {commit * 1e6:.0f} µs"
    return [
        _row("scenario: steps in memory", round(memory), "1/s", ">= 30000", holds=memory >= 30_000, versus=plain),
        _row("scenario: steps journalled, log on", round(journalled), "1/s", ">= 5000", holds=journalled >= 5000, versus=stored),
        _row("scenario: journalled beside Burr", times, "x", ">= 5", holds=times >= 5 if burr else None, versus=beside),
        _row("scenario: journalled without messages", round(pure), "1/s", "", holds=None, versus=floor),
        _row("scenario: 1,000 steps validated", round(checked * 1000, 1), "ms", "<= 100", holds=checked <= 0.1),
        _row("scenario: 1,000 steps compiled, once", round(compiled * 1000, 1), "ms", "", holds=None),
    ]


def _tell(peers: list[Figures]) -> str:
    """Return the figures of peers in one line; one that is not installed is named as such."""
    return ", ".join(f"{one.name} {one.rate:.0f}/s" if one.rate else f"{one.name} is not installed" for one in peers)


async def _measure_memory() -> tuple[float, float]:
    """Return (seconds of compiling the scenario, steps a second)."""
    document, engine = build_scenario(), ScenarioEngine(build_step_types())
    seconds: list[float] = []
    for _ in range(TRIES):
        context = MemoryContext(document)
        begun = time.process_time()
        await engine.run(cast("RunContext", context))
        seconds.append(time.process_time() - begun)
        if context.said < STEPS // 3:
            raise RuntimeError("the scenario did not say what it should")
    return seconds[0] - min(seconds), STEPS / min(seconds)


def _measure_validation() -> float:
    """Return the seconds in which the text of the scenario is read and checked."""
    text, kind = dumps(build_scenario()), build_kind(build_step_types())
    seconds = []
    for _ in range(TRIES):
        begun = time.process_time()
        if any(one.severity == "error" for one in find_mistakes(kind, read_document(text))):
            raise RuntimeError("the scenario is wrong")
        seconds.append(time.process_time() - begun)
    return min(seconds)


async def _measure_journalled(document: dict[str, Any]) -> tuple[float, float]:
    """Return how many steps the product does in a second of processor time and in one that passes, with its log on."""
    engines = Engines(
        runs={"scenario": RegisteredEngine(engine=ScenarioEngine(build_step_types()))},
        definitions=StaticDefinitions({("scenario", "plan"): document}),
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = build_settings(Path(folder))
        with keep_scenario_log(settings.log_dir, "INFO"):
            async with started(settings, engines) as orchestrator:
                seconds = [await _play(orchestrator) for _ in range(TRIES)]
        lines = sum(path.read_text(encoding="utf-8").count(" done in ") for path in settings.log_dir.glob(f"{NAME}*"))
        if lines != STEPS * TRIES:
            raise RuntimeError(f"the log tells {lines} steps of {STEPS * TRIES}")
    return STEPS / min(one[0] for one in seconds), STEPS / min(one[1] for one in seconds)


async def _play(orchestrator: Orchestrator) -> tuple[float, float]:
    """Return the seconds of processor time, and those that pass, from the order until the run is over and audited."""
    order = RunStart(engine="scenario", definition="plan", home="tg:7")
    key = f"run:{generate_id()}"
    begun, at = time.process_time(), time.perf_counter()
    await orchestrator.receive([build_row(key, RunStart.KIND, order.to_json())])
    seen = RunFilter(run_id=key.removeprefix("run:"))
    async with asyncio.timeout(WITHIN):
        while not (found := await orchestrator.tools.store.list_runs(seen)) or found[0].status not in ENDED:  # noqa: ASYNC110 - as clients do
            await asyncio.sleep(POLL)
    await asyncio.to_thread(orchestrator.tools.audit.wait, WITHIN)
    seconds = time.process_time() - begun, time.perf_counter() - at
    if found[0].status != "done":
        raise RuntimeError(f"the run ended as {found[0].status}")
    return seconds


def _measure_commit() -> float:
    """Return the seconds of wall time of one small transaction of the bare driver on the same disk, flushed."""
    with tempfile.TemporaryDirectory() as folder, closing(sqlite3.connect(Path(folder) / "floor.db")) as database:
        database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE one (seq INTEGER PRIMARY KEY, data)")
        begun = time.perf_counter()
        for number in range(COMMITS):
            with database:
                database.execute("INSERT INTO one VALUES (?, ?)", (number, "x" * 300))
        return (time.perf_counter() - begun) / COMMITS


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None, versus: str = "") -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus or f"{STEPS} steps"}
