"""Runs one process: the orchestrator, its doors (ways to talk to the product: Telegram, HTTP API), and the handler of stop signals."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from bot.access.access import Access, load_access
from bot.composition.bootstrap import build_orchestrator
from bot.composition.console_door import build_link_signer
from bot.composition.database import open_async_store
from bot.composition.late_app import BuiltApp, LateApp, Work
from bot.composition.model_checks import log_models
from bot.composition.tool_services import open_documents
from bot.http_api.api import Api
from bot.http_api.server.serving import bind_socket, serve
from bot.http_api.server.tokens import PREFIX
from bot.monitoring.health_checks import HealthChecks
from bot.monitoring.monitor import Monitor, open_monitor, watch_loop_lag
from bot.plugins.building import load_installed_engines
from bot.plugins.faults import list_faults
from bot.plugins.loading import list_parts
from bot.plugins.wiring import LIFETIME
from bot.settings.settings import Settings, check_required, list_portal_settings, parse_webhook
from bot.telegram.lazy_aiogram import import_aiogram
from orchestrator.domain.actor import Actor
from orchestrator.domain.errors import SettingsError
from orchestrator.domain.outputs import Notice
from orchestrator.features.people.access_removal import build_start_row
from orchestrator.features.portal_events.watcher import START as PORTAL_START
from orchestrator.runs.registry import Engines
from orchestrator.runtime.worker import Orchestrator
from orchestrator.sessions.paid_models import ATTACHED_MODELS
from orchestrator.turns.feature import Files
from state.clock import Clock, SystemClock
from state.journal.async_store import AsyncStore
from state.journal.process_lease import keep_process_lease
from state.journal.store import StoreError

if TYPE_CHECKING:
    from bot.telegram.door import TelegramDoor

log = logging.getLogger(__name__)

_ZONES_INTERVAL = 3600.0
_BUILD_HTTP_AFTER = 1.0
"""Seconds after the start when the app of the HTTP port is built, unless a request needs it before: the start comes first."""
_TURNS_TIMEOUT = 15.0
"""Seconds that running turns get to finish after a stop signal; service managers wait longer before they kill the process."""
_DELIVERY_TIMEOUT = 5.0


async def run_bot(settings: Settings, *, ready: Callable[[], None] = lambda: None, engines: Engines | None = None) -> None:
    """Serve Telegram, the HTTP API, or both until SIGTERM or SIGINT; raises SettingsError if it cannot start.

    `ready` is called once when everything has been started. `engines` are those of runs (executions of scenarios, flows and workflows), by
    default all that are installed.
    """
    check_required(settings, *([] if settings.http_api_tokens else ["telegram_bot_token"]), *list_portal_settings(settings))
    access = load_access(settings.access_file)
    log_models(settings)
    for fault in list_faults():  # met while the engines were looked for, before there was a log
        log.error("%s", fault.describe(), extra={"action": "engine_fault", "engine": fault.engine, "slot": fault.slot})
    clock = SystemClock()
    engines = load_installed_engines() if engines is None else engines
    async with open_async_store(settings) as store, open_monitor(settings, store, clock) as monitor, AsyncExitStack() as stack:
        for lifetime in list_parts(LIFETIME).values():
            stack.enter_context(lifetime.open(settings.log_dir, settings.log_level))
        await access.load_registry(store)
        documents = await open_documents(settings, stack, ATTACHED_MODELS)
        doors = _build_doors(settings, store, access, clock)
        if doors.telegram is not None:
            monitor.watch_bot(doors.telegram.bot)
            if not len(access):
                log.warning("nobody may use the bot yet: use ACCESS_FILE or `sdelka invite`", extra={"action": "no_access"})
        orchestrator, closing = build_orchestrator(
            settings,
            store,
            trouble=doors.report_trouble,
            partial=doors.report_partial,
            clock=clock,
            present=doors.refresh_actor,
            audience=access,
            members=access,
            files=doors.files,
            messenger=doors.telegram.messages if doors.telegram is not None else None,
            ears=monitor.reachability,
            engines=engines,
            documents=documents,
            sign_link=build_link_signer(settings),
        )
        monitor.track_cost(lambda: orchestrator.tools.gate.deps.policy.budget)
        await orchestrator.receive([build_start_row(clock.now())])
        try:
            checks = monitor.build_health_checks(
                orchestrator, delivers=doors.telegram.is_delivering if doors.telegram is not None else None
            )
            async with _open_http_door(
                settings,
                orchestrator,
                doors.telegram,
                clock,
                api=doors.api,
                monitor=monitor,
                checks=checks,
                engines=engines,
                access=access,
            ) as http:
                await _run_until_stopped(
                    lambda: _serve(
                        doors,
                        orchestrator,
                        (access, store),
                        [
                            http,
                            partial(watch_loop_lag, monitor.meters.observe_lag),
                            # the embedded database belongs to one process: nobody would take over its sessions
                            partial(keep_process_lease, store, clock, orchestrator.owner) if settings.database_url is not None else None,
                        ],
                        ready,
                    ),
                    partial(_stop_gracefully, doors.telegram, orchestrator),
                )
        finally:
            for part in closing:
                await part.aclose()


@dataclass(frozen=True, kw_only=True)
class _Doors:
    """The doors (ways to talk to the product) of this process; at least one of `telegram` and `api` is not None."""

    access: Access
    telegram: "TelegramDoor | None"
    api: Api | None
    files: Files | None = None
    """Downloads files that people send in Telegram."""

    async def report_partial(self, session: str, what: str | Notice) -> None:
        """Pass the progress of a turn (text so far, or a notice) to its session's door, Telegram or HTTP; the orchestrator calls it."""
        if self.api is not None and session.startswith(PREFIX):
            await self.api.mailbox.report_partial(session, what)
        elif self.telegram is not None:
            await self.telegram.delivery.report_partial(session, what)

    async def report_trouble(self, session: str, notice: Notice) -> None:
        """Pass the notice that nothing can be stored to the session's door, Telegram or HTTP; the orchestrator calls it."""
        if self.api is not None and session.startswith(PREFIX):
            await self.api.mailbox.report_trouble(session, notice)
        elif self.telegram is not None:
            await self.telegram.delivery.report_trouble(session, notice)

    def refresh_actor(self, actor: Actor) -> Actor | None:
        """Return the actor with the rights that its person or HTTP token has now, None if access was lost."""
        if actor.key.startswith(PREFIX):
            return self.api.tokens.refresh_actor(actor) if self.api is not None else None
        return self.access.refresh_actor(actor)


