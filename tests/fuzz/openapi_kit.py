"""The whole API on a real socket in a thread of its own, so that a generator that blocks can be its client."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bot.access.access import Access
from bot.http_api.api import Api
from bot.http_api.server.app import build_app
from bot.http_api.server.serving import bind_socket, serve
from bot.monitoring.monitor import open_monitor
from bot.process import _build_monitoring_routers
from state.clock import SystemClock
from tests.unit.bot.http_api.chat_kit import settings_of
from tests.unit.spine_kit import Said, a_world, raise_sum, reply

SECRETS = {name: f"{name}-0123456789abcdef" for name in ("site", "head", "chief", "bare")}
LISTED = ",".join(
    [f"site={SECRETS['site']}:manager:full", f"head={SECRETS['head']}:lead:full", f"chief={SECRETS['chief']}:admin:full", SECRETS["bare"]]
)


@dataclass(frozen=True)
class Served:
    """Where it listens, and how it describes itself."""

    address: str
    description: dict[str, Any]


class Talker:
    """A model that is never at a loss: now a card, now a word."""

    def __init__(self) -> None:
        self._asked = 0

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any = None) -> Said:
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
        app = build_app(
            *_build_monitoring_routers(settings, world.orchestrator, None, monitor),
            *api.build_routers(world.orchestrator),
            identity=api.identity,
        )
        with closing(bind_socket("127.0.0.1", 0)) as listener:
            tasks = [asyncio.ensure_future(work) for work in (api.run(), serve(app, listener))]
            async with world.working():
                try:
                    yield Served(f"http://127.0.0.1:{listener.getsockname()[1]}", json.loads(json.dumps(app.openapi())))
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
    assert ready.wait(20)
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
