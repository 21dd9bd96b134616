"""How soon a display update of a workflow is seen: in a Telegram chat, and by a client that watches the run over HTTP.

A script calls `show` once in each of a chain of tuums. The time runs from the engine's `Notifier.show` until the Bot API of the sandbox,
a process of its own, has answered the draft, and until the "progress" event of GET /runs/{id}/events has come to a client on loopback. Both
are watched in the same run, over the real delivery, the real HTTP server and SQLite on disk with synchronous=FULL. Before each update the
run rests for longer than drafts are kept apart on purpose (`DRAFT_EVERY`), so that this wait is in none of the times.
"""

import asyncio
import contextlib
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import aiohttp
import httpx
from aiogram.methods import SendMessageDraft
from pydantic import SecretStr

from bench.runs import build_row, build_settings
from bench.servers import started
from bench.turn_world import InstantClient, Portal
from bot.access.access import Access, Person
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.http_api.api import Api
from bot.http_api.server.app import build_app
from bot.http_api.server.serving import bind_socket, serve
from bot.telegram.door import build_bot
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.delivery import Delivery
from bot.telegram.outgoing.progress import DRAFT_EVERY
from engines.workflows.core import engine as engine_module
from engines.workflows.core.engine import WorkflowEngine
from engines.workflows.core.registry import build_rune_types
from engines.workflows.core.results import DisplayUpdatePayload, Notifier
from engines.workflows.core.rune_types import NO_CHANGES, Changes, RuneCall, RuneParams, RuneType
from orchestrator.domain.run_inputs import RunStart
from orchestrator.domain.taint import Origins, Value
from orchestrator.engines.shared.launch import PARAMETERS
from orchestrator.expressions.scripts.runner import ScriptRunner
from orchestrator.model_client.router import ModelRouter
from orchestrator.runs.registry import Engines, RegisteredEngine, StaticDefinitions
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock, generate_id
from tests.assembly_kit import assemble

UPDATES: Final = 50
WARM_UP: Final = 3
REST: Final = DRAFT_EVERY + 0.1
BAR: Final = 20.0
WITHIN: Final = 120.0
PERSON: Final = 7
"""The Telegram id of the person of `bench.runs`."""
TOKEN: Final = "b" * 32
WORKFLOW: Final = "workflow"


@dataclass(slots=True)
class Moments:
    """When each update was shown by the engine and seen at both ends, by its text, on the clock of this process."""

    shown: dict[str, float] = field(default_factory=dict)
    drafted: dict[str, float] = field(default_factory=dict)
    streamed: dict[str, float] = field(default_factory=dict)

    def list_waits(self, seen: dict[str, float]) -> list[float]:
        """Return the milliseconds until each update was seen, without those that warm up. Raises RuntimeError if one was not seen."""
        texts = list(self.shown)[WARM_UP:]
        missing = [text for text in texts if text not in seen]
        if missing or len(texts) != UPDATES:
            raise RuntimeError(f"of {len(texts)} updates these were not seen: {missing}")
        return [(seen[text] - self.shown[text]) * 1000 for text in texts]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The product with both doors, and the address of its HTTP server."""

    orchestrator: Orchestrator
    address: str


async def _rest(_call: RuneCall[RuneParams]) -> Changes:
    await asyncio.sleep(REST)
    return NO_CHANGES


def _build_workflow(count: int) -> dict[str, Any]:
    """Return a chain of tuums of which each rests and then shows a text of its own."""
    tuums = []
    for number in range(count + 1):  # the last only rests: the end of the run would take its draft away
        before = f"v{number - 1}" if number else ""
        source = f"show('Обновление {number:03}')\n" * (number < count) + f"{{'out': {number}}}"
        script = {"runeType": "script", "source": source, "consumes": [before] if before else [], "produces": ["out"]}
        tuums.append({"tuumId": f"t{number}", "runes": [{"runeType": "rest"}, script], "outputMappings": {f"v{number}": "out"}})
    return {"workflowId": "shows", "metadata": {"title": "Проба"}, "terminal": {"rawText": f"v{count}"}, "tuums": tuums}


async def display_benches() -> list[dict[str, Any]]:
    """Return the rows: a display update to Telegram, and to a client of the run's events."""
    moments = await _measure()
    apart = f"after {REST:g} s of quiet; {UPDATES} updates"
    return [
        _build_row("workflow: display update to a draft in Telegram", moments.list_waits(moments.drafted), apart),
        _build_row("workflow: display update to an event (SSE)", moments.list_waits(moments.streamed), apart),
    ]