def _build_doors(settings: Settings, store: AsyncStore, access: Access, clock: Clock) -> _Doors:
    """Return the doors (ways to talk to the product): Telegram if a bot token is set, the HTTP API if API tokens are set.

    Raises SettingsError if the settings of either are invalid.
    """
    api = Api(settings, store, access, clock) if settings.http_api_tokens is not None else None
    token = settings.telegram_bot_token
    if token is None:
        return _Doors(access=access, telegram=None, api=api)
    hook = parse_webhook(settings.telegram_webhook_url, settings.telegram_webhook_secret)
    import_telegram(settings)
    from bot.telegram.door import TelegramDoor, build_bot  # noqa: PLC0415 - see import_telegram
    from bot.telegram.intake.files import TelegramFiles  # noqa: PLC0415 - as above
    from bot.telegram.intake.people import ChatPeople  # noqa: PLC0415 - as above

    bot = build_bot(token.get_secret_value(), settings.telegram_api_base)
    telegram = TelegramDoor(bot, store, ChatPeople(access), clock, webhook=hook, is_alone=settings.database_url is None)
    return _Doors(access=access, telegram=telegram, files=TelegramFiles(bot), api=api)


def import_telegram(settings: Settings) -> None:
    """Import the Telegram modules if a bot token is set; without one the process skips them, because they are a third of the program."""
    if settings.telegram_bot_token is not None:
        import_aiogram()
        import_module("bot.telegram.door")


@contextlib.asynccontextmanager
async def _open_http_door(  # noqa: PLR0913 - each is one door
    settings: Settings,
    orchestrator: Orchestrator,
    door: "TelegramDoor | None",
    clock: Clock,
    *,
    api: Api | None = None,
    monitor: Monitor | None = None,
    checks: HealthChecks | None = None,
    engines: Engines,
    access: Access | None = None,
) -> AsyncIterator[Work | None]:
    """Bind the HTTP port and yield a function that serves it; yield None if no setting needs HTTP.

    The port serves the API, portal events, Telegram's webhook, health checks, metrics, and the console for the people of `access`.
    """
    has_console = settings.console_secret is not None and access is not None
    posts = door.build_router() if door is not None else None
    if not settings.event_tokens and posts is None and api is None and settings.metrics_token is None and not has_console:
        yield None
        return
    with contextlib.closing(bind_socket(settings.http_host, settings.http_port)) as listener:
        session = await orchestrator.start_feature(PORTAL_START) if settings.event_tokens else None

        def build() -> BuiltApp:
            from bot.composition.http_door import HttpParts, build_http_app  # noqa: PLC0415 - FastAPI and the endpoints, see `late_app`

            parts = HttpParts(
                settings=settings,
                orchestrator=orchestrator,
                clock=clock,
                engines=engines,
                api=api,
                webhook=posts,
                events_session=session,
                monitor=monitor,
                checks=checks,
                access=access if has_console else None,
            )
            return build_http_app(parts)

        app = LateApp(build, early={"/healthz": {"ok": True}})
        yield partial(_serve_http, app, listener, has_sockets=has_console)


