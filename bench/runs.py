"""What runs cost: SQLite on disk with synchronous=FULL, a model that answers at once, and engines that do nothing but go through nodes.

Processor time of the whole process, per node: a chain asks the model once after the other, a fan 1,000 times side by side, `memo` keeps
values without asking anybody. "Resume" is a second process that plays a run of 1,000 finished nodes from its stream.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bench.turn import InstantClient, InstantModel, Portal
from bot.bootstrap import build_from_clients, open_async_store
from bot.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.domain.run_inputs import RunPlay, RunStart
from orchestrator.engines.runs import Ask, RunContext, RunModelRequest, RunResult, run_all
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime.feature import merge_features
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock, generate_id
from state.journal.store import InboxRow
from state.stored import JsonObject

NODES = 1000
TRIES = 3
ANNA = Actor(key="tg:7", name="Анна", bitrix_user_id=7)
REQUEST = RunModelRequest(messages=[{"role": "user", "content": "?"}])


class NodesEngine:
    """Goes through `NODES` nodes as its definition says, and then waits for an answer if it is to be resumed."""

    replay = 1
    replays = frozenset({1})

    async def run(self, ctx: RunContext) -> RunResult:
        """Go through the nodes."""
        match ctx.run.definition.document["what"]:
            case "fan":
                await run_all(*(ctx.ask_model(str(number), REQUEST) for number in range(NODES)))
            case "chain":
                for number in range(NODES):
                    await ctx.ask_model(str(number), REQUEST)
            case _:
                for number in range(NODES):
                    await ctx.memo(str(number), _make_nothing)
        await ctx.wait_input("end", Ask(text="?", takes=frozenset({"text"})))
        return RunResult()


async def _make_nothing() -> str:
    return "ничего"


async def run_benches() -> list[dict[str, Any]]:
    """Nodes in a chain, in a fan and kept without asking, and the resume of a run of finished nodes."""
    found = {what: min([await _measure(what) for _ in range(TRIES)]) for what in ("fan", "chain", "memo")}
    chain, fan, memo = (found[what] for what in ("chain", "fan", "memo"))
    rate = round(NODES / memo[2])
    resumed = min(one[1] for one in found.values())
    return [
        _row("run: chain, CPU a node", round(chain[0], 3), "ms", "<= 0.9", holds=chain[0] <= 0.9),
        _row("run: fan, CPU a node", round(fan[0], 3), "ms", "<= 0.3", holds=fan[0] <= 0.3),
        _row("run: resume, CPU a finished node", round(resumed, 3), "ms", "<= 0.2", holds=resumed <= 0.2),
        _row("run: NodeDone noted", rate, "1/s", ">= 8000", holds=rate >= 8000),
    ]


async def _measure(what: str) -> tuple[float, float, float]:
    """Return (ms of CPU a node when it is done, ms of CPU a node when the run is resumed, seconds of CPU for all nodes)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        settings = Settings(
            bitrix_webhook_url=SecretStr("https://example.bitrix24.ru/rest/1/bench00000/"),
            openai_api_key=SecretStr("bench"),
            agent_mode="full",
            state_dir=path / "state",
            log_dir=path / "logs",
            _env_file=None,
        )
        key = f"run:{generate_id()}"
        order = RunStart(engine="nodes", definition=what, home="tg:7")
        async with _started(settings) as orchestrator:
            done = await _work(orchestrator, _build_row(key, RunStart.KIND, order.to_json()))
        async with _started(settings) as orchestrator:
            again = await _work(orchestrator, _build_row(key, RunPlay.KIND, {}))
    return done * 1000 / NODES, again * 1000 / NODES, done


async def _work(orchestrator: Orchestrator, row: InboxRow) -> float:
    """Return the seconds of CPU until the input is worked; it is the only one."""
    worked = asyncio.Event()
    orchestrator.listeners.append(worked.set)
    begun = time.process_time()
    await orchestrator.receive([row])
    await worked.wait()
    return time.process_time() - begun


def _build_row(key: str, kind: str, body: JsonObject) -> InboxRow:
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=fresh, session=key, lane="turn", kind=kind, actor=ANNA.model_dump(mode="json"), body=body,
        received_at=SystemClock().now(),
    )  # fmt: skip


@contextlib.asynccontextmanager
async def _started(settings: Settings) -> AsyncIterator[Orchestrator]:
    """The product on that database, with the engine of this file."""
    engines = Engines(
        runs={"nodes": RegisteredEngine(engine=NodesEngine())},
        definitions=StaticDefinitions({("nodes", what): {"what": what} for what in ("fan", "chain", "memo")}),
    )
    async with open_async_store(settings) as store:
        orchestrator = build_from_clients(
            settings,
            store,
            InstantClient(Portal()),
            InstantModel(),  # type: ignore[arg-type]
            trouble=_ignore,
            partial=_silent,
            clock=SystemClock(),
        )
        features = merge_features(replace(orchestrator.tools.features, periodic_tasks=()), build_feature(engines))
        orchestrator.tools = replace(orchestrator.tools, features=features)
        working = asyncio.ensure_future(orchestrator.run())
        yield orchestrator
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _ignore(session: str, notice: Notice) -> None:
    del session, notice


async def _silent(session: str, text: object) -> None:
    del session, text


def _row(name: str, value: float, unit: str, bar: str, *, holds: bool | None) -> dict[str, Any]:
    return {"name": name, "value": value, "unit": unit, "bar": bar, "holds": holds, "versus": f"{NODES} nodes"}
