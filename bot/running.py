"""One process: the orchestrator, its doors, one owner of the stop signals. Ring 3."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from typing import Any

from aiogram.exceptions import TelegramConflictError, TelegramUnauthorizedError

from bot.access import Access, load_access
from bot.bootstrap import build_orchestrator, opened_store
from bot.http_api.app import make_app
from bot.http_api.portal_events import portal_events
from bot.http_api.server import listening, serve
from bot.settings import Settings, need, portal_settings
from bot.telegram.door import TelegramDoor, make_bot
from bot.telegram.files import TelegramFiles
from bot.telegram.people import People
from bot.telegram.webhook import webhook_of
from orchestrator.errors import SettingsError
from orchestrator.people.leaving import start_row
from orchestrator.workers import Orchestrator
from state.clock import Clock, SystemClock
from state.store import StoreError
from state.worker import AsyncStore

log = logging.getLogger(__name__)

Work = Callable[[], Coroutine[Any, Any, None]]
_ZONES_EVERY = 3600.0
_TURNS_END = 15.0
"""Seconds that running turns get at a stop, below the patience of service managers."""
_ANSWERS_GO = 5.0


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
        hook = webhook_of(settings.telegram_webhook_url, settings.telegram_webhook_secret)
        bot = make_bot(token.get_secret_value(), settings.telegram_api_base)
        door = TelegramDoor(bot, store, People(access), clock, webhook=hook)
        orchestrator, closing = build_orchestrator(
            settings,
            store,
            trouble=door.delivery.trouble,
            partial=door.delivery.partial,
            clock=clock,
            present=access.present,
            audience=access,
            members=access,
            files=TelegramFiles(bot),
        )
        await orchestrator.receive([start_row(clock.now())])
        try:
            async with _http_door(settings, orchestrator, door, clock) as http:
                await _until_stopped(
                    lambda: _serve(door, orchestrator, (access, store), http, ready), partial(_wind_down, door, orchestrator)
                )
        finally:
            for part in closing:
                await part.aclose()


@contextlib.asynccontextmanager
async def _http_door(settings: Settings, orchestrator: Orchestrator, door: TelegramDoor, clock: Clock) -> AsyncIterator[Work | None]:
    """What serves the portal's events and Telegram's posts, its port already taken; None where neither comes that way."""
    posts = door.router()
    if not settings.event_tokens and posts is None:
        yield None
        return
    with contextlib.closing(listening(settings.http_host, settings.http_port)) as listener:
        routers = [posts] if posts is not None else []
        if settings.event_tokens:
            session = await orchestrator.listen_to_portal()
            routers.append(portal_events(orchestrator.receive, settings.event_tokens, session, clock))
        app = make_app(*routers)
        yield lambda: serve(app, listener)


async def _wind_down(door: TelegramDoor, orchestrator: Orchestrator) -> None:
    """Take nothing more in, let turns end, bring their answers; what takes longer goes on after the next start."""
    door.close()
    if not await orchestrator.wind_down(_TURNS_END):
        log.warning("some requests are not through yet: they go on after the next start", extra={"action": "stopped_early"})
    with contextlib.suppress(TimeoutError, StoreError):
        async with asyncio.timeout(_ANSWERS_GO):
            await door.delivery.empty()


async def _serve(
    door: TelegramDoor, orchestrator: Orchestrator, people: tuple[Access, AsyncStore], http: Work | None, ready: Callable[[], None]
) -> None:
    access, store = people
    async with asyncio.TaskGroup() as group:
        group.create_task(access.follow(store))
        group.create_task(_know_zones(access, orchestrator))
        group.create_task(orchestrator.run())
        group.create_task(door.run(orchestrator))
        if http is not None:
            group.create_task(http())
        ready()


async def _know_zones(access: Access, orchestrator: Orchestrator) -> None:
    """Time zones change when people move: looked at once an hour."""
    while True:
        await access.learn_zones(orchestrator.tools.queries["zone"])
        await asyncio.sleep(_ZONES_EVERY)


async def _until_stopped(serve: Work, wind_down: Work) -> None:
    """Run until a stop signal, then wind down, unless a second one comes; calls on their way are heard to their end even so."""
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
        else:
            await _unless_stopped_again(wind_down, stop)
    finally:
        waiting.cancel()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError, ExceptionGroup):
            await serving


async def _unless_stopped_again(wind_down: Work, stop: asyncio.Event) -> None:
    stop.clear()
    ending, again = asyncio.ensure_future(wind_down()), asyncio.ensure_future(stop.wait())
    await asyncio.wait({ending, again}, return_when=asyncio.FIRST_COMPLETED)
    for task in (ending, again):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ending


def _explain(error: BaseException | None) -> None:
    """Turn what ended the doors into one clear sentence."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, TelegramUnauthorizedError):
        raise SettingsError("TELEGRAM_BOT_TOKEN: Telegram does not accept it") from None
    if isinstance(error, TelegramConflictError):
        raise SettingsError("another process polls with this TELEGRAM_BOT_TOKEN: stop it first") from None
    if error is not None:
        raise error