async def _serve_http(app: LateApp, listener: socket.socket, *, has_sockets: bool) -> None:
    """Serve the port until cancelled, and what the app does beside requests; raises what building the app raises."""
    async with asyncio.TaskGroup() as group:
        group.create_task(serve(app, listener, has_sockets=has_sockets))
        group.create_task(app.run(_BUILD_HTTP_AFTER))


async def _stop_gracefully(door: "TelegramDoor | None", orchestrator: Orchestrator) -> None:
    """Stop accepting messages from Telegram, let running turns end, and deliver their answers.

    Turns have `_TURNS_TIMEOUT` seconds and deliveries `_DELIVERY_TIMEOUT`; whatever takes longer is resumed after the next start.
    """
    if door is not None:
        door.close()
    if not await orchestrator.finish_running(_TURNS_TIMEOUT):
        log.warning("some requests are not through yet: they go on after the next start", extra={"action": "stopped_early"})
    if door is not None:
        with contextlib.suppress(TimeoutError, StoreError):
            async with asyncio.timeout(_DELIVERY_TIMEOUT):
                await door.delivery.wait_until_empty()


async def _serve(
    doors: _Doors, orchestrator: Orchestrator, people: tuple[Access, AsyncStore], more: Sequence[Work | None], ready: Callable[[], None]
) -> None:
    access, store = people
    async with asyncio.TaskGroup() as group:
        group.create_task(access.watch_registry(store))
        group.create_task(_refresh_zones(access, orchestrator))
        group.create_task(orchestrator.run())
        if doors.telegram is not None:
            group.create_task(doors.telegram.run(orchestrator))
        if doors.api is not None:
            group.create_task(doors.api.run())
        for work in more:
            if work is not None:
                group.create_task(work())
        ready()


async def _refresh_zones(access: Access, orchestrator: Orchestrator) -> None:
    """Read people's time zones from the portal every hour, since they change when people move."""
    while True:
        await access.fetch_zones(orchestrator.tools.queries["zone"])
        await asyncio.sleep(_ZONES_INTERVAL)


async def _run_until_stopped(serve: Work, wind_down: Work) -> None:
    """Run `serve` until SIGTERM or SIGINT, then run `wind_down`, which a second signal cancels.

    A call to the portal that was already sent is completed in either case. If `serve` ends with an error, the error is raised.
    """
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
            await _run_until_second_stop(wind_down, stop)
    finally:
        waiting.cancel()
        serving.cancel()
        with contextlib.suppress(asyncio.CancelledError, ExceptionGroup):
            await serving


async def _run_until_second_stop(wind_down: Work, stop: asyncio.Event) -> None:
    stop.clear()
    ending, again = asyncio.ensure_future(wind_down()), asyncio.ensure_future(stop.wait())
    await asyncio.wait({ending, again}, return_when=asyncio.FIRST_COMPLETED)
    for task in (ending, again):
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await ending


def _explain(error: BaseException | None) -> None:
    """Raise the error with which the process ended; return if there is none.

    A wrong bot token, and another program that polls with the same token, are raised as a SettingsError.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if error is not None and "aiogram" in sys.modules:
        _explain_telegram(error)
    if error is not None:
        raise error


def _explain_telegram(error: BaseException) -> None:
    from aiogram.exceptions import TelegramConflictError, TelegramUnauthorizedError  # noqa: PLC0415 - see import_telegram

    if isinstance(error, TelegramUnauthorizedError):
        raise SettingsError("TELEGRAM_BOT_TOKEN: Telegram does not accept it") from None
    if isinstance(error, TelegramConflictError):
        raise SettingsError("another process polls with this TELEGRAM_BOT_TOKEN: stop it first") from None
