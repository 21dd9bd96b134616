"""What runs cost: SQLite on disk with synchronous=FULL, a model that answers at once, and engines that do nothing but go through nodes.

Processor time of the whole process, per node: a chain asks the model once after the other, a fan 1,000 times side by side, `memo` keeps
values without asking anybody. "Resume" is a second process that plays a run of 1,000 finished nodes from its stream. Each counts from the
order to the last byte of the audit log; only "noted" counts from the first node until all are on disk, without the audit log. The floor is
what no journal can leave out: each event encoded, encrypted, hashed and inserted, all in one transaction of the bare driver.
"""

import asyncio
import contextlib
import gc
import sqlite3
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from pydantic import SecretStr

from bench.turn_world import InstantClient, InstantModel, Portal
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.outputs import Notice
from orchestrator.domain.run_inputs import RunPlay, RunStart
from orchestrator.engines.runs import Ask, RunContext, RunModelRequest, RunResult, run_all
from orchestrator.model_client.router import ModelRouter
from orchestrator.runs.feature import build_feature
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime.worker import Orchestrator
from orchestrator.turns.feature import merge_features
from state.clock import SystemClock, generate_id
from state.events import codec
from state.events.runs import NodeDone
from state.journal.store import InboxRow
from state.stored import JsonObject
from tests.assembly_kit import assemble

NODES = 1000
TRIES = 3
WITHIN = 60.0
"""How many seconds one run may take at most."""
ANNA = Actor(key="tg:7", name="Анна", bitrix_user_id=7)
REQUEST = RunModelRequest(messages=[{"role": "user", "content": "?"}])


class NodesEngine:
    """Goes through `NODES` nodes as its definition says, and then waits for an answer if it is to be resumed."""

    replay = 1
    replays = frozenset({1})

    def __init__(self) -> None:
        """Count nothing so far."""
        self.noted = 0.0
        """Seconds of CPU from the first node until all nodes were on disk."""
        self.played = asyncio.Event()
        """Set when the run has been played as far as it goes."""

    async def run(self, ctx: RunContext) -> RunResult:
        """Go through the nodes, then wait for an answer: the commit of the question also stores what is only noted so far."""
        begun = time.process_time()
        try:
            await self._go_through(ctx)
            await ctx.wait_input("end", Ask(text="?", takes=frozenset({"text"})))
        finally:
            self.noted = time.process_time() - begun
            self.played.set()
        return RunResult()

    async def _go_through(self, ctx: RunContext) -> None:
        match ctx.run.definition.document["what"]:
            case "fan":
                await run_all(*(ctx.ask_model(str(number), REQUEST) for number in range(NODES)))
            case "chain":
                for number in range(NODES):
                    await ctx.ask_model(str(number), REQUEST)
            case _:
                for number in range(NODES):
                    await ctx.memo(str(number), _make_nothing)


async def _make_nothing() -> str:
    return "ничего"


class Cost(NamedTuple):
    """What one run of `NODES` nodes cost, in seconds of CPU."""

    played: float
    resumed: float
    noted: float


async def run_benches() -> list[dict[str, Any]]:
    """Nodes in a chain, in a fan and kept without asking, and the resume of a run of finished nodes."""
    gc.collect()
    gc.freeze()  # as `sdelka run` does: what was imported is not looked through for garbage
    found = {what: [await _measure(what) for _ in range(TRIES)] for what in ("fan", "chain", "memo")}
    chain, fan, memo = (min(one.played for one in found[what]) * 1000 / NODES for what in ("chain", "fan", "memo"))
    resumed = min(one.resumed for costs in found.values() for one in costs) * 1000 / NODES
    rate = round(NODES / min(one.noted for one in found["memo"]))
    floor = await asyncio.to_thread(_measure_floor)
    return [
        _row("run: chain, CPU a node", round(chain, 3), "ms", "<= 0.9", holds=chain <= 0.9),
        _row("run: fan, CPU a node", round(fan, 3), "ms", "<= 0.3", holds=fan <= 0.3),
        _row("run: memo, CPU a node", round(memo, 3), "ms", "", holds=None),
        _row("run: resume, CPU a finished node", round(resumed, 3), "ms", "<= 0.2", holds=resumed <= 0.2),
        _row("run: NodeDone noted", rate, "1/s", ">= 8000", holds=rate >= 8000) | {"versus": f"{NODES} nodes; floor {floor}/s"},
    ]


