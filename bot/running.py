"""One process: the orchestrator, its doors, one owner of the stop signals. Ring 3."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from aiogram.exceptions import TelegramConflictError, TelegramUnauthorizedError

from bot.access import Access, load_access
from bot.bootstrap import build_orchestrator, opened_store
from bot.http_api.app import make_app
from bot.http_api.portal_events import portal_events
from bot.http_api.server import listening, serve
from bot.settings import Settings, need, portal_settings
from bot.telegram.door import TelegramDoor, make_bot
from bot.telegram.people import People
from orchestrator.errors import SettingsError
from orchestrator.people.leaving import start_row
from orchestrator.workers import Orchestrator
from state.clock import Clock, SystemClock
from state.worker import AsyncStore

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]
_ZONES_EVERY = 3600.0


async def run_bot(settings: Settings, *, ready: Callable[[], None] = lambda: None) -> None:
    """Serve Telegram until SIGTERM or SIGINT; raises SettingsError when it cannot begin."""
    need(settings, "telegram_bot_token", *portal_settings(settings))
    access = load_access(settings.access_file)
    if settings.openai_api_key is None:
        log.warning("OPENAI_API_KEY is not set: requests will be answered with a stub", extra={"action": "no_model_key"})
    clock = SystemClock()
    async with opened_store(settings) as store:
        await access.begin(store)
        if not len(access):
            log.warning("nobody may use the bot yet: use ACCESS_FILE or `sdelka invite`", extra={"action": "no_access"})
        token = settings.telegram_bot_token
        if token is None:
            raise SettingsError("the setting is missing: TELEGRAM_BOT_TOKEN")
        door = TelegramDoor(make_bot(token.get_secret_value(), settings.telegram_api_base), store, People(access), clock)
        orchestrator, closing = build_orchestrator(
            settings,
            store,
            trouble=door.delivery.trouble,
            partial=door.delivery.partial,
            clock=clock,
            present=access.present,
            audience=access,
            members=access,
        )
        await orchestrator.receive([start_row(clock.now())])
        try:
            async with _event_door(settings, orchestrator, clock) as events:
                await _until_stopped(lambda: _serve(door, orchestrator, (access, store), events, ready))
        finally:
            for part in closing:
                await part.aclose()


@contextlib.asynccontextmanager
async def _event_door(settings: Settings, orchestrator: Orchestrator, clock: Clock) -> AsyncIterator[Work | None]:
    """What serves the portal's events, its port already taken; None without a token to know them by."""
    if not settings.event_tokens:
        yield None
        return
    with contextlib.closing(listening(settings.http_host, settings.http_port)) as listener:
        session = await orchestrator.listen_to_portal()
        app = make_app(portal_events(orchestrator.receive, settings.event_tokens, session, clock))
        yield lambda: serve(app, listener)


async def _serve(
    door: TelegramDoor, orchestrator: Orchestrator, people: tuple[Access, AsyncStore], events: Work | None, ready: Callable[[], None]
) -> None:
    access, store = people
    async with asyncio.TaskGroup() as group:
        group.create_task(access.follow(store))
        group.create_task(_know_zones(access, orchestrator))
        group.create_task(orchestrator.run())
        group.create_task(door.run(orchestrator))
        if events is not None:
            group.create_task(events())
        ready()


async def _know_zones(access: Access, orchestrator: Orchestrator) -> None:
    """Time zones change when people move: looked at once an hour."""
    while True:
        await access.learn_zones(orchestrator.tools.queries["zone"])
        await asyncio.sleep(_ZONES_EVERY)


async def _until_stopped(serve: Work) -> None:
    """Run until a stop signal; calls on their way are heard to their end, everything else waits in the inbox."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    serving = asyncio.ensure_future(serve())
    waiting = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            _explain(serving.exception())
    finally:
        waiting.cancel()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError, ExceptionGroup):
            await serving


def _explain(error: BaseException | None) -> None:
    """Turn what ended the doors into one clear sentence."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, TelegramUnauthorizedError):
        raise SettingsError("TELEGRAM_BOT_TOKEN: Telegram does not accept it") from None
    if isinstance(error, TelegramConflictError):
        raise SettingsError("another process polls with this TELEGRAM_BOT_TOKEN, or a webhook is set: stop it first") from None
    if error is not None:
        raise error
