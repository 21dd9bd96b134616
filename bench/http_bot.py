"""The bot of `http_chat.py` as a process of its own: the HTTP API over the real orchestrator, a model and a portal that answer at once.

A number on standard input makes it work so many messages through its own orchestrator, with no HTTP, and print the times in seconds.
"""

import asyncio
import contextlib
import gc
import json
import logging
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr

from bench.turn_world import InstantClient, Portal
from bot.access.access import Access
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.http_api.api import Api
from bot.http_api.server.app import build_app
from bot.http_api.server.serving import bind_socket, serve
from bot.plugins.building import load_installed_engines
from bot.settings.settings import Settings
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.runtime.worker import Orchestrator
from state.clock import SystemClock, generate_id
from state.journal.store import InboxRow
from tests.assembly_kit import assemble

TOKEN = "b" * 32
CLIENT = Actor(key="http:bench", name="bench", sees="all", max_mode="full", may_approve=True)


class Answering:
    """The port `Model`: says at once that it is ready, and proposes nothing."""

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any) -> ModelAnswer:
        """One answer in one piece."""
        del payload
        text = "THOUGHT: готово\nACTION: []\nASSISTANT: Готово."
        if on_delta is not None:
            await on_delta(text)
        return ModelAnswer(text, 1, 1, "instant", "stop", 0.0)


async def main() -> None:
    """Serve until standard input ends."""
    with tempfile.TemporaryDirectory() as folder:
        await _serve(_settings(Path(folder)))


def _settings(folder: Path) -> Settings:
    return Settings(
        _env_file=None,
        state_dir=folder / "state",
        log_dir=folder / "logs",
        agent_mode="full",
        http_api_tokens=SecretStr(f"bench={TOKEN}:manager:full"),
        http_rate_limit=0,
    )


async def _serve(settings: Settings) -> None:
    clock = SystemClock()
    async with open_async_store(settings) as store:
        api = Api(settings, store, Access([]), clock)
        client = InstantClient(Portal())
        made = assemble(
            settings,
            store,
            client,
            Answering(),  # type: ignore[arg-type]
            clock=clock,
            people=People(
                report_trouble=api.mailbox.report_trouble, show_partial=api.mailbox.report_partial, refresh_actor=api.tokens.refresh_actor
            ),
        )
        listener = bind_socket("127.0.0.1", 0)
        app = build_app(*api.build_routers(made, load_installed_engines()), identity=api.identity)
        work = [asyncio.ensure_future(part) for part in (made.run(), api.run(), serve(app, listener))]
        print(json.dumps({"port": listener.getsockname()[1]}), flush=True)
        async for count in _orders():
            print(json.dumps([await _direct(made, api) for _ in range(count)]), flush=True)
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await client.aclose()


async def _orders() -> AsyncIterator[int]:
    while line := await asyncio.to_thread(sys.stdin.readline):
        yield int(line)


async def _direct(made: Orchestrator, api: Api) -> float:
    """Seconds from handing a message in to knowing that its answer is stored."""
    row_id = generate_id()
    row = InboxRow(
        id=row_id,
        source=f"{CLIENT.key}:{row_id}",
        session=f"{CLIENT.key}:direct",
        lane="turn",
        kind="message",
        actor=CLIENT.model_dump(mode="json"),
        body={"text": "готов?", "origin": "typed", "pieces": 1, "request": ""},
        received_at=SystemClock().now(),
    )
    begun = time.perf_counter()
    with api.mailbox.open_ticket(row) as ticket:
        await made.receive([row])
        while not ticket.is_over:
            await ticket.wait_for_news(10)
    return time.perf_counter() - begun


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    gc.collect()
    gc.freeze()  # as `sdelka run` does
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
