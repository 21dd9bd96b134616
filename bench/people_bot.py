"""The bot of `people.py` as a process of its own: every part as `sdelka run` puts it together, with clocks beside four of them.

At SIGTERM it prints one JSON object: what each conversation waited for, and the moments its updates came and its answers went.
"""

import asyncio
import contextlib
import contextvars
import gc
import json
import logging
import selectors
import signal
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import httpx

from bitrix.client.client import LIMITS, BitrixClient
from bitrix.limits.limiter import Limiter
from bot.access.access import load_access
from bot.composition.database import open_async_store
from bot.composition.people import People
from bot.settings.loading import load_settings
from bot.settings.settings import Settings
from bot.telegram.door import TelegramDoor, build_bot
from bot.telegram.intake.people import ChatPeople
from bot.telegram.outgoing.rate_limiter import Rank, RateLimiter
from orchestrator.model_client.client import ModelClient
from orchestrator.model_client.providers import WireClient
from orchestrator.model_client.router import ModelRouter
from orchestrator.model_client.settings import ModelSettings
from state.clock import SystemClock
from tests.assembly_kit import assemble

_FINALS = frozenset({"SendMessage", "SendDocument", "EditMessageText"})
_AT_WORK: contextvars.ContextVar[str] = contextvars.ContextVar("at_work", default="")


class WatchedSelector(selectors.DefaultSelector):
    """Adds up how long the loop had nothing at all to do, and knows when it looked at its wires."""

    idle = 0.0

    def __init__(self) -> None:
        super().__init__()
        self._looks = deque([0.0], maxlen=3)

    @property
    def unseen(self) -> float:
        """Since when what is taken up now may have been there: the last look but two did not show it, the next did."""
        return self._looks[0]

    def select(self, timeout: float | None = None) -> Any:
        """Wait for news."""
        begun = time.perf_counter()
        try:
            return super().select(timeout)
        finally:
            self._looks.append(time.perf_counter())
            self.idle += self._looks[-1] - begun


@dataclass
class Marks:
    """What is noted of each conversation; moments in seconds of the loop's own clock."""

    selector: WatchedSelector
    came: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    begun: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    sent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: list[float] = field(default_factory=list)
    """Seconds of the processor at each answer: the difference between the first and the last is what the turns cost."""
    waits: dict[str, list[tuple[str, float, float, float, float]]] = field(default_factory=lambda: defaultdict(list))
    """(for what, from, to, since when what it waited for may have been there, how much of it the loop was idle)."""

    @contextlib.contextmanager
    def waiting(self, session: str, what: str) -> Any:
        """Note a wait of that conversation."""
        begun, idle = time.perf_counter(), self.selector.idle
        try:
            yield
        finally:
            self.waits[session].append((what, begun, time.perf_counter(), max(begun, self.selector.unseen), self.selector.idle - idle))


class Paced(RateLimiter):
    """The real pacer; how long a message waited its turn is noted."""

    def __init__(self, marks: Marks) -> None:
        super().__init__()
        self._marks = marks

    async def admit(self, chat: int, rank: Rank) -> None:
        """As it is."""
        with self._marks.waiting(f"tg:{chat}", "pacing"):
            await super().admit(chat, rank)


class PortalWire(httpx.AsyncHTTPTransport):
    """The portal's real wire; what a turn waits for it is noted."""

    def __init__(self, marks: Marks) -> None:
        super().__init__(limits=LIMITS)
        self._marks = marks

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """As it is."""
        with self._marks.waiting(_AT_WORK.get(), "portal"):
            return await super().handle_async_request(request)


class Asked:
    """The real model client; what a turn waits for it is noted."""

    def __init__(self, model: ModelClient, marks: Marks) -> None:
        self._model = model
        self._marks = marks

    async def stream_chat(self, payload: dict[str, Any], on_delta: Any) -> Any:
        """As it is."""
        with self._marks.waiting(_AT_WORK.get(), "model"):
            return await self._model.stream_chat(payload, on_delta)


class Begun:
    """The real engine; the moment a turn begins is noted, and whose turn it is."""

    def __init__(self, engine: Any, marks: Marks) -> None:
        self._engine = engine
        self._marks = marks

    async def run(self, context: Any) -> Any:
        """As it is."""
        _AT_WORK.set(context.actor.key)
        self._marks.begun[context.actor.key].append(time.perf_counter())
        return await self._engine.run(context)


def on_the_wire(marks: Marks) -> Callable[..., Any]:
    """A middleware of the bot: when updates were handed over, and when answers go out."""

    async def noted(make_request: Any, bot: Any, method: Any) -> Any:
        name = type(method).__name__
        if name in _FINALS:
            marks.sent[f"tg:{method.chat_id}"].append(time.perf_counter())
            marks.cpu.append(time.process_time())
        answer = await make_request(bot, method)
        if name == "RawUpdates":
            for update in answer:
                message = update.get("message") or {}
                marks.came[f"tg:{message.get('chat', {}).get('id', 0)}"].append(time.perf_counter())
        return answer

    return noted


async def serve(settings: Settings, marks: Marks) -> None:
    """Everything until SIGTERM."""
    clock, over = SystemClock(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    secret, address = settings.telegram_bot_token, settings.bitrix_webhook_url
    if secret is None or address is None:
        sys.exit("TELEGRAM_BOT_TOKEN and BITRIX_WEBHOOK_URL are needed")
    access = load_access(settings.access_file)
    async with open_async_store(settings) as store:
        await access.load_registry(store)
        bot = build_bot(secret.get_secret_value(), settings.telegram_api_base)
        bot.session.middleware(on_the_wire(marks))
        door = TelegramDoor(bot, store, ChatPeople(access), clock, pacer=Paced(marks))
        client = BitrixClient(address, limiter=Limiter.create_unlimited(), transport=PortalWire(marks))
        model = ModelClient(
            ModelSettings(base_url=settings.openai_api_base, api_key=settings.openai_api_key),
        )
        made = assemble(
            settings,
            store,
            client,
            model,
            clock=clock,
            people=People(
                report_trouble=door.delivery.report_trouble,
                show_partial=door.delivery.report_partial,
                refresh_actor=access.refresh_actor,
                audience=access,
                members=access,
            ),
        )
        engines = {name: Begun(engine, marks) for name, engine in made.tools.engines.items()}
        made.tools = replace(made.tools, engines=engines, model=ModelRouter.from_client(cast("WireClient", Asked(model, marks))))
        gc.collect()
        gc.freeze()
        await _until_over((made.run, partial(door.run, made), partial(access.watch_registry, store)), over)
        await client.aclose()
        await model.aclose()


async def _until_over(parts: Sequence[Callable[[], Coroutine[Any, Any, None]]], over: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(part()) for part in parts]
        await over.wait()
        for task in tasks:
            task.cancel()


def main() -> None:
    """Serve; at the end print the marks."""
    logging.basicConfig(level=logging.WARNING)
    marks = Marks(WatchedSelector())
    loop_factory = partial(asyncio.SelectorEventLoop, marks.selector)
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(serve(load_settings(_env_file=None), marks))
    cpu = marks.cpu[-1] - marks.cpu[0] if marks.cpu else 0.0
    told = {"came": marks.came, "begun": marks.begun, "sent": marks.sent, "waits": marks.waits, "cpu": cpu}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
