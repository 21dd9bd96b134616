"""What a prompt of the CRM agent costs: its size, how much of it begins the next prompt too, and the time to build it.

The whole product over the sandbox portal in this process, with a model that answers at once. Tokens are a third of the characters:
each provider has a vocabulary of its own.
"""

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import httpx

from bitrix.client.client import BitrixClient
from bitrix.limits.limiter import Limiter
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.settings.settings import Settings
from engines.crm_agent.core import engine
from orchestrator.domain.actor import Actor
from orchestrator.domain.models import ModelAnswer
from orchestrator.domain.outputs import Notice
from orchestrator.runtime.worker import Orchestrator
from sandbox.portal.app import create_app
from sandbox.portal.portal import Settings as PortalSettings
from state.clock import SystemClock, generate_id
from state.journal.store import InboxRow
from tests.assembly_kit import assemble

TURNS = 25
SESSION = "tg:7"
CHARS_PER_TOKEN = 3
BORIS = Actor(key=SESSION, name="Борис", bitrix_user_id=7)
ANSWER = "THOUGHT:\nотвечаю\nACTION:\n[]\nASSISTANT:\nСегодня у вас три сделки: «Ромашка», «Вектор» и «Лютик»."
Prompt = Sequence[Mapping[str, str]]


class RecordingModel:
    """The port `Model`: keeps every prompt and answers at once."""

    def __init__(self) -> None:
        self.prompts: list[Prompt] = []

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any) -> ModelAnswer:
        """One answer."""
        self.prompts.append(payload["messages"])
        if on_delta is not None:
            await on_delta(ANSWER)
        return ModelAnswer(ANSWER, 1, 1, "instant", "stop", 0.0)


async def prompt_benches() -> list[dict[str, Any]]:
    """Size of a prompt and of its parts, the share that the provider has read already, and the time to build it."""
    model, took = RecordingModel(), []
    build = engine._Turn._build_base_messages  # noqa: SLF001 - what is timed is no function of the engine's interface

    async def timed(turn: Any) -> Any:
        begun = time.perf_counter()
        made = await build(turn)
        took.append((time.perf_counter() - begun) * 1000)
        return made

    with patch.object(engine._Turn, "_build_base_messages", timed):  # noqa: SLF001 - see above
        async with _product(model) as orchestrator:
            for number in range(TURNS):
                await _say(orchestrator, f"что у меня сегодня по сделкам? ({number})")
    return _list_rows(model.prompts, took)


def _list_rows(prompts: Sequence[Prompt], took: Sequence[float]) -> list[dict[str, Any]]:
    last = prompts[-1]
    sizes = [sum(len(one["content"]) for one in prompt) for prompt in prompts]
    shares = [_count_shared(before, after) / size for (before, after), size in zip(pairwise(prompts), sizes[1:], strict=True)]
    state = next(number for number, one in enumerate(last) if one["content"].startswith("STATE "))
    parts = {
        "rules, format, methods, examples": len(last[0]["content"]),
        "portal card": len(last[1]["content"]),
        "history": sum(len(one["content"]) for one in last[2:state]),
        "state": len(last[state]["content"]),
    }
    return [
        _row(f"prompt of turn {TURNS}", sizes[-1], "chars", versus=f"about {sizes[-1] // CHARS_PER_TOKEN:,} tokens"),
        *(_row(f"prompt: {name}", size, "chars", versus=f"about {size // CHARS_PER_TOKEN:,} tokens") for name, size in parts.items()),
        _row("prompt shared with the last turn's, median", statistics.median(shares) * 100, "%", bar=">= 85 %", low=85),
        _row("prompt shared with the last turn's, at a cut", min(shares) * 100, "%", versus="every tenth turn at most"),
        _row("time to build a prompt, card known", statistics.median(took[1:]), "ms", bar="<= 20 ms", high=20),
        _row("time to build the first prompt", took[0], "ms", versus="reads the portal card from a portal in this process"),
    ]


def _count_shared(before: Prompt, after: Prompt) -> int:
    """Return how many characters both prompts begin with, as providers compare them: message by message."""
    shared = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            pairs = zip(one["content"], other["content"], strict=False)
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            return shared + (same if one["role"] == other["role"] else 0)
        shared += len(one["content"])
    return shared


def _row(
    name: str, value: float, unit: str, *, bar: str = "", low: float | None = None, high: float | None = None, versus: str = ""
) -> dict[str, Any]:
    holds = None if low is None and high is None else (low is None or value >= low) and (high is None or value <= high)
    return {"name": name, "value": round(value, 1), "unit": unit, "bar": bar, "holds": holds, "versus": versus}


@contextlib.asynccontextmanager
async def _product(model: Any) -> AsyncIterator[Orchestrator]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(_env_file=None, state_dir=Path(folder) / "state", log_dir=Path(folder) / "logs", agent_mode="full")
        app = create_app(PortalSettings(bucket=None))
        client = BitrixClient("http://127.0.0.1:9/rest/1/sandbox/", limiter=Limiter.create_unlimited(), transport=httpx.ASGITransport(app))
        async with open_async_store(settings) as store, client:
            orchestrator = assemble(
                settings, store, client, model, clock=SystemClock(), people=People(report_trouble=_ignore, show_partial=_silent)
            )
            working = asyncio.ensure_future(orchestrator.run())
            yield orchestrator
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        await app.state.portal.events.aclose()
        app.state.portal.close()


async def _say(orchestrator: Orchestrator, text: str) -> None:
    row_id = generate_id()
    body = {"text": text, "origin": "typed"}
    row = InboxRow(
        id=row_id,
        source=row_id,
        session=SESSION,
        lane="turn",
        kind="message",
        actor=BORIS.model_dump(mode="json"),
        body=body,
        received_at=SystemClock().now(),
    )
    await orchestrator.receive([row])
    while not await orchestrator.is_idle():  # noqa: ASYNC110 - what is polled is the database, which has no event
        await asyncio.sleep(0.005)


async def _ignore(session: str, notice: Notice) -> None:
    del session, notice


async def _silent(session: str, text: Any) -> None:
    del session, text
