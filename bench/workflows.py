"""What workflows cost: the engine alone, the engine over the journal beside the bare platform, uneven lanes, and compiling.

"A tuum" is the processor time of a tuum that ends at once, so that the critical path is nothing: all of the engine without a journal, on a
chain, a fan and a ladder of 1,000. Journalled, it is that of the whole process from the order of a run to the last byte of journal and
audit log, beside an engine that keeps one value for each tuum of the same document and does nothing else. Lanes are ten chains of ten, each
with one slow tuum at a level of its own. The peers run the same graphs in the same process, as far as they are installed. How soon people
see what a workflow shows is measured in `displays.py`.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

from pydantic import Field

from bench.displays import display_benches
from bench.peers_flows import Passed
from bench.peers_workflows import measure_peers
from bench.runs import build_row, build_settings, started
from engines.workflows.core.compile import CompiledWorkflow, compile_workflow
from engines.workflows.core.definition import Workflow
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.execution import execute_workflow
from engines.workflows.core.registry import build_rune_types
from engines.workflows.core.rune_types import AUTHOR, Changes, Local, RuneCall, RuneParams, RuneType, RuneTypes
from engines.workflows.core.surroundings import Surroundings
from orchestrator.domain.run_inputs import RunStart
from orchestrator.domain.taint import UNDECLARED, Origins, Value
from orchestrator.engines.runs import Definition, NodeState, RunContext, RunEngine, RunInfo, RunResult, run_all
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.model_client.router import ModelRouter
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime.worker import Orchestrator
from state.clock import generate_id
from state.journal.run_index import RunFilter
from state.model.run_state import ENDED

COUNT, LONG = 1_000, 10_000
LANES, SLOW, QUICK = 10, 0.5, 0.05
TRIES = 5
WITHIN = 120.0
POLL = 0.01
WORKFLOW: Final = "workflow"
Needs = Sequence[Sequence[int]]


class PassParams(RuneParams):
    """What a rune of this bench reads and gives, and after how long."""

    reads: list[Local] = Field(default_factory=list)
    output: Local
    seconds: float = 0


async def _pass_on(call: RuneCall[PassParams]) -> Changes:
    if call.params.seconds:
        await asyncio.sleep(call.params.seconds)
    return {call.params.output: Value(sum(call.variables[name].data for name in call.params.reads) % 1000 + 1)}


def build_types() -> RuneTypes:
    """Return the types of runes, with one that adds what it reads, at once or after a while."""
    passing = RuneType[PassParams](
        name="pass",
        summary="Adds numbers.",
        params=PassParams,
        perform=_pass_on,
        list_consumes=lambda params: params.reads,
        list_produces=lambda params: (params.output,),
    )
    return build_rune_types([passing])


def build_workflow(needs: Needs, seconds: Sequence[float] = ()) -> dict[str, Any]:
    """Return a workflow whose tuums wait for those that `needs` says, and take so long."""
    tuums = [
        {
            "tuumId": f"t{number}",
            "runes": [
                {
                    "runeType": "pass",
                    "reads": [f"v{one}" for one in needed],
                    "output": "out",
                    "seconds": seconds[number] if seconds else 0.0,
                }
            ],
            "outputMappings": {f"v{number}": "out"},
        }
        for number, needed in enumerate(needs)
    ]
    return {"workflowId": "plan", "metadata": {"title": "Проба"}, "terminal": {"rawText": f"v{len(needs) - 1}"}, "tuums": tuums}


def build_chain(count: int) -> Needs:
    """Return the graph in which each waits for the one before."""
    return [[number - 1] if number else [] for number in range(count)]


def build_fan(count: int) -> Needs:
    """Return the graph in which all but two wait for the first, and the last for all of them."""
    return [[], *([0] for _ in range(count - 2)), list(range(1, count - 1))]


def build_ladder(count: int) -> Needs:
    """Return the graph in which two wait for one, and the next for both."""
    needs: list[list[int]] = [[]]
    for number in range(1, count):
        place = (number - 1) % 3
        needs.append([number - 1] if place == 0 else [number - 2] if place == 1 else [number - 2, number - 1])
    return needs


def build_lanes() -> tuple[Needs, Sequence[float]]:
    """Return chains side by side, of which each has a slow one at a level of its own, and how long each takes."""
    needs: list[list[int]] = []
    seconds: list[float] = []
    for lane in range(LANES):
        for place in range(LANES):
            needs.append([len(needs) - 1] if place else [])
            seconds.append(SLOW if place == lane else QUICK)
    return needs, seconds


SHAPES: Final = {"chain": build_chain, "fan": build_fan, "ladder": build_ladder}


class BareContext:
    """A run without a journal: nothing is kept, and nothing has been done before."""

    def __init__(self) -> None:
        """Be a run of nobody."""
        self.run = RunInfo(run_id="bench", definition=Definition(key="plan"), owner="tg:7", home="tg:7")

    def find_state(self, node: str, *, is_message: bool = False) -> NodeState:
        """Return that nothing is known."""
        del node, is_message
        return "new"

    async def memo(self, node: str, make: Callable[[], Awaitable[Any]], *, origins: Origins = UNDECLARED) -> Value:
        """Return what is made."""
        del node
        return Value(await make(), origins)


async def workflow_benches() -> list[dict[str, Any]]:
    """The engine on three shapes, journalled, on uneven lanes; compiling; a long chain; display updates."""
    gc.collect()
    gc.freeze()  # as `sdelka run` does: what was imported is not looked through for garbage
    types = build_types()
    rows = []
    for shape, build in SHAPES.items():
        compiled = _compile(build(COUNT), types)
        around = Surroundings(types=types, scripts=ScriptRunner(), show=_show_nothing)  # of one workflow, as the engine keeps it
        each = min([(await _play_bare(compiled, around)).processor for _ in range(2 * TRIES)]) / COUNT * 1e6
        beside = await measure_peers(build(COUNT), 2)
        rows.append(_row(f"workflow: a tuum of 1,000, {shape}", round(each, 1), "us", "<= 20", holds=each <= 20, versus=beside))
    lanes, seconds = build_lanes()
    path = SLOW + (LANES - 1) * QUICK
    compiled = _compile(lanes, types, seconds)
    around = Surroundings(types=types, scripts=ScriptRunner(), show=_show_nothing)
    times = min([(await _play_bare(compiled, around)).wall for _ in range(TRIES)]) / path
    beside = await measure_peers(lanes, 1, seconds)
    rows.append(_row("workflow: uneven lanes beside critical path", round(times, 3), "x", "<= 1.02", holds=times <= 1.02, versus=beside))
    ready = max(_measure_compiling(build(COUNT), types) for build in SHAPES.values()) * 1000
    rows.append(_row("workflow: 1,000 tuums compiled", round(ready, 1), "ms", "<= 50", holds=ready <= 50, versus="chain, fan, ladder"))
    rows += await _measure_journalled(types)
    return [*rows, *await display_benches()]


def _compile(needs: Needs, types: RuneTypes, seconds: Sequence[float] = ()) -> CompiledWorkflow:
    return compile_workflow(Workflow.model_validate(build_workflow(needs, seconds)), {}, types)


async def _play_bare(compiled: CompiledWorkflow, around: Surroundings) -> Passed:
    """Return what one run without a journal takes."""
    begun, at = time.process_time(), time.perf_counter()
    ended = await execute_workflow(cast("RunContext", BareContext()), compiled, {}, around)
    passed = Passed(time.process_time() - begun, time.perf_counter() - at)
    if len(ended.result.finished) != len(compiled.tuums):
        raise RuntimeError(ended.result.error_message)
    return passed


async def _show_nothing(*_: object) -> None:
    """Show nothing."""


def _measure_compiling(needs: Needs, types: RuneTypes) -> float:
    """Return the seconds of processor time in which a workflow is ordered."""
    workflow, seconds = Workflow.model_validate(build_workflow(needs)), []
    for _ in range(TRIES):
        begun = time.process_time()
        compile_workflow(workflow, {}, types)
        seconds.append(time.process_time() - begun)
    return min(seconds)


class MemoEngine(RunEngine):
    """Keeps one value for each tuum, one after the other or all side by side, and does nothing else."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Keep them."""

        async def make() -> Mapping[str, Any]:
            return {"variables": {"v": {"data": 1, "origins": []}}, "operations": []}

        definition = ctx.run.definition
        names = [one["tuumId"] for one in definition.document["tuums"]]
        if definition.key == "fan":
            await run_all(*(ctx.memo(name, make, origins=AUTHOR) for name in names))
        else:
            for name in names:
                await ctx.memo(name, make, origins=AUTHOR)
        return RunResult()