def _build_row(name: str, waits: list[float], apart: str) -> dict[str, Any]:
    """Return a row whose bar holds the median: of fifty times the highest are those of other programs of the machine."""
    middle, high = statistics.median(waits), sorted(waits)[len(waits) * 95 // 100]
    told = f"p50, {apart}; p95 {high:.1f}, longest {max(waits):.1f} ms"
    return {"name": name, "value": round(middle, 1), "unit": "ms", "bar": f"<= {BAR:g}", "holds": middle <= BAR, "versus": told}


async def _measure() -> Moments:
    """Play the workflow once, with both doors watching."""
    moments = Moments()

    class NotedNotifier(Notifier):
        """Notes when the engine shows something, and shows it."""

        async def show(self, node: str, payload: DisplayUpdatePayload, origins: Origins) -> None:
            moments.shown[payload.content] = time.perf_counter()
            await super().show(node, payload, origins)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, patch.object(engine_module, "Notifier", NotedNotifier):
        async with _open_stage(Path(folder), moments) as stage:
            run_id = generate_id()
            given = {PARAMETERS: Value({}, frozenset({"person"})).to_stored()}
            order = RunStart(engine=WORKFLOW, definition="shows", home=f"tg:{PERSON}", args=given)
            await stage.orchestrator.receive([build_row(f"run:{run_id}", RunStart.KIND, order.to_json())])
            async with asyncio.timeout(WITHIN):
                await _follow_events(f"{stage.address}/runs/{run_id}/events", moments)
    return moments


async def _follow_events(address: str, moments: Moments) -> None:
    """Read the events of the run until its end, and note when each update came."""
    headers = {"X-API-Key": TOKEN, "Accept": "text/event-stream"}
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(WITHIN)) as client:
        while True:
            async with client.get(address) as answer:
                if answer.status == httpx.codes.NOT_FOUND:  # the order is stored, the run has not begun
                    await asyncio.sleep(0.02)
                    continue
                answer.raise_for_status()
                await _read_events(answer, moments)
                return


async def _read_events(answer: aiohttp.ClientResponse, moments: Moments) -> None:
    name = ""
    async for line in answer.content:
        at = time.perf_counter()
        if line.startswith(b"event: "):
            name = line[7:].strip().decode()
        elif name == "progress" and line.startswith(b"data: "):
            told = json.loads(line[6:])
            update = (told.get("patch") or told.get("snapshot") or {}).get("displayUpdate") or {}
            moments.streamed.setdefault(str(update.get("Content", "")), at)
        elif name in {"end", "error"} and line.startswith(b"data: "):
            if json.loads(line[6:]).get("status") != "done":
                raise RuntimeError(f"the run ended with {line.decode()}")
            return


@contextlib.asynccontextmanager
async def _open_stage(folder: Path, moments: Moments) -> AsyncIterator[Stage]:
    """The product over a sandbox of Telegram in which the person has written to the bot."""
    async with contextlib.AsyncExitStack() as stack:
        process = await started(stack, {}, "sandbox.telegram", "--port", "0")
        base = str(json.loads(await process.stdout.readline())["telegram"]) if process.stdout else ""
        await _meet_person(base)
        bot = build_bot("1:sandbox", base)
        stack.push_async_callback(bot.session.close)
        bot.session.middleware(_note_drafts(moments))
        settings = build_settings(folder).model_copy(
            update={"http_api_tokens": SecretStr(f"bench={TOKEN}:admin:full"), "http_rate_limit": 0}
        )
        store = await stack.enter_async_context(open_async_store(settings))
        people = Access([Person(telegram_id=PERSON, name="Анна", role="lead")])
        delivery = Delivery(bot, store, ChatPeople(people), SystemClock())
        api = Api(settings, store, people, SystemClock())
        client = InstantClient(Portal())
        stack.push_async_callback(client.aclose)
        engines = _build_engines()
        orchestrator = assemble(
            settings,
            store,
            client,
            ModelRouter([], {}),
            clock=SystemClock(),
            engines=engines,
            people=People(
                report_trouble=delivery.report_trouble,
                show_partial=delivery.report_partial,
                refresh_actor=lambda actor: api.tokens.refresh_actor(actor) if actor.key == "http:bench" else actor,
            ),
        )
        delivery.progress.set_guard(orchestrator.tools.guard)
        listener = bind_socket("127.0.0.1", 0)
        app = build_app(*api.build_routers(orchestrator, engines), identity=api.identity)
        parts = (orchestrator.run(), delivery.run(), delivery.progress.run(), api.run(), serve(app, listener))
        work = [asyncio.ensure_future(part) for part in parts]
        try:
            yield Stage(orchestrator=orchestrator, address=f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)


def _build_engines() -> Engines:
    resting = RuneType[RuneParams](name="rest", summary="Waits a while.", params=RuneParams, perform=_rest)
    engine = WorkflowEngine(build_rune_types([resting]), ScriptRunner())
    documents = StaticDefinitions({(WORKFLOW, "shows"): _build_workflow(WARM_UP + UPDATES)})
    return Engines(runs={WORKFLOW: RegisteredEngine(engine=engine)}, definitions=documents)


async def _meet_person(base: str) -> None:
    """Let the person write to the bot, which may not write to anybody before."""
    async with httpx.AsyncClient(base_url=base, trust_env=False, timeout=30) as control:
        for path, body in (("", {"id": PERSON, "first_name": "Анна", "role": "lead"}), (f"/{PERSON}/send", {"text": "привет"})):
            (await control.post(f"/sandbox/users{path}", json=body)).raise_for_status()


def _note_drafts(moments: Moments) -> Callable[..., Any]:
    """Return a middleware of the bot that notes when Telegram has answered each draft."""

    async def note(make_request: Any, bot: Any, method: Any) -> Any:
        answer = await make_request(bot, method)
        if isinstance(method, SendMessageDraft):
            moments.drafted.setdefault(method.text or "", time.perf_counter())
        return answer

    return note