async def _measure(what: str) -> Cost:
    """Return what a run costs until all its nodes are done, and when another process resumes it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = build_settings(Path(folder))
        key = f"run:{generate_id()}"
        order = RunStart(engine="nodes", definition=what, home="tg:7")
        first, second = NodesEngine(), NodesEngine()
        async with started(settings, _build_engines(first)) as orchestrator:
            played = await _work(orchestrator, first, build_row(key, RunStart.KIND, order.to_json()))
        async with started(settings, _build_engines(second)) as orchestrator:
            resumed = await _work(orchestrator, second, build_row(key, RunPlay.KIND, {}))
    return Cost(played, resumed, first.noted)


def _build_engines(engine: NodesEngine) -> Engines:
    definitions = StaticDefinitions({("nodes", what): {"what": what} for what in ("fan", "chain", "memo")})
    return Engines(runs={"nodes": RegisteredEngine(engine=engine)}, definitions=definitions)


def build_settings(folder: Path) -> Settings:
    """Return the settings of a product whose state and logs are in the folder."""
    return Settings(
        bitrix_webhook_url=SecretStr("https://example.bitrix24.ru/rest/1/bench00000/"),
        openai_api_key=SecretStr("bench"),
        agent_mode="full",
        state_dir=folder / "state",
        log_dir=folder / "logs",
        _env_file=None,
    )


async def _work(orchestrator: Orchestrator, engine: NodesEngine, row: InboxRow) -> float:
    """Return the seconds of CPU until nothing is left to do: the run rests, and the audit log has all its nodes."""
    begun = time.process_time()
    await orchestrator.receive([row])
    await engine.played.wait()
    await orchestrator.finish_running(WITHIN)
    await asyncio.to_thread(orchestrator.tools.audit.wait, WITHIN)
    return time.process_time() - begun


def _measure_floor() -> int:
    """Return how many events of a node a second the bare driver stores."""
    key, cipher = b"k" * 32, AESGCM(b"k" * 32)
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(sqlite3.connect(Path(folder) / "floor.db")) as database:
        database.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE one (seq INTEGER PRIMARY KEY, data, hash)")
        begun, head, rows = time.process_time(), "", []
        for number in range(NODES):
            event = codec.encode(NodeDone(node=str(number), output="ничего"))
            data = f"{event.clear}{cipher.encrypt(key[:12], event.personal_text.encode(), None).hex()}"
            head = sha256((head + data).encode()).hexdigest()
            rows.append((number, data, head))
        with database:
            database.executemany("INSERT INTO one VALUES (?, ?, ?)", rows)
        return round(NODES / (time.process_time() - begun))


def build_row(key: str, kind: str, body: JsonObject) -> InboxRow:
    """Return an input of this kind for the run `key`."""
    fresh = generate_id()
    return InboxRow(
        id=fresh, source=fresh, session=key, lane="turn", kind=kind, actor=ANNA.model_dump(mode="json"), body=body,
        received_at=SystemClock().now(),
    )  # fmt: skip


@contextlib.asynccontextmanager
async def started(settings: Settings, engines: Engines, model: ModelRouter | None = None) -> AsyncIterator[Orchestrator]:
    """The product on that database, with these engines, and with a model that answers at once unless another is given."""
    async with open_async_store(settings) as store:
        orchestrator = assemble(
            settings,
            store,
            InstantClient(Portal()),
            model or ModelRouter.from_client(InstantModel()),  # type: ignore[arg-type]  # answers in a stream alone
            clock=SystemClock(),
            engines=Engines(),
            people=People(report_trouble=_ignore, show_partial=_silent),
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