async def _measure_journalled(types: RuneTypes) -> list[dict[str, Any]]:
    """Return the rows of runs over the journal."""
    shapes = {"chain": build_workflow(build_chain(COUNT)), "fan": build_workflow(build_fan(COUNT))}
    documents = {(engine, shape): document for engine in ("plain", WORKFLOW) for shape, document in shapes.items()}
    documents[WORKFLOW, "long"] = build_workflow(build_chain(LONG))
    made: dict[str, RunEngine] = {"plain": MemoEngine(), WORKFLOW: WorkflowEngine(types, ScriptRunner())}
    engines = Engines(runs={name: RegisteredEngine(engine=one) for name, one in made.items()}, definitions=StaticDefinitions(documents))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        async with started(build_settings(Path(folder)), engines, ModelRouter([], {})) as orchestrator:
            costs: dict[tuple[str, str], list[Passed]] = {one: [] for one in list(documents)[:4]}
            for _ in range(2 * TRIES):
                for one, found in costs.items():
                    found.append(await _play(orchestrator, *one))
            bare_chain, bare_fan, chain, fan = (min(one.processor for one in found[1:]) / COUNT * 1e6 for found in costs.values())
            long = await _play(orchestrator, WORKFLOW, "long")
    times = max(chain / bare_chain, fan / bare_fan)
    beside = f"us of CPU a tuum: chain {chain:.0f} beside {bare_chain:.0f}, fan {fan:.0f} beside {bare_fan:.0f}"
    return [
        _row("workflow: journalled beside the bare platform", round(times, 2), "x", "<= 1.3", holds=times <= 1.3, versus=beside),
        _row("workflow: a chain of 10,000, journalled", round(long.wall, 1), "s", "runs", holds=True, versus=f"CPU {long.processor:.1f} s"),
    ]


async def _play(orchestrator: Orchestrator, engine: str, definition: str) -> Passed:
    """Return what it takes from the order until the run is done and audited."""
    given = {PARAMETERS: Value({}, frozenset({"person"})).to_stored()}
    order = RunStart(engine=engine, definition=definition, home="tg:7", args=given)
    run_id = generate_id()
    begun, at = time.process_time(), time.perf_counter()
    await orchestrator.receive([build_row(f"run:{run_id}", RunStart.KIND, order.to_json())])
    async with asyncio.timeout(WITHIN):
        seen = RunFilter(run_id=run_id)
        while not (found := await orchestrator.tools.store.list_runs(seen)) or found[0].status not in ENDED:  # noqa: ASYNC110 - as clients do
            await asyncio.sleep(POLL)
    wall = time.perf_counter() - at
    if found[0].status != "done":
        raise RuntimeError(f"the run ended as {found[0].status}")
    await asyncio.to_thread(orchestrator.tools.audit.wait, WITHIN)
    return Passed(time.process_time() - begun, wall)


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool, versus: str) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": versus}
