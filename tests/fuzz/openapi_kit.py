"""The whole API on a real socket in a thread of its own, so that a generator that blocks can be its client."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bot.access.access import Access
from bot.composition.http_door import _build_monitoring_routers
from bot.http_api.api import Api
from bot.http_api.server.app import build_app
from bot.http_api.server.serving import bind_socket, serve
from bot.monitoring.monitor import open_monitor
from engines.flows.http.definition_models import AGENT_SAMPLE, FLOW_SAMPLE
from engines.flows.http.definition_router import AGENTS_PATH, FLOWS_PATH
from engines.flows.wiring import build_flows, connect
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.run_inputs import RunOrder
from orchestrator.domain.taint import Value
from orchestrator.runs.registry import Engines
from orchestrator.runs.stored_definitions import add_stored_definitions
from state.canonical import hash_text
from state.clock import SystemClock
from tests.unit.bot.http_api.chat_kit import settings_of
from tests.unit.definitions.service_kit import VERA, build_desk, data
from tests.unit.runs.runs_kit import build_engines, start, steps
from tests.unit.schedules.schedules_kit import add, order, with_engines
from tests.unit.spine_kit import Said, World, a_world, raise_sum, reply

SECRETS = {name: f"{name}-0123456789abcdef" for name in ("site", "head", "chief", "bare")}
LISTED = ",".join(
    [f"site={SECRETS['site']}:manager:full", f"head={SECRETS['head']}:lead:full", f"chief={SECRETS['chief']}:admin:full", SECRETS["bare"]]
)


@dataclass(frozen=True)
class Served:
    """Where it listens, and how it describes itself."""

    address: str
    description: dict[str, Any]


DOCUMENTS = {
    ("steps", "welcome"): steps({"say": "Здравствуйте"}),
    ("steps", "plan"): steps({"ask": "Какой тариф?", "options": ["Базовый", "Полный"]}),
    ("steps", "broken"): steps({"child": "nowhere"}),
    ("steps", "long"): steps(*({"say": f"Шаг {number}"} for number in range(15))),  # more events than the cursor of the examples stands for
}
RUNS = {
    "/runs/{run_id}": "plan",
    "/runs/{run_id}/events": "long",
    "/runs/{run_id}/model-calls": "plan",
    "/runs/{run_id}/answers/{question}": "plan",
    "/runs/{run_id}/pause": "plan",
    "/runs/{run_id}/resume": "plan",
    "/runs/{run_id}/retry": "broken",
    "/runs/{run_id}/cancel": "plan",
}
"""By address: the definition of the run that its example names."""


DEFINITIONS = {"/definitions/{kind}/{key}/versions/{version}/publish": "ready", "/definitions/{kind}/{key}/switch": "switched"}
"""By address: the key of the definition that its example names; all others name "welcome"."""
SCHEDULES = ("/schedules/{schedule}", "/schedules/{schedule}/pause", "/schedules/{schedule}/resume")
"""The addresses that name a schedule; each has one of its own."""


FLOW_RUNS = {
    "/api/flows/{session_id}": {"parameters": Value({})},
    "/api/flows/{session_id}/snapshot": {"parameters": Value({})},
    "/api/flows/{session_id}/events": {"parameters": Value({})},
    "/api/flows/{session_id}/control": {},
}
"""By address: the values with which the run of a flow was started that its example names; without any it asks for a parameter."""
PUBLISHED = "published"
"""The flow that runs execute."""


def _schedule_of(path: str) -> str:
    return f"0190aaaa-0000-7000-9000-{SCHEDULES.index(path):012d}"


def _run_of(path: str) -> str:
    return f"0190aaaa-0000-7000-8000-{[*RUNS, *FLOW_RUNS].index(path):012d}"


async def _start_runs(world: World) -> None:
    """A run for each address, in the state that its operation is for."""
    site = Actor(key="http:site", name="site", sees="all", may_approve=True)
    rows = [start(name, actor=site, home="http:site:42", key=f"run:{_run_of(path)}") for path, name in RUNS.items()]
    await world.orchestrator.receive(rows)
    await world.idle()
    body = RunOrder(order="pause").to_json()
    paused = replace(rows[0], id="pause", source="pause", session=f"run:{_run_of('/runs/{run_id}/resume')}", lane="express")
    await world.orchestrator.receive([replace(paused, kind=RunOrder.KIND, body=body)])
    made = [add(cron="0 9 * * *", definition="welcome", actor=site, home="http:site:42", schedule=_schedule_of(path)) for path in SCHEDULES]
    await world.orchestrator.receive(made)
    await world.orchestrator.receive([order("pause", actor=site, home="http:site:42", schedule=_schedule_of(SCHEDULES[2]))])
    await world.idle()


async def _write_definitions(world: World, engines: Engines) -> dict[str, str]:
    """A draft for each address whose operation changes one; the ids of those of flows and agents, by the beginning of the address."""
    service = build_desk(world.store, world.sql, engines=engines).service
    for key in ("welcome", *DEFINITIONS.values()):
        await service.create(VERA, "steps", key, data(DOCUMENTS["steps", "welcome"]))
    agent = (await service.create(VERA, "agent", AGENT_SAMPLE.beside["key"], data(AGENT_SAMPLE.document))).version
    await service.publish(VERA, "agent", agent.key, agent.version, expected=agent.revision)
    document = {**FLOW_SAMPLE.document, "flowId": PUBLISHED, "launchParameters": [{"name": "client", "required": False}]}
    flow = (await service.create(VERA, "flow", PUBLISHED, data(document))).version
    await service.publish(VERA, "flow", flow.key, flow.version, expected=flow.revision)
    found = {}
    for kind, path, sample in (("flow", FLOWS_PATH, FLOW_SAMPLE), ("agent", AGENTS_PATH, AGENT_SAMPLE)):
        for part in ("", "/publish", "/switch"):
            key = "offer" if not part else part[1:]
            document = {**sample.document, "flowId": key} if kind == "flow" else sample.document
            found[f"{path}/{{version_id}}{part}"] = (await service.create(VERA, kind, key, data(document))).version.id
    return found


async def _start_flows(world: World) -> None:
    """A run of a flow for each address, in the state that its operation is for."""
    site = Actor(key="http:site", name="site", sees="all", may_approve=True)
    for path, args in FLOW_RUNS.items():
        row = start(PUBLISHED, engine="flow", actor=site, home="http:site:42", key=f"run:{_run_of(path)}", **args)
        await world.orchestrator.receive([row])
    await world.idle()


def _name_definitions(description: dict[str, Any], drafts: Mapping[str, str]) -> None:
    """Let the examples of the description name those definitions."""
    for path, key in DEFINITIONS.items():
        _set_examples(description, path, {"key": key})
    _set_examples(description, f"{AGENTS_PATH}/import", AGENT_SAMPLE.beside)
    for path in description["paths"]:
        begin = next((one for one in drafts if one.endswith("{version_id}") and path.startswith(one)), "")
        if begin:
            _set_examples(description, path, {"version_id": drafts.get(path, drafts[begin]), "with": drafts[begin]})


def _set_examples(description: dict[str, Any], path: str, known: Mapping[str, str]) -> None:
    for operation in description["paths"][path].values():
        for one in operation["parameters"]:
            if one["name"] in known:
                one["example"] = known[one["name"]]
                one["schema"].pop("examples", None)
                one.pop("examples", None)


def _name_runs(description: dict[str, Any]) -> dict[str, Any]:
    """The description, whose examples name those runs and schedules, and the question that one of the runs asks."""
    for path in RUNS:
        _set_examples(description, path, {"run_id": _run_of(path), "question": hash_text(f"run:{_run_of(path)}/s0")[:8]})
    for path in FLOW_RUNS:
        _set_examples(description, path, {"session_id": _run_of(path)})
    _set_examples(description, "/api/flows/{flow}/start", {"flow": PUBLISHED})
    for path in SCHEDULES:
        _set_examples(description, path, {"schedule": _schedule_of(path)})
    return description


class Talker:
    """A model that is never at a loss: now a card, now a word."""

    def __init__(self) -> None:
        self._asked = 0

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any = None) -> ModelAnswer:
        del payload
        self._asked += 1
        text = reply(raise_sum(100_000 + self._asked)) if self._asked % 2 else reply(text="Понятно.")
        if on_delta is not None:
            await on_delta(text)
        return Said(text)


@asynccontextmanager
async def _at_work(folder: Path) -> AsyncIterator[Served]:
    settings = settings_of(folder, http_api_tokens=LISTED, http_rate_limit=0, http_answer_within="5s", http_trusted_proxies="127.0.0.1")
    for name in ("state_dir", "log_dir"):
        getattr(settings, name).mkdir()
    clock = SystemClock()
    async with a_world(folder) as world, open_monitor(settings, world.store, clock) as monitor:
        api = Api(settings, world.store, Access([]), world.clock)
        world.model.stream_chat = Talker().stream_chat  # type: ignore[method-assign]
        world.orchestrator.tools = replace(world.tools, refresh_actor=api.tokens.refresh_actor, show_partial=api.mailbox.report_partial)
        engines = build_engines(DOCUMENTS)
        engines = replace(engines, runs={**engines.runs, "flow": build_flows()})
        stored = add_stored_definitions(engines, world.store)
        stored = replace(
            stored,
            runs={
                name: connect(one, SimpleNamespace(store=world.store, find_documents=None)) if name == "flow" else one
                for name, one in stored.runs.items()
            },
        )
        features = with_engines(world.tools.features, stored)
        world.orchestrator.tools = replace(world.tools, features=features)
        app = build_app(
            *_build_monitoring_routers(settings, monitor.build_health_checks(world.orchestrator, None), monitor),
            *api.build_routers(world.orchestrator, engines),
            identity=api.identity,
        )
        with closing(bind_socket("127.0.0.1", 0)) as listener:
            tasks = [asyncio.ensure_future(work) for work in (api.run(), serve(app, listener))]
            async with world.working():
                await _start_runs(world)
                drafts = await _write_definitions(world, engines)
                await _start_flows(world)
                try:
                    description = _name_runs(json.loads(json.dumps(app.openapi())))
                    _name_definitions(description, drafts)
                    yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", description)
                finally:
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks, return_exceptions=True)


@contextmanager
def served(folder: Path) -> Iterator[Served]:
    """The API at work until the end of the block."""
    ready, found, failed = threading.Event(), [], []
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def work() -> None:
        async with _at_work(folder) as made:
            found.append(made)
            ready.set()
            await end.wait()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: loop) as runner:
                runner.run(work())
        except BaseException as error:  # noqa: BLE001 - told in the thread of the test
            failed.append(error)
        finally:
            ready.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(60)
    if failed:
        raise failed[0]
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(20)
        assert not thread.is_alive()
    if failed:
        raise failed[0]
